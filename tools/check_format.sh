#!/bin/sh
# check_format.sh [--fix]   whether every C file has the form that .clang-format says; --fix gives it that form.
# One version judges, 14, since others differ; where a release of Debian does not have it, it says so and passes (--fix: fails).
set -eu
cd "$(dirname "$0")/.."
formatter=$(command -v clang-format-14 || true)
if [ -z "$formatter" ]; then
  echo "format: not checked, there is no clang-format-14 here" >&2
  [ "${1:-}" = --fix ] && exit 1
  exit 0
fi
files=$(git ls-files -- '*.c' '*.h' '*.cc' '*.cpp' 2>/dev/null || find src include tests bench examples -name '*.[ch]')
if [ "${1:-}" = --fix ]; then
  # shellcheck disable=SC2086 # a list of names without blanks
  exec "$formatter" -i $files
fi
wrong=0
for file in $files; do
  [ -e "$file" ] || continue
  if ! "$formatter" --dry-run -Werror "$file" >/dev/null 2>&1; then
    echo "format: $file: run 'make format'"
    wrong=1
  fi
done
exit $wrong
