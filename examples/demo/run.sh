#!/bin/sh
# run.sh BUILD   records a program and prints the report: the main use of heapwright in two commands.
set -eu
build=${1:?usage: run.sh BUILD}
cd "$(dirname "$0")/../.."
program=$build/demo/codeindex
trace=$build/demo/codeindex.hwt

show() {
  printf '\n$ %s\n' "$*"
  "$@"
}

mkdir -p "$build/demo"
if [ "$program" -ot examples/demo/codeindex.cpp ] || [ ! -e "$program" ]; then
  g++ -std=c++17 -O2 -g -pthread examples/demo/codeindex.cpp -o "$program"
fi
show "$build/bin/heapwright" record -o "$trace" -- "$program" /usr/include/c++ size_t malloc iterator string errno
show "$build/bin/heapwright" report --top 5 "$trace"
show "$build/bin/heapwright" report --leaks --top 2 "$trace"
show "$build/bin/heapwright" report -o "$build/demo/codeindex.html" "$trace"
printf '\nThe page: %s\n' "$build/demo/codeindex.html"
printf 'The same program, while it runs: %s live -- %s /usr size_t\n' "$build/bin/heapwright" "$program"
