"""The instructions of the heap's usual malloc and free, as promised by docs/heap.md."""

import os
import re
import shutil
import subprocess

import pytest
from machine import only_x86_64

MOST = {"malloc": 15, "free": 19}

LOOP = """
#include <stdlib.h>
int main(int argc, char **argv)
{
  static void *blocks[1000];
  unsigned seed = 1;
  for (int i = atoi(argv[argc - 1]); i; i--) {
    seed = seed * 1103515245 + 12345;
    void **block = &blocks[seed / 65536 % 1000];
    free(*block);
    *block = malloc(1 + seed / 65536 % 1000);
  }
  return 0;
}
"""


def own_instructions(path):
    """{function: instructions of its own code} of callgrind's output."""
    names, costs, name, is_call = {}, {}, None, False
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if match := re.match(r"fn=(\(\d+\))(?: (.*))?$", line):
                name = names.setdefault(match[1], match[2] or "")
            elif match := re.match(r"cfn=(\(\d+\)) (.*)$", line):
                names.setdefault(match[1], match[2])
            elif line.startswith("calls="):
                is_call = True
            elif name and re.match(r"[+\-*\d]\S* \d+", line):
                if not is_call:
                    costs[name] = costs.get(name, 0) + int(line.split()[1])
                is_call = False
    return costs


@only_x86_64("these instructions, of which others need more")
def test_instructions_of_the_fast_paths(build, tmp_path):
    """Of the functions themselves, per call. (Some calls go on with a slow path, which may be earlier.)"""
    if not shutil.which("valgrind"):
        pytest.skip("no valgrind")
    source, program = tmp_path / "loop.c", tmp_path / "loop"
    source.write_text(LOOP)
    subprocess.run(["gcc", "-O2", "-fno-builtin", "-Wl,-z,now", source, "-o", program], check=True)
    counted = []
    for calls in (20000, 120000):
        out = tmp_path / f"callgrind.{calls}"
        subprocess.run(["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={out}", program, str(calls)], check=True,
                       env={**os.environ, "LD_PRELOAD": str(build / "lib/libheapwright-heap.so")})
        counted.append(own_instructions(out))
    for name, most in MOST.items():
        each = (counted[1][name] - counted[0][name]) / 100000
        assert most - 1 < each < most + 0.1, name
