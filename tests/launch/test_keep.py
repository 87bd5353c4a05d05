"""test_keep.py - `record --keep`: the trace is a ring, and what still lives and the totals of all stay exact

Breaks if a base misses a block or counts it twice, if an old section is given back too early, or if a reader takes events that
were dropped for those that are there.
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

import format_reader
from format_reader import read_base, read_trace
from page_document import read_html
from small_disk import small_disk
from waiting import child_of, has_ended, wait_until

PROGRAM = Path(__file__).parent / "programs/long_run.c"
WATCHER = 1  # among the launcher's children
KINDS = ["short_lived", "long_lived", "moved", "left_by_guest"]
THREADS = 8
ROUNDS = "1200000"  # of each thread: the ring turns several times
KILLS = int(os.environ.get("HW_KILLS", "10"))
TROUBLES = ["damaged_chunks", "missing_chunks", "unmatched_frees", "missed_frees", "lost_events"]


@pytest.fixture
def long_run(compile_c):
    return compile_c(PROGRAM, "-O1", "-g", "-pthread", name="long_run")


def own_counts(path):
    """What the program counted: calls, frees, bytes, and by kind the live blocks and bytes."""
    data = path.read_bytes()
    sums = [sum(values) for values in zip(*(struct.unpack_from("<3Q8q", data, 88 * i) for i in range(THREADS)))]
    return sums[:3], dict(zip(KINDS, zip(sums[3:7], sums[7:11])))


def kind_of(stack):
    return next((frame.get("function") for frame in stack[:2] if frame.get("function") in KINDS), None)


def counts_of(report):
    live, calls, size = dict.fromkeys(KINDS, (0, 0)), 0, 0
    for stack in report["top"]:
        kind = kind_of(stack["stack"])
        if kind:
            live[kind] = (live[kind][0] + stack["live_blocks"], live[kind][1] + stack["live_bytes"])
            calls, size = calls + stack["calls"], size + stack["bytes"]
    return calls, size, live


def has_no_trouble(report):
    return not any(report[name] for name in TROUBLES)


def by_thread(report):
    names = ["name", "allocation_calls", "free_calls", "foreign_frees", "allocated_bytes", "live_bytes", "temporary_calls"]
    return sorted(tuple(thread.get(name) for name in names) for thread in report["by_thread"])


def by_stack(report):
    names = ["calls", "bytes", "free_calls", "temporary_calls", "failed_calls", "live_blocks", "live_bytes"]
    return sorted((tuple(frame.get("function") or "" for frame in stack["stack"]), *(stack.get(name) for name in names))
                  for stack in report["top"])


@pytest.mark.parametrize("threads", [1, 3])
def test_everything_but_the_events_stays(record, long_run, tmp_path, threads):
    """The same program twice: all that adds up is the same, in a file that is smaller."""
    command = [long_run, tmp_path / "counts", ROUNDS, str(threads), "0"]
    whole, ring = record(command), record(command, "--keep", "1M")
    assert ring.trace.stat().st_size < whole.trace.stat().st_size / 2
    (calls, frees, size), live = own_counts(tmp_path / "counts")
    a, b = whole.report, ring.report
    assert a["dropped_until_ns"] == 0 < b["dropped_until_ns"] < b["duration_ns"]
    assert has_no_trouble(a) and has_no_trouble(b)
    assert counts_of(b) == (calls, size, live)
    names = ["allocation_calls", "free_calls", "failed_calls", "allocated_bytes", "live_blocks_at_end", "live_bytes_at_end"]
    assert [a[name] for name in names] == [b[name] for name in names]
    assert [(size["size"], size["calls"], size["live_blocks"]) for size in a["sizes"]] == \
           [(size["size"], size["calls"], size["live_blocks"]) for size in b["sizes"]]
    if threads == 1:
        names = ["temporary_calls", "usable_bytes", "peak_bytes", "peak_blocks", "peak_usable_bytes"]
        assert [a[name] for name in names] == [b[name] for name in names]
        assert by_thread(a) == by_thread(b)
        assert by_stack(a) == by_stack(b)
        assert sum(point["allocation_calls"] for point in b["timeline"]) == b["allocation_calls"]
    assert max(point["max_bytes"] for point in b["timeline"]) == b["peak_bytes"]
    assert sum(stack["peak_bytes"] for stack in b["top"]) == b["peak_bytes"]


def test_with_a_sample(record, long_run, tmp_path):
    """All calls are counted, also those of chunks that were dropped, and estimates are as far from the truth as they say."""
    command, names = [long_run, tmp_path / "counts", ROUNDS, "3", "0"], ["allocation_calls", "free_calls", "allocated_bytes"]
    whole, ring = record(command, "--sample=256").report, record(command, "--keep", "1M", "--sample=256")
    (calls, frees, size), live = own_counts(tmp_path / "counts")
    report = ring.report
    assert 0 < report["dropped_until_ns"] and has_no_trouble(report)
    own = [report[name] for name in names]
    assert own == [whole[name] for name in names]
    assert all(0 <= all_of - own_of < 1000 for all_of, own_of in zip(own[:2], (calls, frees)))
    assert 0 <= own[2] - size < 1_000_000
    by_thread = [[thread[name] for name in ["allocation_calls", "allocated_bytes", "free_calls"]] for thread in report["by_thread"]]
    assert [sum(numbers) for numbers in zip(*by_thread)] == [own[0], own[2], own[1]]
    assert sorted(by_thread) == sorted(format_reader.counts_of(read_trace(ring.trace), read_base(ring.trace)).values())
    bytes_live = sum(of_kind[1] for of_kind in live.values())
    assert report["live_bytes_at_end"] == pytest.approx(bytes_live, abs=3 * report["live_bytes_at_end_error"] + 1_000_000)
    estimated, _, _ = counts_of(report)
    assert estimated == pytest.approx(calls, rel=0.02)
    assert f"heapwright: {own[0]:,} allocations, " in ring.process.stderr


TWICE = """
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void *volatile blocks[64];
int main(void)
{
  pid_t child = fork();
  for (size_t i = 0; i < 1500000; i++) {
    free(blocks[i % 64]);
    blocks[i % 64] = malloc(i * 7919 % 500);
  }
  return child && wait(NULL) != child;
}
"""


def test_with_a_sample_and_a_child(record, compile_c):
    """The calls of an image that is not shown are counted once, too."""
    ring = record([compile_c(TWICE)], "--keep", "1M", "--sample=64")
    images = ring.report["images"]
    assert sorted(image["counted"] for image in images) == [False, True]
    names = ["allocation_calls", "free_calls", "allocated_bytes"]
    for image in images:
        alone = ring.report_with("--pid", str(image["pid"]))
        assert alone["dropped_until_ns"] > 0
        assert [image[name] for name in names] == [alone[name] for name in names]


def test_the_page_describes_a_base(record, long_run, tmp_path):
    ring = record([long_run, tmp_path / "counts", ROUNDS, "3", "0"], "--keep", "1M", "--durations")
    base, report = read_base(ring.trace), ring.report
    assert base.calls + sum(thread[2] for thread in base.threads) < report["allocation_calls"] + report["free_calls"]
    assert sum(cell.peak_blocks for cell in base.cells) == base.peak_blocks
    assert sum(cell.peak_blocks * cell.size for cell in base.cells) == base.peak_bytes <= report["peak_bytes"]
    assert sum(sum(cell.ended) + cell.missed for cell in base.cells) == sum(piece.allocation_calls for piece in base.slices)
    assert sum(free_calls for _, free_calls, _ in base.threads) == sum(piece.free_calls for piece in base.slices)
    assert len(base.live) > 1000 and all(0 < tick < base.cut for tick in base.live.values())


def test_the_page_has_the_totals(record, long_run, hw, tmp_path):
    ring = record([long_run, tmp_path / "counts", ROUNDS, "3", "0"], "--keep", "1M")
    assert hw("report", ring.trace, "-o", tmp_path / "x.html").returncode == 0
    page, report = read_html(tmp_path / "x.html"), ring.report
    for name in ("allocation_calls", "free_calls", "failed_calls", "temporary_calls", "allocated_bytes"):
        assert sum(page.slices[name]) == report[name]
    assert page.run["dropped_until_ns"] == report["dropped_until_ns"] > 0


def test_the_page_has_the_curve(record, long_run, hw, tmp_path):
    """The slices before the cut have the levels of the base, and the calls at their time."""
    ring = record([long_run, tmp_path / "counts", ROUNDS, "3", "0"], "--keep", "1M")
    assert hw("report", ring.trace, "-o", tmp_path / "x.html").returncode == 0
    page, base, report = read_html(tmp_path / "x.html"), read_base(ring.trace), ring.report
    ends = [*page.slices["from_ns"][1:], report["duration_ns"]]
    dropped = [i for i, end in enumerate(ends) if end <= report["dropped_until_ns"]]
    levels = [page.slices["live_bytes"][i] for i in dropped]
    assert len(dropped) > 20 and len(set(levels)) > len(levels) / 4
    assert set(levels) <= {0, report["peak_bytes"], *(piece.live_bytes for piece in base.slices)}
    assert max(page.slices["max_bytes"]) == report["peak_bytes"]
    for least, live, most in zip(*(page.slices[name] for name in ("min_bytes", "live_bytes", "max_bytes"))):
        assert least <= live <= most
    calls = [page.slices["allocation_calls"][i] for i in dropped]
    assert max(calls) < sum(calls) / 5
    assert abs(sum(calls) - sum(piece.allocation_calls for piece in base.slices)) < sum(calls) / 5


def test_the_peak_of_several_rings_is_that_of_the_kept_events(record, long_run, hw, tmp_path):
    script = f"for i in 1 2; do {long_run} {tmp_path}/counts {ROUNDS} 1 0; done"
    ring = record(["/bin/sh", "-c", script], "--keep", "1M")
    said = "The peak of all processes together is that of the kept events"
    assert said in " ".join(hw("report", "--children", ring.trace).stdout.split())
    assert said not in " ".join(hw("report", ring.trace).stdout.split())
    assert ring.report_with("--children")["peak_of_kept_events"] is True
    assert "peak_of_kept_events" not in ring.report
    assert hw("report", "--children", ring.trace, "-o", tmp_path / "x.html").returncode == 0
    assert read_html(tmp_path / "x.html").run["peak_of_kept_events"] is True


def looks(trace, hw, process):
    """The space that the trace takes, and a report of it, while the program runs."""
    while process.poll() is None:
        time.sleep(0.05)
        if not trace.exists() or not trace.stat().st_size:
            continue
        done = hw("report", "--json", trace)
        if done.returncode == 0:
            yield trace.stat().st_blocks * 512, json.loads(done.stdout)


def test_it_is_bounded_and_readable_while_it_turns(build, hw, long_run, tmp_path):
    """Some 60 rings, slowly enough for the packer."""
    trace = tmp_path / "ring.hwt"
    process = subprocess.Popen([build / "bin/heapwright", "record", "-q", "--keep", "1M", "-o", trace, "--", long_run, tmp_path / "counts", "0", "1", "3000"])
    seen = []
    try:
        for used, report in looks(trace, hw, process):
            seen.append((used, report["dropped_until_ns"]))
            assert has_no_trouble(report)
            assert report["allocation_calls"] - report["free_calls"] == report["live_blocks_at_end"]
            if len({dropped for _, dropped in seen}) > 8:
                break
    finally:
        subprocess.run(["kill", "-9", str(child_of(process))], check=True)
        process.wait(60)
    dropped = [dropped // 1000000 for _, dropped in seen]  # the clock's rate becomes more exact meanwhile
    assert dropped == sorted(dropped)
    assert max(used for used, _ in seen) < 64 << 20  # of which most may be chunks that are not packed yet


def has_section(trace):
    """Whether something was packed."""
    with trace.open("rb") as file:
        return trace.stat().st_size > int.from_bytes(file.read(40)[32:], "little") > 0


def has_turned(trace):
    """Whether sections were dropped. The file is as long as its window."""
    with trace.open("rb") as file:
        file.seek(3920)
        return any(file.read(8))


@pytest.mark.parametrize("seed", range(KILLS))
def test_killed_at_any_moment(request, build, hw, long_run, tmp_path, seed):
    chance, trace, counts = random.Random(seed), tmp_path / "ring.hwt", tmp_path / "counts"
    threads, victim = chance.choice([1, 3]), ["target", "watcher", "launcher", "all"][seed % 4]
    launcher = subprocess.Popen([build / "bin/heapwright", "record", "-q", "--keep", "1M", "-o", trace, "--", long_run, counts, "0", str(threads), "500"],
                                stderr=subprocess.PIPE)
    target, watcher = child_of(launcher), child_of(launcher, WATCHER)
    request.addfinalizer(lambda: subprocess.run(["kill", "-9", str(target)], capture_output=True))
    wait_until(lambda: counts.exists() and any(counts.read_bytes()) and (seed % 3 == 0 or has_turned(trace)))
    time.sleep(chance.uniform(0, 1))
    if victim == "watcher":
        os.kill(watcher, signal.SIGKILL)
        time.sleep(chance.uniform(0, 1))
    if victim in ("launcher", "all"):
        launcher.kill()
    if victim == "launcher":
        time.sleep(chance.uniform(0, 0.5))
    os.kill(target, signal.SIGKILL)
    launcher.communicate(timeout=120)
    wait_until(lambda: has_ended(target) and has_ended(watcher))
    (calls, _, _), live = own_counts(counts)
    report = json.loads(hw("report", "--json", trace).stdout)
    seen_calls, _, seen_live = counts_of(report)
    assert has_no_trouble(report)
    assert 0 <= seen_calls - calls <= threads  # a thread may be between the call and its count
    assert all(abs(seen_live[kind][0] - live[kind][0]) <= threads for kind in KINDS)


def test_without_a_packer_it_stops_growing(build, hw, long_run, tmp_path):
    trace, counts = tmp_path / "ring.hwt", tmp_path / "counts"
    launcher = subprocess.Popen([build / "bin/heapwright", "record", "-q", "--keep", "1M", "--max-size", "16M", "-o", trace, "--", long_run, counts, "0", "1", "500"])
    target = child_of(launcher)
    try:
        wait_until(lambda: trace.exists() and has_turned(trace))
        launcher.kill()
        wait_until(lambda: any(silence["why"].startswith("size limit") for silence in json.loads(hw("report", "--json", trace).stdout)["images"][0]["silences"]))
        assert trace.stat().st_blocks * 512 < 30 << 20
        calls = own_counts(counts)[0][0]
        wait_until(lambda: own_counts(counts)[0][0] > calls)
    finally:
        subprocess.run(["kill", "-9", str(target)], check=True)
        launcher.wait(60)
    report = json.loads(hw("report", "--json", trace).stdout)
    assert not any(report[name] for name in TROUBLES if name != "lost_events")
    assert report["allocation_calls"] - report["free_calls"] == report["live_blocks_at_end"]


def test_a_trace_without_a_name_is_a_ring_too(build, long_run, tmp_path):
    """The packer goes on after the file was renamed."""
    trace, moved = tmp_path / "ring.hwt", tmp_path / "moved.hwt"
    launcher = subprocess.Popen([build / "bin/heapwright", "record", "-q", "--keep", "1M", "-o", trace, "--", long_run, tmp_path / "counts", "0", "1", "500"])
    target = child_of(launcher)
    try:
        wait_until(lambda: trace.exists() and has_section(trace))
        trace.rename(moved)
        wait_until(lambda: has_turned(moved))
    finally:
        subprocess.run(["kill", "-9", str(target)], check=True)
        launcher.wait(60)


OLD_THINGS = r"""
#include <heapwright/monitor.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void *volatile sink;
__attribute__((noinline)) static void *old_block(size_t size) { void *block = malloc(size); __asm__ volatile(""); return block; }
__attribute__((noinline)) static void churn(long rounds)
{
  void *held[64] = {0};
  unsigned random = 1;
  for (long i = 0; i < rounds; i++) {
    random = random * 1664525 + 1013904223;
    free(held[random >> 26]);
    held[random >> 26] = malloc(16 + (random >> 8) % 5000);
  }
  for (int i = 0; i < 64; i++)
    free(held[i]);
}
int main(void)
{
  static char arena[4096];
  struct hw_custom_heap heap = hw_custom_heap_create("arena");
  hw_custom_heap_alloc(&heap, arena, 100);
  hw_custom_heap_alloc(&heap, arena + 200, 50);
  struct hw_scope finished = hw_scope_begin("finished");
  free(old_block(11));
  hw_scope_end(finished);
  void *a = old_block(1001), *b = old_block(1002), *c = old_block(1003), *d = old_block(1004);
  sink = d;
  struct hw_scope open_scope = hw_scope_begin("open");
  churn(1500000);
  free(a);
  b = realloc(b, 2002);
  sink = c;
  hw_custom_heap_free(&heap, arena);
  churn(1000);
  pid_t child = fork();
  if (child == 0) {
    sink = old_block(3003);
    churn(1500000);
    _exit(0);
  }
  waitpid(child, NULL, 0);
  sink = old_block(1005);
  hw_scope_end(open_scope);
  return 0;
}
"""


def stacks_with(report, function):
    return [stack for stack in report["top"] if any(frame.get("function") == function for frame in stack["stack"])]


def test_old_things_live_on(record, compile_c, hw, tmp_path, build):
    """Blocks of all ages, an old block that is freed and one that moves, heaps and scopes, and a forked child."""
    include = Path(__file__).parent.parent.parent / "include"
    recording = record([compile_c(OLD_THINGS, "-O1", "-g", f"-I{include}", name="old")], "--keep", "1M")
    report = json.loads(hw("report", "--json", recording.trace).stdout)
    assert has_no_trouble(report) and report["dropped_until_ns"]
    old = stacks_with(report, "old_block")
    assert sum(stack["live_bytes"] for stack in old) in (1003 + 1004 + 1005, 3003)
    everyone = json.loads(hw("report", "--json", "--children", recording.trace).stdout)
    assert sum(stack["live_bytes"] for stack in stacks_with(everyone, "old_block")) == 1003 + 1004 + 1005 + 3003
    assert [image["unmatched_frees"] for image in everyone["images"]] == [0, 0]
    parent = json.loads(hw("report", "--json", "--pid", str(everyone["images"][0]["pid"]), recording.trace).stdout)
    assert [(heap["name"], heap["live_blocks_at_end"], heap["live_bytes_at_end"]) for heap in parent["heaps"]] == [("arena", 1, 50)]
    assert ["open"] in [scope["path"] for scope in parent["scopes"]]
    assert any(stack["live_bytes"] == 2002 for stack in parent["top"])


def test_what_needs_every_event_says_so(record, long_run, hw, tmp_path):
    trace = record([long_run, tmp_path / "counts", ROUNDS, "1", "0"], "--keep", "1M").trace
    said = hw("report", trace).stdout
    assert "Kept: the events from " in said and "of before: what still lives, and totals" in said and " dropped" in said
    for arguments in (("report", "--from", "0s", trace), ("report", "--to", "1ms", trace), ("report", "--at", "1ms", trace),
                      ("tune", trace), ("tune", "--classes", trace), ("export", trace, "-o", tmp_path / "x.massif")):
        done = hw(*arguments)
        assert done.returncode == 2 and "were dropped (record --keep)" in done.stderr
    for arguments in (("export", trace, "-o", tmp_path / "x.pb.gz"), ("report", trace, "-o", tmp_path / "x.html"), ("diff", trace, trace),
                      ("report", "--from", "99%", trace), ("report", "--leaks", trace), ("check", trace, "--max", "peak=1GB")):
        assert hw(*arguments).returncode == 0


@pytest.fixture
def disk_of_small_files(tmp_path):
    """An ext2 with blocks of 1 KiB has files of at most 16 GiB."""
    disk, image = tmp_path / "ext2", tmp_path / "image"
    disk.mkdir()
    image.touch()
    os.truncate(image, 64 << 20)
    if subprocess.run(f"mkfs.ext2 -q -b 1024 {image} && mount -o loop {image} {disk}", shell=True, capture_output=True).returncode:
        pytest.skip("cannot mount an ext2 here")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_where_files_are_small(record, long_run, tmp_path, disk_of_small_files):
    recording = record([long_run, tmp_path / "counts", "2000000", "1", "0"], "--keep", "1M", trace=disk_of_small_files / "x.hwt")
    assert recording.report["dropped_until_ns"] > 0 and has_no_trouble(recording.report)


@pytest.mark.parametrize("keep", ["1M", "64M"])
def test_a_full_disk_while_it_turns(record, long_run, hw, tmp_path, keep):
    """Recording stops cleanly: up to then all is exact."""
    counts = tmp_path / "counts"
    with small_disk(tmp_path / "disk", "6m") as disk:
        recording = record([long_run, counts, "6000000", "1", "0"], "--keep", keep, "--max-size", "1G", trace=disk / "x.hwt")
        (calls, _, _), live = own_counts(counts)
        report = recording.report
        assert recording.process.returncode == 0 and calls > 1000000
        lost = report["lost_events"]
        assert not any(report[name] for name in TROUBLES if name != "lost_events")
        if lost:
            assert report["images"][0]["silences"][-1]["why"] == "disk full"
            assert report["allocation_calls"] - report["free_calls"] == report["live_blocks_at_end"]
        else:
            assert counts_of(report)[0] == calls and counts_of(report)[2] == live


@pytest.mark.parametrize("value, error", [("10m", "m is minutes or MiB"), ("0s", "at least 1s"), ("0.5s", "at least 1s"), ("100K", "at least 1M"),
                                          ("0", "a time such as 10min"), ("soon", "a time such as 10min"), ("", "a time such as 10min"), ("5", "a time such as 10min")])
def test_wrong_values(hw, value, error):
    done = hw("record", "--keep", value, "--", "true")
    assert done.returncode == 125 and error in done.stderr


def test_not_without_packing(hw):
    done = hw("record", "--keep", "1h", "--no-pack", "--", "true")
    assert done.returncode == 125 and "--no-pack" in done.stderr
