"""test_around.py - what is around an address after a crash, and what a report on a crash begins with

Breaks if a reader is not led from the signal to the block that was written beyond its end, or used after it was freed.
"""

import json
import re
import signal
import subprocess
from pathlib import Path

import pytest

from heap_listing import crash_of
from machine import only_x86_64

PROGRAM = Path(__file__).parent / "programs/broken.c"
BYTES = 40


class Crash:
    def __init__(self, hw, program, dump, output):
        self.hw, self.program, self.dump = hw, program, dump
        self.addresses = {name: int(address, 16) for name, address in re.findall(r"^(\w+) (0x\w+)$", output, re.M)}

    def text(self, *words):
        done = self.hw("core", *words, self.program, self.dump)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def answer(self, *words):
        return json.loads(self.text("--json", *words))

    def around(self, address):
        address = hex(self.addresses.get(address, address))
        return self.answer("--around", address), self.text("--around", address)


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    program = tmp_path_factory.mktemp("broken") / "broken"
    subprocess.run(["gcc", "-O1", "-g", "-w", PROGRAM, "-o", program], check=True)
    return program


@pytest.fixture
def crash(program, hw, tmp_path):
    """crash(way): the program's end, in which it broke in that way."""

    def run(*command, env=None):
        dump, done = crash_of([program, *command], tmp_path, env)
        return Crash(hw, program, dump, done.stdout)

    return run


def test_overflow(crash):
    """Text runs over the size of the next block, which is not found any more; the one that it is of is the suspect."""
    crash = crash("overflow")
    report = crash.answer()
    [damage] = report["damage"]
    culprit = crash.addresses["culprit"]
    assert damage["address"] == culprit + BYTES - 8 and "fault_address" not in report
    assert f"before it is the block of {BYTES} bytes at {culprit:#x}" in damage["text"]
    assert f"--around {damage['address']:#x} shows the blocks there" in crash.text()
    for address in "culprit", "victim", damage["address"]:
        answer, text = crash.around(address)
        [damage] = answer["damage"]
        suspect = damage["suspect"]
        assert (suspect["address"], suspect["bytes"]) == (culprit, BYTES)
        assert (suspect["last_bytes"], suspect["bytes_behind"]) == ('"end of their blo"', '"ck, into the nex"')
        assert '"end of their blo" | "ck, into the nex"' in text
        assert text.index(f" {culprit:#x}  ") < text.index(f"! {culprit + BYTES - 8:#x}  damage")
    blocks = [block["address"] for block in crash.around("victim")[0]["blocks"]]
    assert len(blocks) == 8 and blocks[3] == culprit and crash.addresses["victim"] not in blocks


def test_off_by_one(crash):
    """The flag that the block before is in use is gone: it is live all the same."""
    crash = crash("off-by-one")
    report = crash.answer()
    [damage] = report["damage"]
    culprit = crash.addresses["culprit"]
    assert f"says that the block of 248 bytes at {culprit:#x} before it is free" in damage["text"]
    answer, _ = crash.around("culprit")
    assert answer["block"]["state"] == "live" and report["understood_percent"] == 100
    assert answer["damage"][0]["suspect"]["address"] == culprit
    assert answer["damage"][0]["suspect"]["last_bytes"] == '"' + "x" * 16 + '"'


def test_use_after_free(crash):
    """malloc has changed the pointer that is followed; the register that it came from refers to the freed block."""
    crash = crash("use-after-free")
    report = crash.answer()
    assert report["signal"] == signal.SIGSEGV and report["fault_function"] == "follow"
    assert re.search(rf"Thread {report['signal_thread']} accessed {report['fault_address']:#x}:\n  follow \(broken\.c:\d+\)\n",
                     crash.text())
    answer, text = crash.around(report["fault_address"])
    assert answer["fault"] and "may be a use after free" in text and answer == crash.answer("--around", "crash")
    assert re.search(rf"Thread \d+ accessed {report['fault_address']:#x}; it was in follow \(broken\.c:\d+\)\.\n", text)
    registers = {row["register"]: row for row in answer["registers"] if row["kind"] == "in a block"}
    freed = [row for row in registers.values() if row["value"] == crash.addresses["freed"]]
    assert freed and all(row["free_list"] == "a tcache" for row in freed)
    assert crash.around("freed")[0]["use_after_free"]


def test_null_pointer(crash):
    crash = crash("null")
    assert crash.answer()["fault_address"] == 24
    answer, text = crash.around(24)
    assert answer["fault"] and not answer["use_after_free"] and "a null pointer was followed" in text


@only_x86_64("addresses that the kernel does not tell")
def test_text_that_was_used_as_a_pointer(crash):
    """The kernel does not know the address; a register has it."""
    crash = crash("text")
    report = crash.answer()
    assert report["fault_function"] == "follow" and "fault_address" not in report
    assert report["crash_address"] == crash.addresses["item"]
    assert f"--around crash shows what is around {crash.addresses['item']:#x}" in crash.text() and "--around 0x0" not in crash.text()
    answer = crash.answer("--around", "crash")
    assert answer["address"] == crash.addresses["item"] and answer["found_in"]["function"] == "follow"
    text = crash.text("--around", "crash")
    assert "accessed an address that no pointer can have; it was in follow" in text and "The address is in register r" in text
    answer, text = crash.around(0)
    assert not answer["fault"] and 'text, no address: "ABCDEFGH"' in text
    assert {row["kind"] for row in answer["registers"]} == {"text", "in a block"}
    assert any(row["value"] == crash.addresses["item"] for row in answer["registers"])


def test_stack_overflow(crash):
    crash = crash("stack")
    address = crash.answer()["fault_address"]
    answer, text = crash.around(address)
    assert answer["fault"] and answer["stack_overflow"] and "where its stack ends: a stack overflow" in text
    assert not crash.around(address + (1 << 20))[0]["stack_overflow"]


@pytest.mark.parametrize("way, name, free_list", [
    ("lists", "tcache", "a tcache"), ("lists", "fast", "a fast bin"), ("lists", "unsorted", "the unsorted bin"),
    ("sorted", "small", "a small bin"), ("sorted", "large", "a large bin")])
def test_lists_of_free_blocks(crash, way, name, free_list):
    answer, text = crash(way).around(name)
    assert answer["free_list"] == free_list and answer["use_after_free"] and f"The block is free, in {free_list}:" in text


def test_poison_and_owners(crash, build):
    """Of blocks with owners, a freed one is poisoned: a pointer from it is no address, and the owner of a suspect is known."""
    env = {"LD_PRELOAD": str(build / "lib/libheapwright-annotate.so"), "HEAPWRIGHT_KEEP_FREED": "1000000",
           "HEAPWRIGHT_RED_ZONE": "16"}
    crash = crash("use-after-free", env=env)
    answer, text = crash.around("freed")
    assert answer["free_list"] == "the freed blocks that libheapwright-annotate keeps" and answer["use_after_free"]
    assert any(row["kind"] == "poison" for row in crash.around(0)[0]["registers"])
    assert "the poison of freed blocks: a use after free" in crash.text("--around", "0")
    assert answer["blocks"][0]["first_bytes"] and text


def test_owner_of_a_suspect(crash, build):
    """The stack of the block that was written beyond its end is in memory."""
    env = {"LD_PRELOAD": str(build / "lib/libheapwright-annotate.so"), "HEAPWRIGHT_RED_ZONE": "16"}
    crash = crash("overflow", env=env)
    answer, text = crash.around("culprit")
    addresses = [damage["address"] for damage in answer["damage"]]
    assert addresses == sorted(addresses) and addresses[0] == crash.addresses["culprit"] + BYTES
    for damage in answer["damage"]:
        suspect = damage["suspect"]
        assert suspect["address"] == crash.addresses["culprit"] and suspect["bytes"] == BYTES
        assert re.match(r"main \(broken\.c:\d+\) < ", suspect["allocated_by"])
    assert text.count("probably by the owner of the block before it") == 1


def test_a_process_has_no_signal(hw, program, tmp_path):
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdin.write(b"ready\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"ready\n"
        report = json.loads(hw("core", "--json", str(process.pid)).stdout)
        answer = json.loads(hw("core", "--json", "--around", str(report["parts"][0]["address"]), str(process.pid)).stdout)
        refused = hw("core", "--around", "crash", str(process.pid))
        process.kill()
    assert report["signal"] == 0 and "signal_thread" not in report and not answer["fault"] and answer["damage"] == []
    assert refused.returncode == 2 and "no signal is known that ended" in refused.stderr


def test_jump_into_a_freed_block(hw, compile_c, tmp_path):
    """The pointer to a function refers to a block that is free: the jump is no use after free, and the block is named."""
    program = compile_c("""
#include <stdlib.h>
#include <stdio.h>
void (*volatile function)(void);
__attribute__((noinline)) static void call(void) { function(); puts("back"); }
int main(void)
{
  function = (void (*)(void))malloc(48);
  free((void *)function);
  call();
}""", "-g", "-fno-builtin")
    dump, _ = crash_of([program], tmp_path)
    crash = Crash(hw, program, dump, "")
    report, (answer, text) = crash.answer(), crash.around(crash.answer()["fault_address"])
    assert report["signal_cause"] == "jump" and report["signal_stack"][0]["function"] == "call"
    assert answer["fault"] and not answer["use_after_free"] and answer["block"]["bytes"] == 56
    assert f"jumped to {report['fault_address']:#x}, where no code is; it was in call" in text
    assert "The block is free, in a tcache.\n" in text
