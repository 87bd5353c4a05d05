"""test_referrers.py - who refers to a block in a core dump, the chain from a root, and what blocks retain

Breaks if the names of places do not lead to the variable that holds a block: an address in a module is compared with its symbol.
"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "programs/referrers.c"
TIMEOUT = 60

pytestmark = pytest.mark.skipif(not shutil.which("gcore"), reason="gdb is not installed")


@pytest.fixture(scope="module")
def dumped(tmp_path_factory):
    """Returns the program, its core dump, and {name: address}."""
    folder = tmp_path_factory.mktemp("referrers")
    program, names = folder / "referrers", {}
    subprocess.run(["gcc", "-O1", "-g", PROGRAM, "-pthread", "-o", program], check=True)
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            if line == "ready\n":
                break
            name, address = line.split()
            names[name] = int(address, 16)
        subprocess.run(["gcore", "-o", folder / "core", str(process.pid)], check=True, capture_output=True, timeout=TIMEOUT)
        process.kill()
    return program, folder / f"core.{process.pid}", names


@pytest.fixture
def who(dumped, hw):
    def run(address):
        done = hw("core", "--who", hex(address), *dumped[:2])
        assert done.returncode == 0, done.stderr
        references, _, chain = done.stdout.partition("a shortest chain from a root:\n")
        return references, [line.strip() for line in chain.splitlines()]

    return run


def symbol(program, name):
    symbols = subprocess.run(["nm", program], check=True, capture_output=True, text=True).stdout
    return int(re.search(rf"^(\w+) \w {name}$", symbols, re.M)[1], 16)


@pytest.mark.parametrize("name, variable", [("table", "table"), ("second", "second")])
def test_global(dumped, who, name, variable):
    program, _, names = dumped
    references, chain = who(names[name] + 5)
    expected = f"data of {program}+{symbol(program, variable):#x}"
    assert f"is in block {names[name]:#x}+0x5\n" in references
    assert f"  {expected}\n" in references
    assert chain[0].startswith("data of") or "register" in chain[0] or "stack" in chain[0]


def test_chain(dumped, who):
    """The item is in the third entry of the table's list, which is reached over the two before."""
    program, _, names = dumped
    references, chain = who(names["third_item"])
    assert f"  block {names['third_entry']:#x}+0x8\n" in references
    assert "5000 bytes" in references or "5008 bytes" in references
    assert len(chain) == 5
    assert chain[0] == f"data of {program}+{symbol(program, 'table'):#x}"
    assert chain[1] == f"block {names['table']:#x}+0x10"
    assert chain[4] == f"block {names['third_entry']:#x}+0x8"


def test_local(dumped, who):
    references, _ = who(dumped[2]["local"])
    assert re.search(r"^  thread-local storage of thread \d+ at tp-0x8$", references, re.M)


def test_mapped(dumped, who):
    names = dumped[2]
    references, _ = who(names["mapped"])
    assert f"  mapped memory at {names['pages'] + 24:#x} (to +0x28)\n" in references


def test_stack_of_thread(dumped, who):
    references, _ = who(dumped[2]["held"])
    assert re.search(r"^  stack of thread \d+ at sp\+0x\w+", references, re.M)


def test_not_in_a_block(dumped, who, hw):
    program, core, names = dumped
    assert "is in mapped memory at" in who(names["pages"])[0]
    assert "which is not in this memory" in who(16)[0]
    done = hw("core", "--who", "table", program, core)
    assert done.returncode != 0
    assert "try an address in hexadecimal" in done.stderr


def test_retained(dumped, hw):
    """The table retains all entries and items; nothing else retains more."""
    program, core, names = dumped
    done = hw("core", "--retained", program, core)
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()[:2]
    bytes_, blocks, address = re.fullmatch(r" *(\d+) bytes in *(\d+) blocks by (0x\w+)", first).groups()
    assert int(address, 16) == names["table"]
    assert int(blocks) == 201
    assert int(bytes_) >= 100 * 5000
    assert second.endswith(f", which {names['table']:#x} retains")
