"""The instructions of the heap's usual malloc and free, as promised by docs/heap.md, and its figures in bench/heap.py."""

import os
import re
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "bench"))

import heap  # noqa: E402

MOST = {"malloc": 14, "free": 19}

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


def test_means_of_ratios():
    found = {"one": {"heap": (1, 6), "glibc": (2, 3)}, "two": {"heap": (8, 3), "glibc": (4, 3)}}
    assert heap.ratios(found, ["heap", "glibc"], 0) == [("one", [0.5, 1.0]), ("two", [2.0, 1.0]), ("geometric mean", [1.0, 1.0])]


def test_workloads_run(build, tmp_path):
    program = tmp_path / "heap_work"
    subprocess.run(["gcc", "-std=gnu17", "-D_GNU_SOURCE", "-O2", "-fno-builtin", "-pthread", os.path.join(heap.pool.HERE, "heap_work.c"), "-o", program],
                   check=True)
    libraries = {"heap": str(build / "lib/libheapwright-heap.so"), "glibc": None}
    for workload in set(heap.WORKLOADS) - {"many"}:
        for library in libraries.values():
            time, peak, space, at_end = heap.run(program, library, workload, 1)
            assert 0 < time and 0 < at_end <= peak and at_end <= space


def test_the_page_has_a_place_for_the_tables(tmp_path):
    page = tmp_path / "heap.md"
    shutil.copy(heap.PAGE, page)
    heap.pool.document("new tables\n", "heap.py", page)
    assert "<!-- made by bench/heap.py --document -->\nnew tables\n<!-- end -->\n" in page.read_text()
