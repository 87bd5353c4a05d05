"""Sampled recordings: all calls are counted, each thread's exactly; events are a sample with the probability that the trace
states; and the free of every block of the sample is an event."""

import math
import os
import re
import struct
import subprocess
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from format_reader import Bytes, counts_of, read_trace
from trace_header import traces_of_run

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
            numbers = Bytes(payload)
            number, tid = numbers.varint(), numbers.varint()
            tids[number] = tid
    counts = defaultdict(lambda: [0, 0, 0])
    for number, numbers in counts_of(trace).items():
        counts[tids[number]] = [sum(pair) for pair in zip(counts[tids[number]], numbers)]
    return dict(counts)


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


def check_run(folder, name="run.hwt"):
    """Compares every trace of a run with the counter's numbers. Returns the traces, the first image's first."""
    traces = [(path, read_trace(path)) for path in traces_of_run(folder / name)]
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


def check_mix(folder, said, name="run.hwt"):
    """libc has blocks of its own: one for each thread whose stack it keeps."""
    parent, *children = check_run(folder, name)
    assert len(children) == 2
    assert len(check_blocks(parent) - live_lines(said)) <= MIX_THREADS
    for trace in (parent, *children):
        assert sum(map(len, trace.events.values())) > 1000


def test_counts_of_threads_and_children_are_exact(sampling, recorder, tmp_path):
    check_mix(tmp_path, run(recorder, tmp_path, [sampling, "mix", MIX_THREADS, 8000], "5K"))


def test_counts_are_exact_after_a_kill_and_in_a_saved_trace(sampling, recorder, hw, tmp_path):
    environment = environment_of(recorder, build_counter(tmp_path), tmp_path, "5K")
    command = [sampling, "mix", str(MIX_THREADS), "8000"]
    with subprocess.Popen(command, env={**environment, "HOLD": "1"}, stdout=subprocess.PIPE, text=True) as process:
        said = ""
        while not said.endswith("end\n"):
            line = process.stdout.readline()
            assert line
            said += line
        saved = hw("control", tmp_path / "run.hwt", "save", "-o", tmp_path / "now.hwt")
        assert saved.returncode == 0, saved.stderr
        process.kill()
    check_mix(tmp_path, said)
    check_mix(tmp_path, said, "now.hwt")


def test_a_packed_trace_has_the_same(sampling, record, hw, tmp_path):
    counted = ["--allocator", build_counter(tmp_path), "--env", f"COUNTER_SLOTS={tmp_path}/slots.%p"]
    packed = record([sampling, "mix", MIX_THREADS, 8000], "--sample=5K", *counted, trace=tmp_path / "packed.hwt")
    assert packed.process.returncode == 0, packed.process.stderr
    check_mix(tmp_path, packed.process.stdout, "packed.hwt")
    raw = record([sampling, "mix", MIX_THREADS, 8000], "--sample", "5K", "--no-pack", "--max-size=64M", *counted, trace=tmp_path / "raw.hwt")
    check_mix(tmp_path, raw.process.stdout, "raw.hwt")
    assert hw("import", tmp_path / "raw.hwt", "-o", tmp_path / "imported.hwt").returncode == 0
    before, after = read_trace(tmp_path / "raw.hwt"), read_trace(tmp_path / "imported.hwt")
    assert counts_of(before) == counts_of(after)
    temporary = [[event.address for event in events_of(trace) if event.temporary] for trace in (before, after)]
    assert temporary[0] and temporary[0] == temporary[1]


def test_the_end_says_what_is_an_estimate(sampling, record):
    assert ", about " in record([sampling, "sizes", 100, 10], "--sample=1").process.stderr
    assert ", about " not in record([sampling, "sizes", 100, 10]).process.stderr


def test_a_paused_recording_has_no_allocations(sampling, record):
    recording = record([sampling, "sizes", 100, 10, 20, 0], "--sample=1", "--paused")
    trace = read_trace(recording.trace)
    assert not any(map(len, trace.events.values()))
    assert {numbers[0] for numbers in counts_of(trace).values()} == {0}


STACKS = """
#include <stdlib.h>
#define STEP(name, ...) \\
  static __attribute__((noinline)) void *name(void *old) { void *made = __VA_ARGS__; __asm__ volatile("" : "+r"(made), "+r"(old)); return made; }
STEP(by_malloc, malloc(100))
STEP(by_calloc, calloc(3, 50))
STEP(by_realloc, realloc(old, 5000))
STEP(by_aligned, aligned_alloc(64, 128))
int main(void)
{
  free(by_realloc(by_malloc(NULL)));
  free(by_calloc(NULL));
  free(by_aligned(NULL));
  return 3;
}
"""


def test_stacks_begin_at_the_caller(compile_c, record):
    recording = record([compile_c(STACKS)], "--sample=1", env={"HEAPWRIGHT_CHECK": "1"})
    assert recording.process.returncode == 3
    report = recording.report
    functions = {entry["stack"][0]["function"] for entry in report["top"]}
    assert {"by_malloc", "by_calloc", "by_realloc", "by_aligned"} <= functions
    assert report["unmatched_frees"] == report["missed_frees"] == 0


OPERATORS = """
#include <new>
static __attribute__((noinline)) char *by_new(int size) { char *made = new char[size]; __asm__ volatile("" : "+r"(made)); return made; }
static __attribute__((noinline)) long *by_one(void) { long *made = new long(7); __asm__ volatile("" : "+r"(made)); return made; }
static __attribute__((noinline)) void by_failing(void) { try { operator new(1UL << 62); } catch (std::bad_alloc &) {} }
int main()
{
  for (int i = 0; i < 100; i++) {
    delete[] by_new(1000);
    delete by_one();
    by_failing();
  }
  return 4;
}
"""


def test_operators_are_in_the_sample(compile_cxx, record):
    recording = record([compile_cxx(OPERATORS)], "--sample=1", env={"HEAPWRIGHT_CHECK": "1"})
    assert recording.process.returncode == 4
    report = recording.report
    assert {"by_new", "by_one"} <= {(entry["stack"][0]["function"] or "").split("(")[0] for entry in report["top"]}
    assert report["failed_calls"] == 100
    assert report["unmatched_frees"] == report["missed_frees"] == 0


ENTRIES = """
#include <malloc.h>
#include <new>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
enum { CALLS = 1000 };
static void *by_posix_memalign() { void *block = nullptr; return posix_memalign(&block, 256, 70) ? nullptr : block; }
template <typename Block> static Block *keep(Block *block) { __asm__ volatile("" : "+r"(block)); return block; }
static const std::align_val_t aligned{128};
static const struct { const char *name; long allocations, bytes, frees; void (*call)(); } entries[] = {
  {"malloc", 1, 10, 1, [] { free(keep(malloc(10))); }},
  {"malloc of no bytes", 1, 0, 1, [] { free(keep(malloc(0))); }},
  {"free of no block", 0, 0, 0, [] { free(keep((void *)nullptr)); }},
  {"calloc", 1, 150, 1, [] { free(keep(calloc(3, 50))); }},
  {"realloc", 3, 230, 3, [] { free(keep(realloc(keep(realloc(keep(malloc(10)), 200)), 20))); }},
  {"realloc of no block", 1, 30, 1, [] { free(keep(realloc(keep((void *)nullptr), 30))); }},
  {"realloc to no bytes", 1, 40, 1, [] { if (keep(realloc(keep(malloc(40)), 0))) abort(); }},
  {"realloc that fails", 1, 40, 1, [] { void *old = keep(malloc(40)); if (keep(realloc(old, 1UL << 62))) abort(); free(old); }},
  {"reallocarray", 2, 80, 2, [] { free(keep(reallocarray(keep(malloc(10)), 7, 10))); }},
  {"posix_memalign", 1, 70, 1, [] { free(keep(by_posix_memalign())); }},
  {"aligned_alloc", 1, 192, 1, [] { free(keep(aligned_alloc(64, 192))); }},
  {"memalign", 1, 90, 1, [] { free(keep(memalign(32, 90))); }},
  {"valloc", 1, 100, 1, [] { free(keep(valloc(100))); }},
  {"pvalloc", 1, 110, 1, [] { free(keep(pvalloc(110))); }},
  {"new", 1, 120, 1, [] { operator delete(keep(operator new(120))); }},
  {"new of no bytes", 1, 0, 1, [] { operator delete(keep(operator new(0))); }},
  {"new[]", 1, 130, 1, [] { operator delete[](keep(operator new[](130)), 130UL); }},
  {"new(nothrow)", 1, 140, 1, [] { operator delete(keep(operator new(140, std::nothrow)), std::nothrow); }},
  {"new that fails", 0, 0, 0, [] { if (keep(operator new(1UL << 62, std::nothrow))) abort(); }},
  {"new(align)", 1, 160, 1, [] { operator delete(keep(operator new(160, aligned)), aligned); }},
  {"new[](align, nothrow)", 1, 170, 1, [] { operator delete[](keep(operator new[](170, aligned, std::nothrow)), 170UL, aligned); }},
};
static void *thread(void *argument)
{
  const auto &entry = *static_cast<decltype(&entries[0])>(argument);
  for (int i = 0; i < CALLS; i++)
    entry.call();
  printf("%d %ld %ld %ld %s\\n", gettid(), CALLS * entry.allocations, CALLS * entry.bytes, CALLS * entry.frees, entry.name);
  return nullptr;
}
int main()
{
  setvbuf(stdout, nullptr, _IONBF, 0);
  for (const auto &entry : entries) {
    pthread_t id;
    pthread_create(&id, nullptr, thread, (void *)&entry);
    pthread_join(id, nullptr);
  }
}
"""


@pytest.mark.parametrize("size", ["1", "300", "1G"])
def test_each_entry_point_counts_its_calls(compile_cxx, record, size):
    """With 1 all calls are events, and with 1G nearly none."""
    recording = record([compile_cxx(ENTRIES, "-O0", "-pthread")], f"--sample={size}")
    assert recording.process.returncode == 0, recording.process.stderr
    counts = counts_by_tid(read_trace(recording.trace))
    lines = [line.split(maxsplit=4) for line in recording.process.stdout.splitlines()]
    said = {name: list(map(int, numbers)) for _, *numbers, name in lines}
    assert len(said) > 20
    assert {name: counts.get(int(tid), [0, 0, 0]) for tid, *_, name in lines} == said


@pytest.mark.parametrize("command", [["sort", "-r", "/etc/services"], ["/usr/bin/python3", "-c", "print(sum(map(len, map(str, range(9999))))); exit(7)"],
                                     ["sqlite3", ":memory:", "select hex(zeroblob(3)); select x;"]], ids=lambda words: words[0])
def test_programs_do_the_same(record, command):
    alone = subprocess.run(command, capture_output=True, text=True, check=False)
    recorded = record(command, "-q", "--sample=1K")
    assert (recorded.process.returncode, recorded.process.stdout, recorded.process.stderr) == (alone.returncode, alone.stdout, alone.stderr)


@pytest.mark.parametrize("size, said", [("0", "takes a size from 1 byte to 1 GiB"), ("2T", "takes a size from 1 byte to 1 GiB"),
                                        ("some", "takes a size such as"), ("-5", "takes a size such as")])
def test_a_wrong_size_is_refused(hw, size, said):
    done = hw("record", f"--sample={size}", "true")
    assert done.returncode == 125 and said in done.stderr
    if size[0] not in "-":
        done = hw("record", "true", env={**os.environ, "HEAPWRIGHT_SAMPLE": size})
        assert done.returncode == 125 and "HEAPWRIGHT_SAMPLE" in done.stderr


def test_durations_are_refused(hw):
    done = hw("record", "--sample", "--durations", "true")
    assert done.returncode == 125 and "exclude each other" in done.stderr


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
