#!/bin/sh
# foreign.sh CPU   next to the packages of this architecture, those of another one record its programs, under qemu-user
set -eu
triple=$1-linux-gnu
cd "${AUTOPKGTEST_TMP:-$(mktemp -d)}"

cat >app.c <<'END'
#include <stdlib.h>

int main(void)
{
  void *volatile kept = malloc(4321);
  return !kept;
}
END
"$triple-gcc" app.c -o app
HEAPWRIGHT_OUTPUT=app.hwt "qemu-$1-static" -E LD_PRELOAD=libheapwright-record.so ./app
heapwright report --by size app.hwt | grep -q "4,321 B"

# shellcheck disable=SC2046 # options
"$triple-gcc" -static app.c $("$triple-pkg-config" --libs heapwright-static) -o static
LD_PRELOAD=libheapwright-record.so HEAPWRIGHT_OUTPUT=static.hwt "qemu-$1-static" ./static
heapwright report --by size static.hwt | grep -q "4,321 B"
