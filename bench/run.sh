#!/bin/sh
# run.sh BUILD [OPTION...]   runs the benchmarks with the tools in BUILD; `make bench BENCH_FLAGS="--quick"` adds options
set -eu
build=$1
shift
# shellcheck disable=SC2086 # a list of options
exec /usr/bin/python3 -B "$(dirname "$0")/run.py" --build "$build" ${BENCH_FLAGS:-} "$@"
