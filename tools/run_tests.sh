#!/bin/sh
# run_tests.sh BUILD [CTEST OPTION...]   runs the tests of a build tree, and ends with how many cases ran and which did not.
# TEST_JOBS run at a time: two a processor unless it is set, since many of them mostly wait.
#
# What failed runs once more, alone: a fault fails there, too, and what only lacked a processor does not. Both runs'
# output is kept, and a test that passed only alone is named, for it still is one to mend.
set -eu
build=$(realpath "${1:?usage: run_tests.sh BUILD}")
shift
cd "$(dirname "$0")/.."
log=$build/Testing/Temporary

# run JOBS CTEST OPTION...   the cases of this run are counted from its own log
run() {
    jobs=$1
    shift
    status=0
    ctest --test-dir "$build" --output-on-failure -j "$jobs" --no-tests=error "$@" || status=$?
    /usr/bin/python3 tools/summarize_tests.py "$build" || status=1
    return $status
}

rm -f "$log/LastTestsFailed.log"
run "${TEST_JOBS:-$((2 * $(nproc)))}" "$@" && exit 0
test -s "$log/LastTestsFailed.log" || exit 1
cp "$log/LastTest.log" "$log/BesideOthers.log"
failed=$(cut -d: -f2 "$log/LastTestsFailed.log" | tr '\n' ' ')
echo "run_tests.sh: once more, alone: $failed" >&2
run 1 "$@" --rerun-failed || exit 1
echo "run_tests.sh: passed alone, but failed beside others (see $log/BesideOthers.log): $failed" >&2
