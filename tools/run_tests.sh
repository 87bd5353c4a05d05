#!/bin/sh
# run_tests.sh BUILD [CTEST OPTION...]   runs the tests of a build tree, and ends with how many cases ran and which did not.
# TEST_JOBS run at a time: two a processor unless it is set, since many of them mostly wait.
set -eu
build=$(realpath "${1:?usage: run_tests.sh BUILD}")
shift
cd "$(dirname "$0")/.."
status=0
ctest --test-dir "$build" --output-on-failure -j "${TEST_JOBS:-$((2 * $(nproc)))}" --no-tests=error "$@" || status=$?
/usr/bin/python3 tools/summarize_tests.py "$build" || status=1
exit $status
