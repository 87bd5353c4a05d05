"""The libraries of the pool and of the heap in programs on musl: they load and do nothing, without a message. The tool says so."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from allocators_library import PROGRAMS, ROOT
from linked_programs import notes_of
from machine import INLINE_ATOMICS

pytestmark = pytest.mark.skipif(not shutil.which("musl-gcc"), reason="no musl-gcc here")
LOADER = f"/lib/ld-musl-{os.uname().machine}.so.1"
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


@pytest.mark.parametrize("name", ["tlsf", "heap"])
def test_command_of_run_and_record(musl, hw, record, name):
    """The trace of the shell, which is on glibc, names the library as its malloc; those of programs on musl do not."""
    program = musl(PROGRAMS / "fork_in_handler.c")
    says = f"heapwright: '{program}' is a program on musl, which this allocator does not serve: it runs on its own malloc\n"
    done = hw("run", "-a", name, "--stats", "--", program, "forks")
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", says)
    alone = record([program, "forks"], "-a", name)
    assert alone.process.returncode == 0 and alone.process.stderr.startswith(says)
    assert notes_of(alone.report, "allocator") == [] and "malloc of" not in hw("report", alone.trace).stdout
    by_loader = hw("run", "-a", name, "--", LOADER, program, "forks")
    assert (by_loader.stdout, by_loader.stderr) == ("done\n", says.replace(str(program), LOADER))
    child = record(["sh", "-c", f"{program} forks; true"], "-a", name)
    assert child.process.returncode == 0 and "program on musl" not in child.process.stderr
    report = child.report_with("--children")
    assert [Path(note).name for note in notes_of(report, "allocator")] == [f"libheapwright-{name}.so"] and len(report["images"]) > 1


@pytest.mark.parametrize("name", ["jemalloc", "libjemalloc.so.2"])
def test_library_that_only_glibcs_loader_finds(musl, hw, record, name):
    """musl's loader ignores it without a message."""
    program = musl(PROGRAMS / "fork_in_handler.c")
    says = f"heapwright: '{program}' is a program on musl, which this allocator does not serve: it runs on its own malloc\n"
    done = hw("run", "-a", name, "--", program, "forks")
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", says)
    assert record([program, "forks"], "-a", name).process.stderr.startswith(says)
