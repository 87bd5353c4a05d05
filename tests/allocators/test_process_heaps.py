"""libheapwright-tlsf.so and libheapwright-heap.so as the malloc of a process: its contract, and programs behave the same on them."""

import os
import re
import shutil
import subprocess

import pytest

from allocators_library import LIBRARIES, ROOT, run

RECORD_PROGRAMS = ROOT / "tests/record/programs"


@pytest.fixture(params=["tlsf", "heap"])
def library(request):
    return LIBRARIES / f"libheapwright-{request.param}.so"


def test_c_contract(programs, library):
    contract = programs(RECORD_PROGRAMS / "contract.c")
    assert run([contract], library) == run([contract])


def test_cxx_contract(programs, library):
    """Except for the handler that frees a reserve: its memory is not returned to the system at once, and is used again."""
    contract = programs(RECORD_PROGRAMS / "contract_cxx.cc", "-faligned-new")
    ours, plain = (run([contract], *preload).splitlines() for preload in ((library,), ()))
    assert len(ours) == len(plain)
    assert all("reserve" in line for line, other in zip(plain, ours) if line != other)


def test_cxx_plugin_of_a_c_program(plugin_command, library):
    assert run(plugin_command, library) == run(plugin_command)


def test_it_needs_libc_alone(library):
    dynamic = subprocess.run(["objdump", "-p", library], capture_output=True, text=True, check=True).stdout
    assert re.findall(r"NEEDED\s+(\S+)", dynamic) == ["libc.so.6"]


@pytest.mark.parametrize("command", [
    ["bash", "-c", "for i in $(seq 300); do x=$x$i; done; echo ${#x}"],
    ["/usr/bin/python3", "-c", "import json, threading; print(len(json.dumps(list(range(50000)))))"],
    ["perl", "-e", "my %h; $h{$_ % 1000} .= $_ for 1..100000; print length(join '', values %h), \"\\n\""],
    ["git", "log", "-n", "3", "--oneline"],
    ["ls", "-lR", "/usr/share/doc/git"],
], ids=lambda command: command[0].rsplit("/", 1)[-1])
def test_programs(command, library):
    if not shutil.which(command[0]):
        pytest.skip(f"no {command[0]}")
    plain, served = (subprocess.run(command, env={**os.environ, **env}, capture_output=True, cwd=ROOT, timeout=120, check=False)
                     for env in ({}, {"LD_PRELOAD": str(library)}))
    assert (served.returncode, served.stdout, served.stderr) == (plain.returncode, plain.stdout, plain.stderr)
