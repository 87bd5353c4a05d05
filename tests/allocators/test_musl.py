"""The libraries of the pool and of the heap in programs on musl: they load and do nothing, without a message."""

import os
import shutil
import subprocess

import pytest

from allocators_library import PROGRAMS, ROOT
from machine import INLINE_ATOMICS

pytestmark = pytest.mark.skipif(not shutil.which("musl-gcc"), reason="no musl-gcc here")
ASKED_FOR = {"HEAPWRIGHT_POOL_SIZE": "1", "HEAPWRIGHT_CHECK": "1", "HEAPWRIGHT_POOL_STATS": "1"}  # a pool would print messages


@pytest.fixture(params=["tlsf", "heap"])
def library(request, build):
    return build / f"lib/libheapwright-{request.param}.so"


@pytest.fixture(scope="module")
def musl(tmp_path_factory):
    """musl(source, *flags): the program."""
    folder = tmp_path_factory.mktemp("musl")

    def build(source, *flags):
        program = folder / source.stem
        subprocess.run(["musl-gcc", *INLINE_ATOMICS, "-O1", "-fno-builtin", "-w", *flags, source, "-o", program], check=True)
        assert "ld-musl" in subprocess.run(["readelf", "-lW", program], capture_output=True, text=True, check=True).stdout
        return program

    return build


def run_twice(command, library, **environment):
    """Returns the results without the library, and with it."""
    return [subprocess.run([str(word) for word in command], env={**os.environ, **more}, capture_output=True, text=True, timeout=60,
                           check=False) for more in ({}, {"LD_PRELOAD": str(library), **environment})]


def test_contract_is_musls_own(musl, library):
    """Except for alignments that are not powers of two: musl refuses them with errno, and glibc does not."""
    program = musl(ROOT / "tests/record/programs/contract.c", "-Dpvalloc=valloc", f"-I{ROOT}/tests/record")
    plain, preloaded = run_twice([program], library, **ASKED_FOR)
    assert (preloaded.returncode, preloaded.stderr) == (plain.returncode, plain.stderr) == (0, "")
    lines = zip(plain.stdout.splitlines(), preloaded.stdout.splitlines(), strict=True)
    assert {line.split(":")[0] for line, other in lines if line != other} <= {"posix_memalign odd", "memalign odd"}


@pytest.mark.parametrize("what", ["malloc", "fork", "stdio", "threads"])
def test_threads_and_forks(musl, library, what):
    program = musl(PROGRAMS / "fork_locks.c", "-Don_exit(f,a)=atexit(abort)")
    _, preloaded = run_twice([program, what], library)
    assert (preloaded.returncode, preloaded.stdout, preloaded.stderr) == (0, "done\n", "")


def test_child_of_run(musl, hw):
    program = musl(PROGRAMS / "fork_in_handler.c")
    done = hw("run", "--children", "--", "sh", "-c", f"{program} forks", env={**os.environ, **ASKED_FOR, "HEAPWRIGHT_POOL_STATS": "0"})
    assert (done.returncode, done.stdout) == (0, "done\n")
    said = [line for line in done.stderr.splitlines() if "HEAPWRIGHT_POOL_SIZE" not in line]  # of the shell
    assert said == []
