#!/bin/sh
# run_tests.sh BUILD [CTEST OPTION...]   runs the tests of a build tree, and prints at the end how many cases ran and
# which did not.
# TEST_JOBS tests run at a time. The default is two per processor, since many of them mostly wait.
#
# Tests that failed run once more, alone: if the program has a fault, they fail again; if they only lacked a processor, they
# pass. The output of both runs is kept, and tests that passed only alone are named, because they must be fixed, too.
set -eu
build=$(realpath "${1:?usage: run_tests.sh BUILD}")
shift
cd "$(dirname "$0")/.."
log=$build/Testing/Temporary

# run JOBS CTEST OPTION...   runs the tests and counts the cases from the log of this run
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
cp "$log/LastTest.log" "$log/TogetherWithOthers.log"
failed=$(cut -d: -f2 "$log/LastTestsFailed.log" | tr '\n' ' ')
echo "run_tests.sh: once more, alone: $failed" >&2
run 1 "$@" --rerun-failed || exit 1
echo "run_tests.sh: passed alone, but failed together with others (see $log/TogetherWithOthers.log): $failed" >&2
