"""What single calls of the pool cost, as docs/pool.md promises it: instructions, which are the same on a busy machine."""
import os
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "bench"))

import pool  # noqa: E402

MOST = 200  # of any malloc, free and realloc in place, the entry point and the lock included
TYPICAL = 100
MOST_ALIGNED = 210  # of a block that is aligned to more than malloc's
MOST_IN_A_HOLE = 240  # the same where both of what is left over change their bins


@pytest.fixture(scope="module")
def counted(build, tmp_path_factory):
    """counted(sequence): the instructions of each call, by function."""
    if not shutil.which("valgrind"):
        pytest.skip("no valgrind")
    folder = tmp_path_factory.mktemp("pool")
    program = folder / "pool_calls"
    subprocess.run(["gcc", "-O2", "-fno-builtin", "-pthread", "-Wl,-z,now", os.path.join(pool.HERE, "pool_calls.c"), "-o", program], check=True)
    return lambda sequence: pool.count(str(program), str(build / "lib/libheapwright-tlsf.so"), sequence, str(folder))


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
    found = counted("others")
    assert found["realloc in place"][-1] <= MOST
    assert found["usable size"][-1] <= TYPICAL
    assert found["memalign"][-1] <= MOST_ALIGNED
    assert found["memalign in a hole"][-1] <= MOST_IN_A_HOLE
