"""Sampled recordings: all calls are counted, each thread's exactly; events are a sample with the probability that the trace
states; and the free of every block of the sample is an event."""

import math
import os
import re
import signal
import struct
import subprocess
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from format_reader import counts_of, read_trace
from trace_header import traces_of_run
from waiting import wait_until

PROGRAMS = Path(__file__).parent / "programs"
SIGMAS = 6  # an honest sample is further away once in 10^9 runs
TIMEOUT = 120


@pytest.fixture
def sampling(compile_c):
    return compile_c(PROGRAMS / "sampling.c", "-pthread", name="sampling")


def build_counter(folder, *flags):
    library = folder / "libthreadcounter.so"
    source = PROGRAMS / "thread_counter.c"
    subprocess.run(["gcc", "-O1", "-fno-builtin", "-shared", "-fPIC", *[flag for flag in flags if flag], source, "-o", library], check=True)
    return library


def environment_of(recorder, counter, folder, size):
    return {**os.environ, "LD_PRELOAD": f"{recorder}:{counter}", "HEAPWRIGHT_OUTPUT": str(folder / "run.hwt"),
            "HEAPWRIGHT_SAMPLE": size, "HEAPWRIGHT_MAX_SIZE": "64M", "COUNTER_SLOTS": str(folder / "slots.%p")}


def slots_of(path):
    """[allocations, bytes, frees] of each thread, by tid."""
    words = struct.iter_unpack("<4q", path.read_bytes())
    return {tid: list(numbers) for tid, *numbers in words if tid}


def header_pid(trace):
    with open(trace, "rb") as file:
        return struct.unpack_from("<I", file.read(128), 88)[0]


def counts_by_tid(trace):
    tids = {}
    for kind, payload in trace.records:
        if kind == 2:
            number, tid = varints(payload, 2)
            tids[number] = tid
    counts = defaultdict(lambda: [0, 0, 0])
    for number, numbers in counts_of(trace).items():
        counts[tids[number]] = [sum(pair) for pair in zip(counts[tids[number]], numbers)]
    return dict(counts)


def varints(data, count):
    found, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            found.append(value)
            value = shift = 0
        if len(found) == count:
            return found
    raise AssertionError("too short")


def events_of(trace):
    """All events in the order of time; at equal times frees come first."""
    events = [event for events in trace.events.values() for event in events if event.kind != "failed"]
    return sorted(events, key=lambda event: (event.tick, event.kind == "alloc"))


def check_blocks(trace, inherited=()):
    """Every free is of a block of the sample. Returns the blocks that are live at the end."""
    balance = Counter(inherited)
    for event in events_of(trace):
        assert event.kind in ("alloc", "free")
        balance[event.address] += 1 if event.kind == "alloc" else -1
    assert set(balance.values()) <= {0, 1}, balance.most_common(3)
    return {address for address, count in balance.items() if count}


def check_run(folder):
    """Compares every trace of a run with the counter's numbers. Returns the traces, the first image's first."""
    traces = [(path, read_trace(path)) for path in traces_of_run(folder / "run.hwt")]
    for path, trace in traces:
        assert counts_by_tid(trace) == slots_of(folder / f"slots.{header_pid(path)}")
    return [trace for _, trace in traces]


def live_lines(text):
    return {int(address, 16) for address in re.findall(r"live 0x([0-9a-f]+)", text)}


def run(recorder, folder, command, size, *flags):
    done = subprocess.run(list(map(str, command)), env=environment_of(recorder, build_counter(folder, *flags), folder, size),
                          capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 0, done.stderr
    return done.stdout


MIX_THREADS = 5


def check_mix(folder, said):
    """libc has blocks of its own: one for each thread whose stack it keeps."""
    parent, *children = check_run(folder)
    assert len(children) == 2
    assert len(check_blocks(parent) - live_lines(said)) <= MIX_THREADS
    for trace in (parent, *children):
        assert sum(map(len, trace.events.values())) > 1000


def test_counts_of_threads_and_children_are_exact(sampling, recorder, tmp_path):
    check_mix(tmp_path, run(recorder, tmp_path, [sampling, "mix", MIX_THREADS, 8000], "5K"))


def test_counts_are_exact_after_a_kill(sampling, recorder, tmp_path):
    environment = environment_of(recorder, build_counter(tmp_path), tmp_path, "5K")
    command = [sampling, "mix", str(MIX_THREADS), "8000"]
    with subprocess.Popen(command, env={**environment, "HOLD": "1"}, stdout=subprocess.PIPE, text=True) as process:
        said = ""
        while not said.endswith("end\n"):
            line = process.stdout.readline()
            assert line
            said += line
        process.kill()
    check_mix(tmp_path, said)


def test_handlers_that_interrupt_anything_lose_no_count(sampling, recorder, tmp_path):
    run(recorder, tmp_path, [sampling, "handlers", 300000], "2K", "-DRING")
    check_run(tmp_path)


def test_each_thread_has_its_own_counts(sampling, recorder, tmp_path):
    run(recorder, tmp_path, [sampling, "lives", 100], "1M")
    trace, = check_run(tmp_path)
    assert len(counts_by_tid(trace)) > 1


SIZES = {0: 1, 8: 8, 100: 100, 4096: 4096, 65536: 65536, 10**6: 10**6, 10**8: 10**8}  # and the bytes that count


@pytest.mark.parametrize("mean", [64, 4096, 512 << 10, 64 << 20])
def test_a_block_is_in_the_sample_with_its_probability(sampling, preload, mean):
    rounds = 5000
    recording = preload([sampling, "sizes", rounds, *SIZES, 0], env={"HEAPWRIGHT_SAMPLE": str(mean), "HEAPWRIGHT_MAX_SIZE": "64M"})
    assert recording.process.returncode == 0
    trace = read_trace(recording.trace)
    found = Counter(event.size for event in events_of(trace) if event.kind == "alloc")
    for size, bytes_ in SIZES.items():
        share = 1 - math.exp(-bytes_ / mean)
        calls = rounds * (2 if size == 0 else 1)
        assert abs(found[size] - calls * share) <= SIGMAS * math.sqrt(calls * share * (1 - share)) + 3, size
    assert len(check_blocks(trace)) <= 3  # of libc
    frees = [event for event in events_of(trace) if event.kind == "free"]
    assert all(event.temporary for event in frees)  # each is freed at once
