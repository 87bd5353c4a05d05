"""The cost of single calls of the pool, as promised by docs/pool.md: in instructions, which are the same on a busy
machine.
"""
import os
import shutil
import subprocess
import sys

import pytest
from machine import only_x86_64

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "bench"))

import pool  # noqa: E402

pytestmark = only_x86_64("these instructions, of which others need more")

MOST = 200  # for any malloc, free and realloc in place, including the entry point and the lock
TYPICAL = 100
MOST_ALIGNED = 245  # for a block with a larger alignment than malloc's
MOST_IN_A_HOLE = 280  # the same, if both remainders change their bins
ALIGNED = ("memalign", "posix_memalign", "operator new(align)")


@pytest.fixture(scope="module")
def counted(build, tmp_path_factory):
    """counted(sequence): returns the instructions of each call, by function."""
    if not shutil.which("valgrind"):
        pytest.skip("no valgrind")
    folder = tmp_path_factory.mktemp("pool")
    program = pool.build_program(folder)
    return lambda sequence: pool.count(program, str(build / "lib/libheapwright-tlsf.so"), sequence, str(folder))


@pytest.mark.parametrize("sequence", ["random", "threads", "adversarial"])
def test_malloc_and_free(sequence, counted):
    found = counted(sequence)
    assert found.keys() == {"malloc", "free"}
    for name, counts in found.items():
        assert len(counts) > 100 and counts[0] > 10
        assert counts[-1] <= MOST, name
        if sequence != "adversarial":
            assert counts[len(counts) // 2] <= TYPICAL, name


def test_others(counted):
    found, alone = counted("others"), counted("alone")
    assert found["realloc in place"][-1] <= MOST
    assert found["usable size"][-1] <= TYPICAL
    for name in ALIGNED:
        assert found[name][-1] <= MOST_ALIGNED, name
        assert found[f"{name} in a hole"][-1] <= MOST_IN_A_HOLE, name
    assert all(alone[name][-1] < counts[-1] for name, counts in found.items()), "the lock is taken for one thread"
