#!/bin/sh
# check.sh ROOT   fails unless the files of an image, in the folder ROOT, are at most 40 MB, and heapwright records, explains and serves
# there as a user without rights. Only root may do this.
set -eu
root=$(realpath "${1:?usage: check.sh ROOT}")
here=$(realpath "$(dirname "$0")")
bytes_max=40000000

bytes=$(du -s --apparent-size --block-size=1 "$root" | cut -f1)
if [ "$bytes" -gt $bytes_max ]; then
  echo "check.sh: the image has $bytes bytes, but may have $bytes_max; its largest files:" >&2
  find "$root" -type f -printf '%s %P\n' | sort -rn | head >&2
  exit 1
fi

if [ "$(find "$root/usr/share/doc" -name copyright | wc -l)" -lt 10 ]; then
  echo "check.sh: the terms of the libraries are not in usr/share/doc" >&2
  exit 1
fi

# run COMMAND...   as the image's user
run() {
  "$here/../within.sh" "$root" 10001 "$@"
}

# heapwright itself is recorded: busybox may be a static program
run heapwright record --quiet -o /tmp/run.hwt -- heapwright help | grep -q record
run heapwright report /tmp/run.hwt | grep -q "heapwright help"
run heapwright export -o /tmp/run.sqlite /tmp/run.hwt
run heapwright run -a heap --stats -- heapwright help 2>&1 | grep -q HEAPWRIGHT_HEAP_
status=0
timeout 2 "$here/../within.sh" "$root" 10001 heapwright live --serve 127.0.0.1:0 >/dev/null || status=$?
[ $status = 124 ] || { echo "check.sh: live --serve ended with status $status" >&2; exit 1; }
echo "check.sh: the image has $bytes bytes, and records"
