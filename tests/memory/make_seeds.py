#!/usr/bin/python3
"""make_seeds.py BUILD FOLDER   fills FOLDER with small core dumps of three CPUs, one also without its first page, and with a pool."""

import struct
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
  small_core_make_for(file, hwi_machine_of(count > 1 ? atoi(words[1]) : EM_X86_64, sizeof(uint64_t)));
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


def note(kind, data):
    return struct.pack("<III", 5, len(data), kind) + b"CORE\0\0\0\0" + data + bytes(-len(data) % 4)


def core_32():
    """A thread, its segments and its signal, and a page of memory."""
    status = struct.pack("<3IHH2IIIII", 11, 0, 0, 11, 0, 0, 0, 77, 1, 1, 1) + bytes(32)
    status += struct.pack("<17I", 1, 2, 3, 4, 5, 0x8000040, 7, 0x2b, 0x2b, 0, 0x63, 0xffffffff, 0x8000000, 0x23, 0, 0x8000020, 0x2b) + bytes(4)
    notes = note(1, status) + note(0x200, struct.pack("<4I", 12, 0x8000800, 0xfffff, 0x51)) + note(3, bytes(12) + struct.pack("<I", 77) + bytes(108))
    notes += note(0x53494749, struct.pack("<4I", 11, 0, 1, 0xbad000) + bytes(112)) + note(0x202, bytes(range(256)) * 4)
    header = b"\x7fELF\x01\x01\x01" + bytes(9) + struct.pack("<HHIIIIIHHHHHH", 4, 3, 1, 0, 52, 0, 0, 52, 32, 2, 0, 0, 0)
    segments = struct.pack("<8I", 4, 116, 0, 0, len(notes), 0, 4, 4)
    segments += struct.pack("<8I", 1, 116 + len(notes), 0x8000000, 0, 4096, 4096, 6, 4096)
    return header + segments + notes + bytes(4096)


def main(_build, folder):
    with tempfile.TemporaryDirectory() as scratch:
        core = run(scratch, WRITER)
        core_of_arm = run(scratch, WRITER, words=["183"])
        pool = run(scratch, POOL, *sorted((ROOT / "src/allocators/tlsf").glob("*.c")))
    (Path(folder) / "core").write_bytes(core)
    (Path(folder) / "core-32").write_bytes(core_32())
    (Path(folder) / "core-arm").write_bytes(core_of_arm)
    (Path(folder) / "raw").write_bytes(core[4096:])
    (Path(folder) / "pool").write_bytes(pool)


main(*sys.argv[1:])
