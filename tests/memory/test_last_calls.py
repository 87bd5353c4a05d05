"""test_last_calls.py - a recorded program crashed and its trace is lost: the recorder's own memory has the last calls

Breaks if a call is listed that the program did not make, with another size, address or stack, or out of order; if the trace that is
there is not used; or if what is wrong in that memory is trusted.
"""

import json
import random
import struct
import subprocess
from pathlib import Path

import pytest

from heap_listing import core_of, started

PROGRAM = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ROUNDS = 40 };
static char text[1 << 16];
static int used;
static pthread_barrier_t barrier;

static void say(const char *what, void *address, size_t bytes)
{
  used += snprintf(text + used, sizeof text - used, "%ld %s %p %zu\n", (long)syscall(SYS_gettid), what, address, bytes);
}

__attribute__((noinline)) static void *make(size_t bytes)
{
  void *block = malloc(bytes);
  say("make", block, bytes);
  return block;
}

__attribute__((noinline)) static void *grow(void *block, size_t bytes)
{
  say("drop", block, 0);
  block = realloc(block, bytes);
  say("grow", block, bytes);
  return block;
}

__attribute__((noinline)) static void drop(void *block)
{
  say("drop", block, 0);
  free(block);
}

static void work(size_t bytes)
{
  for (size_t i = 0; i < ROUNDS; i++) {
    void *one = make(bytes + i), *two = make(2 * bytes + i);
    one = grow(one, 3000 * bytes + i);
    drop(two);
    if (i % 3)
      drop(one);
  }
}

static void *other(void *unused)
{
  work(100);
  pthread_barrier_wait(&barrier);
  for (;;)
    pause();
  return unused;
}

int main(int count, char **words)
{
  pthread_t thread;
  pthread_barrier_init(&barrier, NULL, 2);
  pthread_create(&thread, NULL, other, NULL);
  pthread_barrier_wait(&barrier);
  work(10);
  if (count > 1)
    unlink(words[1]);
  text[used++] = '\n';
  (void)!write(1, text, used);
  pause();
}
"""
KEPT = {"make": "malloc", "grow": "realloc", "drop": None}


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("last")
    (folder / "last.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-g", "-O1", "-fno-builtin", "-w", "-pthread", "last.c", "-o", "last"], cwd=folder, check=True)
    return folder / "last"


@pytest.fixture
def crashed(program, recorder, tmp_path):
    """crashed(filter, ...): the core dump, the trace, and for each thread its calls, the latest first."""

    def run(bits=None, unlinks=False):
        trace = tmp_path / "lost.hwt"
        environment = {"LD_PRELOAD": str(recorder), "HEAPWRIGHT_OUTPUT": str(trace)}
        calls = {}
        with started([program, *([trace] if unlinks else [])], tmp_path, environment, is_ready=lambda pid: True) as process:
            for line in iter(process.stdout.readline, b"\n"):
                thread, what, address, size = line.decode().split()
                calls.setdefault(int(thread), []).insert(0, (what, int(address, 16), int(size)))
            if bits is not None:
                Path(f"/proc/{process.pid}/coredump_filter").write_text(hex(bits))
            core = core_of(process, tmp_path)
        return core, trace, calls

    return run


def last_calls(hw, core):
    done = hw("core", "--json", core)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def words_of(hw, core):
    """The text, without line breaks."""
    return " ".join(hw("core", core).stdout.split())


def function_of(call):
    return call["stack"][0]["function"] if "stack" in call else "drop"


def as_printed(call):
    return function_of(call), call["address"], call.get("bytes", 0)


@pytest.mark.parametrize("bits, unlinks", [(0x3b, False), (0x33, True)], ids=["shared files are kept", "the trace was removed"])
def test_last_calls_in_order(hw, crashed, bits, unlinks):
    core, trace, calls = crashed(bits, unlinks)
    trace.unlink(missing_ok=True)
    report = last_calls(hw, core)
    assert report["recorded_to"] == str(trace)
    assert {thread["thread"] for thread in report["last_calls"]} == set(calls)
    for thread in report["last_calls"]:
        assert thread["ordered"] and thread["name"] == "last"
        assert [as_printed(call) for call in thread["calls"]] == calls[thread["thread"]][:32]
        for call in thread["calls"]:
            if "stack" in call:
                assert call["entry"] == KEPT[function_of(call)] and call["stack"][1]["function"] == "work"
                assert call["stack"][0]["file"].endswith("last.c")
            else:
                assert call["entry"] in ("free", "realloc")
    text = words_of(hw, core)
    assert f"It was recorded to {trace}, which is not here" in text
    assert "Last calls that the recorder has in memory" in text and ", last, the latest first:" in text


def test_without_the_chunks(hw, crashed):
    """What is left are allocations: those are right, and each is the latest one of its stack."""
    core, trace, calls = crashed(0x33)
    trace.unlink()
    report = last_calls(hw, core)
    assert {thread["thread"] for thread in report["last_calls"]} == set(calls)
    for thread in report["last_calls"]:
        assert not thread["ordered"]
        made = [call for call in calls[thread["thread"]] if call[0] != "drop"]
        found = [as_printed(call) for call in thread["calls"] if function_of(call) in KEPT]
        assert len(found) == len({(call["stack"][0]["address"], call["stack"][1]["address"]) for call in thread["calls"]
                                  if function_of(call) in KEPT})
        for call in found:
            assert call in made[:3]
        assert len(found) >= 2 and found == sorted(found, key=lambda call: -call[2])
    assert "the latest one of each stack, in no order of time:" in words_of(hw, core)


def test_the_trace_that_is_there(hw, crashed):
    """It is named, and says who allocated all blocks: also a raw one, of a program that ran without `heapwright record`."""
    core, trace, calls = crashed(0x33)
    report = last_calls(hw, core)
    assert report["recorded_to"] == str(trace) and "last_calls" not in report
    assert f"It was recorded to {trace}: with --recording and that name, blocks have their stacks." in words_of(hw, core)
    report = json.loads(hw("core", "--json", "--recording", trace, core).stdout)
    assert report["recorded_blocks"] == report["live_blocks"] and "recorded_to" not in report
    kept = sum(function_of({"stack": row["stack"]}) == "grow" and row["live_blocks"] for row in report["top"])
    assert kept == 2 * len(range(0, 40, 3))


def test_damaged_memory_of_the_recorder(hw, crashed, tmp_path):
    """The words that lead to the calls are written over: the answer is one, and what is listed is only shorter or wrong."""
    core, trace, _ = crashed(0x3b)
    trace.unlink()
    data = core.read_bytes()
    mark = data.index(b"heapwright's own")
    (streams,) = struct.unpack_from("<Q", data, mark + 16 + 8 + 8 + 16)
    chooser, copy = random.Random(7), tmp_path / "copy"
    for seed in range(6):
        damaged = bytearray(data)
        for _ in range(1 + seed % 3):
            at = mark + 32 + chooser.randrange(0, 56, 4)
            struct.pack_into("<I", damaged, at, chooser.choice([0, 1, 0xffffffff, streams & 0xffffffff, chooser.getrandbits(32)]))
        chunk = damaged.index(b"HWCK")
        for _ in range(200 if seed % 2 else 0):
            damaged[chunk + chooser.randrange(8, 4096)] = chooser.getrandbits(8)
        copy.write_bytes(damaged)
        done = hw("core", "--json", copy)
        assert done.returncode == 0, (seed, done.stderr)
        assert json.loads(done.stdout)["live_blocks"] > 20
