#!/bin/sh
# run_tests.sh BUILD   runs every test of a build tree under ctest and ends with how many cases ran, and which did not.
set -eu
build=${1:?usage: run_tests.sh BUILD}
cd "$(dirname "$0")/.."
status=0
ctest --test-dir "$build" --output-on-failure -j "${JOBS:-2}" --no-tests=error || status=$?
/usr/bin/python3 tools/summarize_tests.py "$build" || status=1
exit $status
