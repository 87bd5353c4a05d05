"""test_spans.py - a part of a run, or of its processes and threads, has the same figures in every format as in the
report
"""

import json
import re
import shutil
import sqlite3
import subprocess

import pytest
from pprof_file import Pprof

WAVES = r"""
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#define CALLED __attribute__((noipa))
static void wait_ms(long ms) { nanosleep(&(struct timespec){0, ms * 1000000}, NULL); }
static void mark(void)
{
  char byte = '.';
  if (write(1, &byte, 1) != 1 || read(0, &byte, 1) != 1)
    _exit(1);
}
CALLED void *early(size_t size) { return malloc(size); }
CALLED void *middle(size_t size) { return malloc(size); }
CALLED void *late(size_t size) { return malloc(size); }
static void *work(void *unused) { pthread_setname_np(pthread_self(), "worker"); (void)unused; return middle(50); }
int main(void)
{
  void *volatile kept[64];
  for (int i = 0; i < 10; i++)
    kept[i] = early(1000);
  mark();
  wait_ms(40);
  for (int i = 0; i < 5; i++)
    free(kept[i]);
  for (int i = 20; i < 40; i++)
    kept[i] = middle(100 + i);
  pthread_t thread;
  pthread_create(&thread, NULL, work, NULL);
  pthread_join(thread, NULL);
  for (int i = 20; i < 30; i++)
    free(kept[i]);
  mark();
  kept[50] = late(100000);
  return kept[50] == NULL;
}
"""

PARTS = [
    ["--from", "first", "--to", "second"],
    ["--to", "first"],
    ["--from", "second"],
    ["--at", "first"],
    ["--at", "peak"],
    ["--only", "func=middle"],
    ["--ignore", "func=middle", "--to", "second"],
    ["--thread", "worker"],
    ["--only", "size=100..130", "--from", "first"],
    ["--only", "thread=program", "--ignore", "size=1000"],
]
INTERVALS = [part for part in PARTS if "--at" not in part]
BEGINNINGS = [part for part in INTERVALS if "--from" not in part]


@pytest.fixture(scope="module")
def waves(record_with_marks, tmp_path_factory):
    folder = tmp_path_factory.mktemp("waves")
    (folder / "program.c").write_text(WAVES)
    subprocess.run(["gcc", "-std=gnu17", "-D_GNU_SOURCE=", "-O1", "-g", folder / "program.c", "-o", folder / "program", "-pthread"], check=True)
    record_with_marks(folder / "program", folder / "waves.hwt", "first", "second")
    return folder / "waves.hwt"


def name(part):
    return "_".join(part).replace("-", "")


def by_names(part):
    return {"ids": [name(one) for one in part]}


@pytest.mark.parametrize("part", PARTS, **by_names(PARTS))
def test_folded(export, report, waves, part):
    for cost, figure in [("peak", "peak_bytes"), ("live", "live_bytes")] + ([] if "--at" in part else [("calls", "calls")]):
        lines = export(waves, f"{cost}.folded", "--cost", cost, *part).read_text().splitlines()
        assert sum(int(line.rpartition(" ")[2]) for line in lines) == report(waves, *part)["selected"][figure]


@pytest.mark.parametrize("part", PARTS, **by_names(PARTS))
def test_callgrind_and_speedscope(export, report, waves, part):
    shown = report(waves, *part)["selected"]
    summary = re.search(r"^summary: (.*)$", export(waves, "x.callgrind", *part).read_text(), re.M).group(1)
    figures = ["peak_bytes", "live_bytes", "calls", "bytes", "temporary_calls"]
    assert [int(number) for number in summary.split()] == [shown[figure] for figure in figures]
    profiles = json.loads(export(waves, "x.speedscope", *part).read_text())["profiles"]
    assert [profile["endValue"] for profile in profiles] == [sum(profile["weights"]) for profile in profiles]
    assert {profile["endValue"] for profile in profiles} == {shown[figure] for figure in figures}


@pytest.mark.parametrize("part", PARTS, **by_names(PARTS))
def test_pprof(export, report, waves, part):
    shown, found = report(waves, *part)["selected"], Pprof(export(waves, "x.pb.gz", *part))
    figures = {"alloc_objects": "calls", "alloc_space": "bytes", "inuse_objects": "peak_blocks", "inuse_space": "peak_bytes"}
    assert {kind: found.total(kind) for kind in figures} == {kind: shown[figure] for kind, figure in figures.items()}


@pytest.mark.skipif(not shutil.which("go"), reason="go is not installed (golang-go)")
def test_go_reads_a_part_with_the_same_total(export, report, waves, tmp_path):
    done = subprocess.run(["go", "tool", "pprof", "-top", "-sample_index=inuse_space", "-unit", "B", export(waves, "x.pb.gz", *PARTS[0])], capture_output=True,
                          text=True, env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}, timeout=60)
    assert done.returncode == 0, done.stderr
    assert f"of {report(waves, *PARTS[0])['selected']['peak_bytes']}B total" in done.stdout


def test_pprof_says_which_moment(export, waves):
    assert "inuse_*: what was live at 20.0 ms" in Pprof(export(waves, "x.pb.gz", "--at", "20ms")).comments
    interval = Pprof(export(waves, "y.pb.gz", "--from", "20ms", "--to", "30ms"))
    assert "inuse_*: what was live at the peak of the interval from 20.0 ms to 30.0 ms" in interval.comments


@pytest.mark.parametrize("part", PARTS, **by_names(PARTS))
def test_dhat(export, report, waves, part):
    shown = report(waves, *part)
    found = json.loads(export(waves, "x.dhat", *part).read_text())
    for key, figure in [("tb", "bytes"), ("tbk", "calls"), ("gb", "peak_bytes"), ("gbk", "peak_blocks"), ("eb", "live_bytes"), ("ebk", "live_blocks")]:
        assert sum(point[key] for point in found["pps"]) == shown["selected"][figure], key
    length_us = found["te"]
    for point in found["pps"]:
        assert point["mb"] >= max(point["gb"], point["eb"]) and 0 <= point["tl"] <= (point["tbk"] + point["mbk"]) * length_us


def test_dhat_s_lifetimes_are_of_the_interval(export, report, waves):
    """Ten blocks live through the interval's first 40 ms; half of them are freed then."""
    found = json.loads(export(waves, "x.dhat", "--from", "first", "--to", "second", "--only", "func=early").read_text())
    point = found["pps"][0]
    assert (point["tb"], point["mb"], point["mbk"], point["eb"]) == (0, 10000, 10, 5000)
    first, second = (mark["time_ns"] / 1000 for mark in report(waves)["images"][0]["marks"])
    assert 5 * (second - first) + 5 * 40000 < point["tl"] < 10 * (second - first)


@pytest.mark.parametrize("part", PARTS, **by_names(PARTS))
def test_tables(export, report, waves, part):
    shown = report(waves, *part)
    database = sqlite3.connect(export(waves, "x.sqlite", *part))
    one = lambda query: database.execute(query).fetchone()
    assert database.execute("PRAGMA foreign_key_check").fetchall() == []
    selected = shown["selected"]
    whole = tuple(selected[figure] for figure in ["calls", "peak_blocks", "live_blocks"])
    assert one("SELECT sum(calls), sum(peak_blocks), sum(live_blocks) FROM stacks") == whole
    assert one("SELECT sum(calls), sum(peak_blocks), sum(live_blocks) FROM stack_sizes") == whole
    assert one("SELECT sum(calls), sum(peak_blocks), sum(live_blocks) FROM sizes") == whole
    assert one("SELECT sum(calls), sum(peak_blocks), sum(live_blocks) FROM thread_stacks") == whole
    assert one("SELECT sum(allocation_calls), sum(allocated_bytes), sum(peak_bytes) FROM threads") == (
        selected["calls"], selected["bytes"], selected["peak_bytes"])
    sizes = [(size["size"], size["calls"], size.get("own_peak_blocks")) for size in shown["sizes"]]
    assert database.execute("SELECT size, calls, own_peak_blocks FROM sizes ORDER BY size").fetchall() == sizes
    threads = [(thread["tid"], thread.get("free_calls")) for thread in shown["by_thread"]]
    assert database.execute("SELECT tid, free_calls FROM threads ORDER BY id").fetchall() == threads


def test_what_is_not_known_of_a_part_is_empty(export, waves):
    rows = export(waves, "x.csv", "--thread", "worker").read_text().splitlines()
    row = dict(zip(rows[0].split(","), rows[1].split(",")))
    assert row["calls"] == "1" and row["own_peak_bytes"] == row["first_ns"] == ""


def counters(path, counter):
    events = json.loads(path.read_text())["traceEvents"]
    return [(event["ts"], event["args"]["bytes"]) for event in events if event["ph"] == "C" and event["name"] == counter]


@pytest.mark.parametrize("part", INTERVALS, **by_names(INTERVALS))
def test_chrome(export, report, waves, part):
    shown = report(waves, *part)
    path = export(waves, "x.trace.json", "--events", "100", *part)
    total = counters(path, "Memory:Total(bytes)")
    from_us, to_us = (shown.get("interval", {}).get(key, default) / 1000 for key, default in [("from_ns", 0), ("to_ns", shown["duration_ns"])])
    assert all(from_us <= at <= to_us + 1 for at, _ in total)
    assert total[-1][1] == shown["selected"]["live_bytes"] and max(value for _, value in total) >= shown["selected"]["peak_bytes"]
    events = json.loads(path.read_text())["traceEvents"]
    assert sum(event.get("cat") == "allocation" for event in events) == shown["selected"]["calls"]
    marker = next(event for event in events if event["name"].startswith("Memory Leaks"))
    assert sum(marker["args"].values()) == shown["selected"]["live_blocks"]


@pytest.mark.parametrize("part", INTERVALS, **by_names(INTERVALS))
def test_massif(export, report, waves, part):
    shown = report(waves, *part)
    text = export(waves, "x.massif", *part).read_text()
    times = [int(at) for at in re.findall(r"^time=(\d+)$", text, re.M)]
    held = [int(size) for size in re.findall(r"^mem_heap_B=(\d+)$", text, re.M)]
    from_ms, to_ms = (shown.get("interval", {}).get(key, default) // 1000000 for key, default in [("from_ns", 0), ("to_ns", shown["duration_ns"])])
    assert times == sorted(times) and times[0] == from_ms and times[-1] == to_ms
    assert held[-1] == shown["selected"]["live_bytes"]
    peak = re.search(r"mem_heap_B=(\d+)\n.*\n.*\nheap_tree=peak", text)
    assert int(peak.group(1)) == shown["selected"]["peak_bytes"]
    if shutil.which("ms_print"):
        done = subprocess.run(["ms_print", export(waves, "y.massif", *part)], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and done.stderr == ""


@pytest.mark.parametrize("part", BEGINNINGS, **by_names(BEGINNINGS))
def test_heaptrack(export, report, waves, part):
    shown = report(waves, *part)["selected"]
    path = export(waves, "x.heaptrack", *part)
    assert len(re.findall(r"^\+ ", path.read_text(), re.M)) == shown["calls"]
    if not shutil.which("heaptrack_print"):
        pytest.skip("heaptrack_print is not installed (heaptrack)")
    done = subprocess.run(["heaptrack_print", path], capture_output=True, text=True, timeout=60)
    assert f"calls to allocation functions: {shown['calls']} " in done.stdout


@pytest.mark.parametrize("part", BEGINNINGS, **by_names(BEGINNINGS))
def test_heaplog(hw, export, report, waves, tmp_path, part):
    """Read back, it has the same figures."""
    again = tmp_path / "again.hwt"
    done = hw("import", export(waves, "x.heaplog", *part), "-o", again)
    assert done.returncode == 0, done.stderr
    shown, found = report(waves, *part)["selected"], report(again)
    assert (found["allocation_calls"], found["live_bytes_at_end"]) == (shown["calls"], shown["live_bytes"])


@pytest.mark.parametrize("format", ["heaptrack", "heaplog", "chrome", "massif"])
def test_what_a_format_cannot_hold_is_refused(hw, waves, tmp_path, format):
    done = hw("export", waves, "-o", tmp_path / "x", "--format", format, "--at", "first")
    assert done.returncode == 2 and not (tmp_path / "x").exists()
    assert done.stderr.startswith(f"heapwright: {format} goes along the time of a run and cannot hold one moment (--at); these formats can: pprof, folded,")
    assert "chrome" not in done.stderr.partition("these formats can")[2]
    done = hw("export", waves, "-o", tmp_path / "x", "--format", format, "--from", "first")
    if format in ["heaptrack", "heaplog"]:
        assert done.returncode == 2 and "holds each block from its allocation on" in done.stderr and "massif" in done.stderr
    else:
        assert done.returncode == 0


def test_a_choice_of_nothing_is_told(hw, waves, tmp_path):
    done = hw("export", waves, "-o", tmp_path / "x.folded", "--only", "func=erly")
    assert done.returncode == 0 and (tmp_path / "x.folded").read_text() == ""
    assert done.stderr == ("heapwright: func=erly matches nothing in this recording; did you mean func=early?\n"
                           "heapwright: nothing of the run is selected\n")


def test_a_cost_that_a_moment_has_not_is_refused(hw, waves, tmp_path):
    done = hw("export", waves, "-o", tmp_path / "x.folded", "--at", "peak", "--cost", "calls")
    assert done.returncode == 2 and "--at shows what was live" in done.stderr
