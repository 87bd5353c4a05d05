#!/bin/sh
# run_fuzz.sh BUILD   builds the fuzz targets and runs each for its share of FUZZ_SECONDS; a crash leaves its input in
# BUILD/fuzz. The tool and its library must be in BUILD already.
# The seeds of tests/AREA/fuzz_NAME.c are made by tests/AREA/make_seeds.py BUILD FOLDER.
set -eu
build=$(realpath "${1:?usage: run_fuzz.sh BUILD}")
cd "$(dirname "$0")/.."
seconds=${FUZZ_SECONDS:-60}
targets=$(find tests -name 'fuzz_*.c')
[ -n "$targets" ] || { echo "fuzz: there are no targets"; exit 0; }
make --no-print-directory build-it PRESET=fuzz BUILD="$build/fuzz" TARGETS=fuzz-targets
# shellcheck disable=SC2086 # a list of names without blanks
set -- $targets
share=$((seconds / $#))
for source in "$@"; do
  name=$(basename "$source" .c)
  area=$(dirname "$source")
  corpus=$build/fuzz/corpus/$name
  mkdir -p "$corpus"
  /usr/bin/python3 "$area/make_seeds.py" "$build" "$corpus"
  echo "fuzz: $name for $share s"
  "$build/fuzz/bin/$name" -max_total_time="$share" -timeout=10 -rss_limit_mb=1024 -print_final_stats=1 \
    -artifact_prefix="$build/fuzz/" "$corpus" >"$build/fuzz/$name.log" 2>&1 || {
    tail -n 40 "$build/fuzz/$name.log"
    exit 1
  }
  sed -n 's/^stat::number_of_executed_units: */fuzz: inputs tried: /p' "$build/fuzz/$name.log"
done
