"""test_words_32.py - threads of programs with words of 32 bits: registers, stacks and thread-local storage are roots, and have names

Breaks if a root of such a process or core dump is missed, which makes leaks of blocks in use, or if too much is taken for one. The
same program with words of 64 bits is the comparison.
"""

import json
import re
import signal
import subprocess

import pytest

import words_32
from heap_listing import build_program, core_of, started

CRASH = r"""
#include <stdlib.h>
#include <unistd.h>
struct node { struct node *next; int *where; } *nodes;
__attribute__((noinline)) static void store(struct node *node) { *node->where = 1; }
int main(void)
{
  nodes = malloc(sizeof *nodes);
  nodes->next = malloc(5000);
  nodes->where = (int *)0xbad000;
  (void)!write(1, "ready\n", 6);
  (void)!read(0, nodes->next, 1);
  store(nodes);
}
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """built(source, bits): the program."""

    def run(source, bits, *flags):
        folder = tmp_path_factory.mktemp("words")
        try:
            return build_program(folder, source, "program", "-pthread", *flags, *(words_32.FLAGS if bits == 32 else []))
        except subprocess.CalledProcessError:
            pytest.skip(f"this compiler cannot build for {bits} bits")

    return run


def usable(asked, bits):
    """The bytes that glibc's malloc gives."""
    return (asked + bits // 8 + 15) // 16 * 16 - bits // 8


def report_of(hw, *words):
    done = hw("core", "--json", *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("bits", [32, 64])
def test_leaks(hw, built, tmp_path, bits):
    program = built("holders.c", bits)
    with started([program], tmp_path) as process:
        of_process = report_of(hw, "--leaks", process.pid)
        core = core_of(process, tmp_path)
    of_core = report_of(hw, "--leaks", core)
    for report in of_process, of_core:
        assert report["understood_percent"] == 100 and report["damages"] == 0
        assert sorted((leak["blocks"], leak["block_bytes"]) for leak in report["leaks"]) == [(10, usable(360, bits)),
                                                                                            (10, usable(560, bits))]
        assert report["leaked_blocks"] == 20 and report["live_blocks"] >= 100
    text = hw("core", program, core).stdout
    assert f"PID {process.pid}, killed by SIGABRT, 3 threads" in text and text.splitlines()[0].endswith(str(program))


@pytest.mark.parametrize("bits", [32, 64])
def test_names(hw, built, tmp_path, bits):
    """Holders have the names of the source."""
    program = built("holders.c", bits)
    with started([program], tmp_path) as process:
        core = core_of(process, tmp_path)
    retained = json.loads(hw("core", "--json", "--retained", "--top", "0", program, core).stdout)["retained"]
    held = {}
    for row in retained:
        if "held_by" in row:
            place = row["held_by"]
            name = place.get("variable") or (place.get("local_variable") and place["local_variable"] + " of " + place["function"])
            held.setdefault(row["block"]["bytes"], set()).add((name, place.get("thread") == process.pid))
    for asked, name in ((100, "in_data"), (200, "in_bss"), (300, "on_stack of hold"), (320, "in_thread"), (340, "in_thread_with_value"),
                        (500, "on_stack of hold"), (520, "in_thread"), (540, "in_thread_with_value")):
        assert held[usable(asked, bits)] == {(name, False)}


def test_a_crash(hw, tmp_path):
    (tmp_path / "crash.c").write_text(CRASH)
    if subprocess.run(["gcc", *words_32.FLAGS, "-g", "-O1", "crash.c", "-o", "crash"], cwd=tmp_path, capture_output=True).returncode != 0:
        pytest.skip("this compiler cannot build for 32 bits")
    with started([tmp_path / "crash"], tmp_path) as process:
        process.stdin.write(b"x")
        process.stdin.flush()
        process.wait(60)
        core = core_of(process, tmp_path)
    report = report_of(hw, core)
    assert report["signal"] == signal.SIGSEGV and report["fault_address"] == 0xbad000
    assert report["signal_thread"] == process.pid and report["fault_function"] == "store"
    around = hw("core", "--around", "0xbad000", tmp_path / "crash", core).stdout
    assert re.search(r"\be[a-d]x\b|\be[sd]i\b", around), around
