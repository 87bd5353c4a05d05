#!/usr/bin/python3
"""make_seeds.py BUILD FOLDER   fills FOLDER with small core dumps of two CPUs, one also without its first page, and with a pool."""

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
WRITER = """
#include <stdio.h>
#include <stdlib.h>
#include "small_core.h"
int main(int count, char **words)
{
  static uint8_t file[SMALL_CORE_BYTES];
  small_core_make_for(file, hwi_machine_of(count > 1 ? atoi(words[1]) : EM_X86_64));
  return fwrite(file, sizeof file, 1, stdout) != 1;
}
"""
POOL = """
#include <stdio.h>
#include <sys/mman.h>
#include "heapwright/pool.h"
#include "small_core.h"
enum { BYTES = 4 << 10, BLOCKS = 30 };
int main(void)
{
  void *memory = mmap((void *)small_core_libc, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  struct hw_pool *pool = hw_pool_init(memory, BYTES, 0);
  void *blocks[BLOCKS];
  for (unsigned i = 0; i < BLOCKS; i++)
    blocks[i] = hw_pool_alloc(pool, i * 3);
  for (unsigned i = 0; i < BLOCKS; i += 3)
    hw_pool_free(pool, blocks[i]);
  return fwrite(memory, BYTES, 1, stdout) != 1;
}
"""


def run(folder, source, *more, words=()):
    program = Path(folder) / "writer"
    command = ["gcc", "-x", "c", "-", f"-I{HERE}", f"-I{ROOT}/include", f"-I{ROOT}/src", f"{ROOT}/src/platform/machine.c", *more, "-o", program]
    subprocess.run(command, input=source, text=True, check=True)
    return subprocess.run([program, *words], capture_output=True, check=True).stdout


def main(_build, folder):
    with tempfile.TemporaryDirectory() as scratch:
        core = run(scratch, WRITER)
        core_of_arm = run(scratch, WRITER, words=["183"])
        pool = run(scratch, POOL, *sorted((ROOT / "src/allocators/tlsf").glob("*.c")))
    (Path(folder) / "core").write_bytes(core)
    (Path(folder) / "core-arm").write_bytes(core_of_arm)
    (Path(folder) / "raw").write_bytes(core[4096:])
    (Path(folder) / "pool").write_bytes(pool)


main(*sys.argv[1:])
