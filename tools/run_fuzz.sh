#!/bin/sh
# run_fuzz.sh BUILD   builds the fuzz targets and runs each for its share of FUZZ_SECONDS, one per processor at a time. The
# input of a crash is left in BUILD/fuzz. The tool and its library must be in BUILD already.
# tests/AREA/make_seeds.py BUILD FOLDER makes the seeds of tests/AREA/fuzz_NAME.c.
set -eu

# fuzz BUILD SECONDS SOURCE
fuzz() {
  build=$1 share=$2 name=$(basename "$3" .c) area=$(dirname "$3")
  corpus=$build/fuzz/corpus/$name
  mkdir -p "$corpus"
  /usr/bin/python3 "$area/make_seeds.py" "$build" "$corpus"
  "$build/fuzz/bin/$name" -max_total_time="$share" -timeout=10 -rss_limit_mb=1024 -print_final_stats=1 \
    -artifact_prefix="$build/fuzz/" "$corpus" >"$build/fuzz/$name.log" 2>&1 || {
    tail -n 40 "$build/fuzz/$name.log"
    echo "fuzz: $name failed"
    return 1
  }
  echo "fuzz: $name for $share s, inputs tried: $(sed -n 's/^stat::number_of_executed_units: *//p' "$build/fuzz/$name.log")"
}

cd "$(dirname "$0")/.."
if [ "${1:-}" = --one ]; then
  shift
  fuzz "$@"
  exit
fi
build=$(realpath "${1:?usage: run_fuzz.sh BUILD}")
seconds=${FUZZ_SECONDS:-60}
targets=$(find tests -name 'fuzz_*.c')
[ -n "$targets" ] || { echo "fuzz: there are no targets"; exit 0; }
make --no-print-directory build-it PRESET=fuzz BUILD="$build/fuzz" TARGETS=fuzz-targets
share=$((seconds / $(echo "$targets" | wc -l)))
echo "$targets" | xargs -P "$(nproc)" -n 1 tools/run_fuzz.sh --one "$build" "$share"
