"""test_referrers.py - who refers to a block in a core dump, the chain from a root, and what blocks retain

Breaks if the names of places do not lead to the variable that holds a block (test_place_names.py has all kinds of them).
"""

import json
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
    """who(address): what it is in, the places of references, and those of the chain."""

    def run(address):
        done = hw("core", "--who", hex(address), *dumped[:2])
        assert done.returncode == 0, done.stderr
        references, _, chain = re.split("(shortest chain from a root:\n|$)", done.stdout, maxsplit=1)
        return references.splitlines()[0], *(re.findall(r"^  (.*)$", part, re.M) for part in (references, chain))

    return run


def is_at(lines, place):
    """Returns whether one of the lines is about that place."""
    return any(re.match(rf"{place}(?!\w)", line) for line in lines)


@pytest.mark.parametrize("name", ["table", "second"])
def test_global(dumped, who, name):
    program, _, names = dumped
    block, references, chain = who(names[name] + 5)
    assert f"{names[name]:#x}" in block and "+0x5" in block
    assert is_at(references, rf"{name} in {program}")
    assert len(chain) == 1


def test_chain(dumped, who):
    """The item is in the third entry of the table's list, which is reached over the two before."""
    program, _, names = dumped
    _, references, chain = who(names["third_item"])
    assert is_at(references, rf"block {names['third_entry']:#x}\+0x8")
    assert len(chain) == 5
    assert is_at(chain[:1], rf"table in {program}")
    assert is_at(chain[1:2], rf"block {names['table']:#x}\+0x10")
    assert is_at(chain[4:], rf"block {names['third_entry']:#x}\+0x8")


def test_local(dumped, who):
    assert is_at(who(dumped[2]["local"])[1], r"thread-local variable local of thread \d+ in ")


def test_mapped(dumped, who):
    names = dumped[2]
    assert is_at(who(names["mapped"])[1], rf"mapped memory at {names['pages'] + 24:#x}.*\+0x28")


def test_stack_of_thread(dumped, who):
    assert is_at(who(dumped[2]["held"])[1], r"local variable held of hold \(referrers\.c:\d+\) in thread \d+")


def test_not_in_a_block(dumped, who, hw):
    program, core, names = dumped
    assert "mapped memory at" in who(names["pages"])[0]
    assert who(16)[0].startswith("0x10 is in no block: not in this memory")
    done = hw("core", "--who", "table", program, core)
    assert done.returncode != 0
    assert "is no address" in done.stderr


def test_retained(dumped, hw):
    """The table retains all entries and items, which are below it, and nothing retains it."""
    program, core, names = dumped
    done = hw("core", "--retained", program, core)
    assert done.returncode == 0, done.stderr
    rows = re.findall(r"^ +\d+ .*? % +(\d+)( +)(0x\w+), .*$", done.stdout, re.M)
    assert (rows[0][0], int(rows[0][2], 16)) == ("201", names["table"]) and len(rows) == 20
    assert done.stdout.splitlines()[3].strip() == f"held by table in {program}"
    assert all(len(row[1]) > len(rows[0][1]) for row in rows[1:])


def test_retained_by_all(dumped, hw):
    """--top 0 lists each block that is reached, and the first ones as a shorter list has them."""
    program, core, _ = dumped
    answers = {top: json.loads(hw("core", "--retained", "--json", "--top", top, program, core).stdout) for top in ("0", "5")}
    rows = answers["0"]["retained"]
    assert len(rows) == answers["0"]["reached_blocks"] > 205
    assert [row["block"]["address"] for row in rows[:5]] == [row["block"]["address"] for row in answers["5"]["retained"]]
    assert rows[0]["held_by"]["variable"] == "table" and "held_by" not in rows[1]
    bytes_of_rows = [row["retained_bytes"] for row in rows]
    assert bytes_of_rows == sorted(bytes_of_rows, reverse=True)


def test_path_alone(dumped, hw):
    program, core, names = dumped
    who, path = (json.loads(hw("core", "--json", question, hex(names["third_item"]), program, core).stdout)
                 for question in ("--who", "--path"))
    assert path["schema"] == "heapwright-path/1" and path["path"] == who["path"] and len(path["path"]) == 5
    text = hw("core", "--path", hex(names["third_item"]), program, core).stdout
    assert "A shortest chain from a root:\n  table in " in text and "Words that hold" not in text
    assert json.loads(hw("core", "--json", "--path", "16", program, core).stdout)["place"] == "not in this memory"
