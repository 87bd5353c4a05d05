"""test_leaks.py - the leaks in a core dump are those that LeakSanitizer and valgrind find in the same program

Each case of programs/leaks.cc loses blocks in one way, or holds them in one. A plain build is dumped by gcore and read, and is
run under valgrind; a build with LeakSanitizer asks that. If blocks or kinds differ without a reason that is written here,
something is wrong.
"""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "programs/leaks.cc"
TIMEOUT = 60

# LeakSanitizer counts the blocks of a cycle as indirect, and then has no direct leak.
CYCLE = "cycle"
# It reads no mapped memory except for that of modules, stacks and thread-local storage. We do, as valgrind does: a program may
# well hold blocks there.
MAPPED = "mapped"
# Nor does valgrind read memory that cannot be written. A program may have written it before.
READ_ONLY = "read only"
# Both know how many bytes were asked for. A core dump only has how many may be used, which is up to 15 more: an address just
# behind the former is still in the block.
PADDING = "padding"

# name: (direct, indirect, in cycles), what else is reported, why the others differ
CASES = {
    "lost": ((1, 0, 0), {}, None),
    "list": ((1, 9, 0), {}, None),
    "cycle": ((0, 0, 3), {}, CYCLE),
    "cycle_with_tail": ((0, 3, 2), {}, CYCLE),
    "two_rings": ((0, 0, 5), {}, CYCLE),
    "ring_of_lost": ((1, 2, 0), {}, None),
    "self": ((1, 0, 0), {}, None),
    "big": ((1, 0, 0), {}, None),
    "held": ((0, 0, 0), {}, None),
    "held_list": ((0, 0, 0), {}, None),
    "interior": ((0, 0, 0), {"by_interior_blocks": 1}, None),
    "end_of_full": ((1, 0, 0), {}, None),
    "end_of_padded": ((0, 0, 0), {"by_interior_blocks": 1}, PADDING),
    "in_local": ((0, 0, 0), {}, None),
    "in_big": ((0, 0, 0), {}, None),
    "in_mapped": ((0, 0, 0), {}, MAPPED),
    "in_read_only": ((0, 0, 0), {}, READ_ONLY),
    "in_freed": ((1, 1, 0), {"from_freed_blocks": 2}, None),
    "in_freed_large": ((1, 0, 0), {"from_freed_blocks": 1}, None),
    "below_stack": ((1, 0, 0), {"from_below_blocks": 1}, None),
    "xor_list": ((5, 0, 0), {}, None),
    "xor_mixed": ((1, 2, 0), {}, None),
    "unaligned": ((1, 0, 0), {}, None),
    "part_of_list": ((1, 2, 0), {}, None),
    "realloced": ((1, 1, 0), {}, None),
    "aligned_one": ((1, 0, 0), {}, None),
    "new_ones": ((2, 0, 0), {}, None),
    "vector": ((1, 1, 0), {}, None),
    "vector_of_strings": ((1, 11, 0), {}, None),
    # The nodes of a map and of a list refer back to the header, which is in the map itself: together, they are a cycle.
    "map": ((0, 0, 21), {}, CYCLE),
    "held_map": ((0, 0, 0), {}, None),
    "forward": ((1, 3, 0), {}, None),
    "std_list": ((0, 0, 4), {}, CYCLE),
    # A bucket holds the address of what is before its first node: for one bucket, that is in the map.
    "hash_map": ((0, 5, 2), {}, CYCLE),
    "long_string": ((1, 1, 0), {}, None),
    "short_string": ((1, 0, 0), {}, None),
    "shared_cycle": ((0, 0, 2), {}, CYCLE),
    "shared_lost": ((1, 2, 0), {}, None),
    "in_ended_thread": ((1, 3, 0), {}, None),
    "on_stack_of_ended_thread": ((1, 3, 0), {"from_below_blocks": 3}, None),
    "other_stack": ((0, 0, 0), {}, None),
    "other_specific": ((0, 0, 0), {}, None),
    "on_stack": ((0, 0, 0), {}, None),
    "in_register": ((0, 0, 0), {}, None),
}

pytestmark = pytest.mark.skipif(not shutil.which("gcore"), reason="gdb is not installed")


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """Returns (the plain program, the one with LeakSanitizer)."""
    folder = tmp_path_factory.mktemp("leaks")
    command = ["g++", "-std=c++17", "-O1", "-g", "-Wno-unused-result", str(PROGRAM), "-pthread"]
    subprocess.run([*command, "-o", folder / "plain"], check=True)
    subprocess.run([*command, "-fsanitize=leak", "-DLEAK_SANITIZER", "-o", folder / "sanitized"], check=True)
    return folder / "plain", folder / "sanitized"


@pytest.fixture
def dump(programs, tmp_path):
    """dump(name): the path of a core dump of the plain program that runs the case."""

    def run(name):
        with subprocess.Popen([programs[0], name], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdout.readline() == b"ready\n"
            subprocess.run(["gcore", "-o", tmp_path / "core", str(process.pid)], check=True, capture_output=True, timeout=TIMEOUT)
            process.kill()
        return tmp_path / f"core.{process.pid}"

    return run


def sanitizer_counts(program, name):
    """Returns the blocks of direct and of indirect leaks, and all their bytes."""
    done = subprocess.run([program, name], capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 0, done.stderr
    counts, total_bytes = {"Direct": 0, "Indirect": 0}, 0
    for kind, size, blocks in re.findall(r"^(Direct|Indirect) leak of (\d+) byte\(s\) in (\d+) object", done.stderr, re.M):
        counts[kind] += int(blocks)
        total_bytes += int(size)
    return counts["Direct"], counts["Indirect"], total_bytes


def our_counts(answer):
    def blocks(of_kind):
        return sum(group["blocks"] for group in answer["leaks"] if of_kind(group))

    return (blocks(lambda group: group["direct"]), blocks(lambda group: not group["direct"] and not group["cycle"]),
            blocks(lambda group: group["cycle"]))


@pytest.mark.parametrize("name", CASES)
def test_leaks_are_those_of_the_sanitizer(name, programs, dump, hw):
    expected, more, difference = CASES[name]
    done = hw("core", "--leaks", "--json", programs[0], dump(name))
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert our_counts(answer) == expected
    assert answer["leaked_blocks"] == sum(expected)
    for key, blocks in more.items():
        assert answer[key] >= blocks, key
    direct, indirect, total_bytes = sanitizer_counts(programs[1], name)
    if difference in (MAPPED, READ_ONLY, PADDING):
        assert direct + indirect > 0
    else:
        assert (direct, indirect) == (expected[0], expected[1] + expected[2])
        assert answer["leaked_bytes"] >= total_bytes
    if difference == CYCLE:
        assert expected[2] and not direct


@pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind is not installed")
@pytest.mark.parametrize("name", CASES)
def test_leaks_are_those_of_valgrind(name, programs):
    """Of each cycle, valgrind counts one block as definitely lost, and the others as indirectly."""
    (direct, indirect, in_cycles), more, difference = CASES[name]
    done = subprocess.run(["valgrind", "--leak-check=full", programs[0], name], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=TIMEOUT)
    counts = {kind: int(blocks.replace(",", ""))
              for kind, blocks in re.findall(r"(\w+) lost: [\d,]+ bytes in ([\d,]+) blocks", done.stderr)}
    if difference in (READ_ONLY, PADDING):
        assert counts["definitely"] == 1
        return
    definitely = counts.get("definitely", 0)
    assert definitely + counts.get("indirectly", 0) == direct + indirect + in_cycles
    assert direct + (in_cycles > 0) <= definitely <= direct + in_cycles
    assert counts.get("possibly", 0) >= more.get("by_interior_blocks", 0)
