#!/bin/sh
# check_format.sh [--fix]   checks that every C file is formatted as .clang-format says; --fix formats them.
# Only version 14 is used, since others differ. If the system does not have it, this says so and passes (--fix: fails).
set -eu
cd "$(dirname "$0")/.."
formatter=$(command -v clang-format-14 || true)
if [ -z "$formatter" ]; then
  echo "format: not checked, there is no clang-format-14 here" >&2
  [ "${1:-}" = --fix ] && exit 1
  exit 0
fi
files=$(find src include tests bench examples -name '*.[ch]' -o -name '*.cc' -o -name '*.cpp' -o -name '*.hpp')
if [ "${1:-}" = --fix ]; then
  # shellcheck disable=SC2086 # a list of names without blanks
  exec "$formatter" -i $files
fi
# Each processor runs one process for many files, because starting a process takes longer than checking a file.
# shellcheck disable=SC2086
found=$(ls -d $files 2>/dev/null | xargs -P "$(nproc)" -n 40 "$formatter" --dry-run -Werror 2>&1 >/dev/null) && exit 0
wrong=$(echo "$found" | sed -n 's/^\([^:]*\):[0-9]*:[0-9]*: error: .*/\1/p' | sort -u)
[ -n "$wrong" ] || echo "format: $formatter failed: $found"
for file in $wrong; do
  echo "format: $file: run 'make format'"
done
exit 1
