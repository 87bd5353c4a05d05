"""test_kill.py - whatever ends the program, the trace holds every complete event

Breaks if an event is acknowledged to the program before it is safe in the file, if draining loses what it moves, or
if a reader rejects a trace that was never closed.
"""

import json
import os
import random
import signal
import struct
import subprocess
import time
from pathlib import Path

import pytest

from trace_header import MAGIC
from waiting import child_of, has_ended, wait_until

PROGRAMS = Path(__file__).parent / "programs"
BLOCK_BYTES = 777


@pytest.fixture
def until_killed(compile_c):
    return compile_c(PROGRAMS / "until_killed.c", "-pthread", name="until_killed")


def counted(path, threads):
    pairs = struct.unpack(f"<{2 * threads}Q", path.read_bytes()[: 16 * threads])
    return sum(pairs[0::2]), sum(pairs[1::2])


def check(report, path, threads):
    """The trace has all calls that returned to the program, and at most one more event per thread."""
    allocations, frees = counted(path, threads)
    assert allocations > 100
    size = next(size for size in report["sizes"] if size["size"] == BLOCK_BYTES)
    assert allocations <= size["calls"] <= allocations + threads
    freed = size["calls"] - size["live_blocks"]
    assert frees <= freed <= frees + threads
    assert report["lost_events"] == 0


def start(arguments, **more):
    return subprocess.Popen(list(map(str, arguments)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)


def wait_for_work(path, threads):
    wait_until(lambda: path.exists() and path.stat().st_size and counted(path, threads)[0] > 1000)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("seed", range(3))
def test_killed_target_without_launcher(until_killed, recorder, hw, tmp_path, threads, seed):
    counts, trace = tmp_path / "counts", tmp_path / "trace.hwt"
    environment = {**os.environ, "LD_PRELOAD": str(recorder), "HEAPWRIGHT_OUTPUT": str(trace)}
    target = start([until_killed, counts, "forever", threads], env=environment)
    wait_for_work(counts, threads)
    time.sleep(random.Random(seed).uniform(0, 0.4))
    target.kill()
    target.wait()
    check(report_of(hw, trace), counts, threads)


def report_of(hw, trace):
    done = hw("report", "--json", trace)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("victim", ["target", "launcher", "both"])
@pytest.mark.parametrize("seed", range(3))
def test_killed_under_launcher(until_killed, build, hw, tmp_path, victim, seed):
    counts, trace = tmp_path / "counts", tmp_path / "trace.hwt"
    launcher = start([build / "bin/heapwright", "record", "-o", trace, "--", until_killed, counts, "forever", 2])
    target = child_of(launcher)
    wait_for_work(counts, 2)
    time.sleep(random.Random(seed).uniform(0, 1.2))
    if victim in ("launcher", "both"):
        launcher.kill()
        launcher.wait()
    if victim == "launcher":
        time.sleep(0.2)
        os.kill(target, 0)  # it goes on
    os.kill(target, signal.SIGKILL)
    launcher.wait(timeout=60)
    wait_until(lambda: has_ended(target))
    check(report_of(hw, trace), counts, 2)
    if victim == "target":
        assert launcher.returncode == 128 + signal.SIGKILL


@pytest.mark.parametrize("through", ["library", "launcher"])
def test_killed_while_it_starts(until_killed, recorder, build, hw, tmp_path, through):
    """There is no trace, or a trace that says what it contains: a later recording may replace it."""
    counts, trace = tmp_path / "counts", tmp_path / "trace.hwt"
    environment = {**os.environ, "LD_PRELOAD": str(recorder), "HEAPWRIGHT_OUTPUT": str(trace)}
    for i in range(60):
        counts.write_bytes(bytes(4096))
        trace.unlink(missing_ok=True)
        if through == "library":
            target = start([until_killed, counts, "forever", 2], env=environment)
            pid = target.pid
        else:
            target = start([build / "bin/heapwright", "record", "-o", trace, "--", until_killed, counts, "forever", 2])
            pid = child_of(target)
        time.sleep(i * 0.0002)
        os.kill(pid, signal.SIGKILL)
        target.wait(timeout=60)
        assert target.returncode in ((-9,) if through == "library" else (128 + 9, 126))
        if trace.exists():
            sizes = [size["calls"] for size in report_of(hw, trace)["sizes"] if size["size"] == BLOCK_BYTES]
            allocations = counted(counts, 2)[0] if counts.stat().st_size else 0  # it begins by emptying the file
            assert allocations <= sum(sizes) <= allocations + 2
            assert hw("import", trace, "-o", trace).returncode == 0


ONE_BLOCK = """
#include <stdlib.h>
int main(void)
{
  void *volatile block = malloc(10);
  free(block);
}
"""


def test_killed_at_each_system_call(compile_c, recorder, tmp_path):
    """A trace is valid from the moment at which its name exists: an empty file would be rejected ever after, and
    another image that begins at the same time would find nothing to join."""
    program, killed_at = compile_c(ONE_BLOCK, name="one_block"), compile_c(PROGRAMS / "killed_at.c", name="killed_at")
    trace = tmp_path / "trace.hwt"
    environment = {**os.environ, "HEAPWRIGHT_OUTPUT": str(trace), "HEAPWRIGHT_MAX_SIZE": "4M"}
    states = set()
    for stop in range(1, 2000):
        trace.unlink(missing_ok=True)
        done = subprocess.run([killed_at, str(stop), recorder, program], env=environment,
                              stdout=subprocess.PIPE, text=True, timeout=60)
        if done.returncode == 3:
            pytest.skip("no process can be traced here")
        head = trace.read_bytes()[:8] if trace.exists() else None
        assert head in (None, MAGIC), stop
        states.add((head is not None, done.stdout))
        if done.stdout == "ended\n":
            break
    assert states == {(False, "killed\n"), (True, "killed\n"), (True, "ended\n")}


@pytest.mark.parametrize(
    "ending, status", [("abort", 128 + signal.SIGABRT), ("_exit", 3), ("segv", 128 + signal.SIGSEGV),
                       ("overflow", 128 + signal.SIGSEGV), ("exec", 0)])
def test_other_endings(until_killed, record, tmp_path, ending, status):
    counts = tmp_path / "counts"
    recording = record([until_killed, counts, ending, 1])
    assert recording.process.returncode == status
    check(recording.report, counts, 1)
