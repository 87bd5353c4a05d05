"""test_preload.py - the names of the recorder in LD_PRELOAD: every child's loader finds a library that it can load

Breaks if a loader complains on a child's standard error, or if the loader of a recorded program does not know the
name.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

LOADER_32 = "/lib/ld-linux.so.2"
SOURCE_32 = 'void _start(void) { __asm__ volatile("int $0x80" : : "a"(1), "b"(3)); }\n'


@pytest.fixture
def program_32(tmp_path):
    """A program that exits with 3. Its code needs no 32-bit libc: only the loader is tested."""
    if not Path(LOADER_32).exists():
        pytest.skip("no loader for 32-bit programs here")
    program = tmp_path / "program"
    subprocess.run(["gcc", "-m32", "-nostdlib", "-fPIE", "-pie", f"-Wl,-dynamic-linker,{LOADER_32}", "-x", "c", "-o", program, "-"],
                   input=SOURCE_32, text=True, check=True)
    assert subprocess.run([program]).returncode == 3  # left out where the kernel refuses it: a shell would take it for a script
    return program


@pytest.mark.parametrize("allocator", [(), ("-a", "tlsf")], ids=["alone", "and_pool"])
def test_32_bit_child(record, program_32, allocator):
    """`record` reports its name."""
    process = record(["sh", "-c", program_32], "-q", *allocator).process
    assert (process.returncode, process.stdout) == (3, "")
    assert process.stderr.startswith("heapwright: 1 process ran without being recorded: program (")
    assert process.stderr.count("\n") == 1


def test_32_bit_child_of_a_run_on_the_pool(hw, program_32):
    done = hw("run", "--children", "-a", "tlsf", "--", "sh", "-c", f"{program_32}; echo $?; grep -c tlsf /proc/self/maps")
    status, mappings = done.stdout.split()
    assert (status, done.stderr) == ("3", "") and int(mappings) > 0


def test_children_are_recorded_under_that_name(record):
    recording = record(["sh", "-c", "echo $LD_PRELOAD; /bin/bash -c 'echo $LD_PRELOAD'"])
    first, second = recording.process.stdout.splitlines()
    assert first == second and first.endswith("libheapwright-record.so")
    assert any(process["command"].startswith("/bin/bash -c") for process in recording.report["processes"])


def test_where_only_tool_and_library_were_copied(build, tmp_path):
    for name in ("bin/heapwright", "lib/libheapwright-record.so"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(build / name, tmp_path / name)
    trace = tmp_path / "x.hwt"
    done = subprocess.run([tmp_path / "bin/heapwright", "record", "-q", "-o", trace, "--", "sh", "-c", "echo $LD_PRELOAD"],
                          capture_output=True, text=True, env=dict(os.environ))
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{tmp_path}/lib/libheapwright-record.so\n", "")
    assert trace.exists()
