"""heap_listing.py - the blocks of a heap as the tool finds them, and an independent list of the same"""

import os
import resource
import shutil
import signal
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from waiting import wait_until

PROGRAMS = Path(__file__).resolve().parent / "memory/programs"
LIST_BLOCKS = signal.SIGRTMIN + 6  # of programs/live_blocks.c
PYTHON = """
import json, os, sqlite3, threading, time
texts = [str(i) * i for i in range(3000)]
threads = [threading.Thread(target=lambda: json.dumps(texts)) for _ in range(5)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
while len(os.listdir("/proc/self/task")) > 1:  # a thread that was joined may still give back its memory
    time.sleep(0.01)
print("ready", flush=True)
time.sleep(1000)
"""  # a program for such a list
STATES = ("live", "own", "free", "cached", "top")


@dataclass
class Heap:
    """What list_heap prints."""

    parts: dict = field(default_factory=dict)  # name: (system, understood)
    blocks: dict = field(default_factory=lambda: {state: {} for state in STATES})  # state: {address: usable}
    damage: list = field(default_factory=list)
    notes: dict = field(default_factory=dict)  # text: (filter, bytes)
    stop_ns: int = 0
    copied_bytes: int = 0
    threads: int = 0

    def take(self, line):
        word, *rest = line.split(maxsplit=3)
        if word == "part":
            self.parts[rest[2]] = int(rest[0]), int(rest[1])
        elif word == "damage":
            self.damage.append(line)
        elif word == "note":
            self.notes[rest[2]] = int(rest[0], 16), int(rest[1])
        elif word == "read":
            self.stop_ns, self.copied_bytes, self.threads = map(int, rest)
        else:
            self.blocks[word][int(rest[0], 16)] = int(rest[1])

    def assert_sound(self):
        assert not self.damage, self.damage
        assert not {name: part for name, part in self.parts.items() if part[0] != part[1]}


def parse_heap(text):
    heap = Heap()
    for line in text.splitlines():
        heap.take(line)
    return heap


def build_program(folder, source, name, *flags, compiler=("gcc", "-std=gnu17")):
    output = folder / name
    subprocess.run([*compiler, "-D_GNU_SOURCE", "-g", "-O1", "-fno-builtin", PROGRAMS / source, "-o", output, *flags], check=True)
    return output


@contextmanager
def started(command, folder, env=None, is_ready=None):
    """A program that has printed a line, or of whose process ID `is_ready` is true."""
    limit = resource.getrlimit(resource.RLIMIT_CORE)[1]
    with subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder,
                          env={**os.environ, **(env or {})},
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (limit, limit))) as process:
        try:
            if is_ready:
                wait_until(lambda: process.poll() is not None or is_ready(process.pid))
                assert process.returncode is None, f"{command[0]} ended early, with status {process.returncode}: {process.stdout.read()}"
            else:
                assert process.stdout.readline(), "the program ended early"
            yield process
        finally:
            process.kill()


def waits_for_input(pid):
    """In read of its input, or in poll, ppoll, select or pselect6."""
    calls = {"x86_64": ("0 0x0 ", "7 ", "23 ", "270 ", "271 "), "aarch64": ("63 0x0 ", "72 ", "73 ")}[os.uname().machine]
    return Path(f"/proc/{pid}/syscall").read_text().startswith(calls)


def core_of(process, folder, number=signal.SIGABRT):
    """Ends a program by a signal. Returns the core dump that the kernel writes."""
    skip_without_cores()
    process.send_signal(number)
    process.wait(60)
    return next(folder.glob("core*"))


def skip_without_cores():
    if resource.getrlimit(resource.RLIMIT_CORE)[1] == 0 or Path("/proc/sys/kernel/core_pattern").read_text()[0] in "|/":
        pytest.skip("the kernel writes no core dumps into the working folder")


def crash_of(command, folder, env=None, memory_bytes=resource.RLIM_INFINITY):
    """Runs a program that a signal kills. Returns its core dump, and the CompletedProcess."""
    skip_without_cores()

    def limit():
        most = resource.getrlimit(resource.RLIMIT_CORE)[1]
        resource.setrlimit(resource.RLIMIT_CORE, (most, most))
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))

    done = subprocess.run([str(word) for word in command], cwd=folder, preexec_fn=limit, capture_output=True, text=True,
                          env={**os.environ, **(env or {})})
    assert done.returncode < 0, "the program was not killed by a signal"
    [core] = folder.glob("core*")
    return core.rename(folder / "dump"), done


def gcore_of(process, folder):
    if not shutil.which("gcore"):
        pytest.skip("there is no gdb")
    subprocess.run(["gcore", "-o", folder / "dump", str(process.pid)], check=True, capture_output=True)
    return folder / f"dump.{process.pid}"


@dataclass
class Expected:
    """What live_blocks.c writes."""

    live: dict
    arena: int = 0
    mapped: int = 0
    free: int = 0  # with the top chunks and fast bins

    def assert_is(self, heap, is_cached_by_threads=True):
        heap.assert_sound()
        assert heap.blocks["live"] == self.live
        assert sum(system for name, (system, _) in heap.parts.items() if name != "mapped blocks") == self.arena
        assert heap.parts["mapped blocks"][0] == self.mapped
        free = sum(usable + 8 for usable in heap.blocks["free"].values())
        top = sum(usable + 16 for usable in heap.blocks["top"].values())
        cached = sum(usable + 8 for usable in heap.blocks["cached"].values())
        if is_cached_by_threads:
            assert free + top <= self.free <= free + top + cached
        else:
            assert free + top + cached == self.free


def read_expected(path):
    expected = Expected({})
    for line in path.read_text().splitlines():
        words = line.split()
        if words[0] == "mallinfo2":
            expected.arena, expected.mapped, _, expected.free = map(int, words[1:])
        else:
            expected.live[int(words[0], 16)] = int(words[1])
    return expected


def read_list(path):
    """What pools.c writes: its live blocks, and addresses of what is damaged."""
    lines = [line.split() for line in path.read_text().splitlines()]
    live = {int(words[0], 16): int(words[1]) for words in lines if words[0] != "bad"}
    return live, [int(words[1], 16) for words in lines if words[0] == "bad"]


def assert_has(heap, live, others):
    """All blocks of the program, and as many as the C library may have."""
    heap.assert_sound()
    assert {address: heap.blocks["live"].get(address) for address in live} == live
    assert len(heap.blocks["live"]) - len(live) <= others
