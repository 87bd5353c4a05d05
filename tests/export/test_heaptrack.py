"""test_heaptrack.py - heaptrack_print reads what is exported, and finds the report's totals, stack by stack"""

import re
import shutil
import subprocess

import pytest

needs_heaptrack = pytest.mark.skipif(not shutil.which("heaptrack_print"), reason="heaptrack is not installed")


def heaptrack_print(path, *options):
    done = subprocess.run(["heaptrack_print", *options, path], capture_output=True, timeout=60)
    assert done.returncode == 0 and done.stderr == b"", done.stderr
    return done.stdout.decode("utf-8")


def costs(path, kind):
    """[(stack, outermost first, figure)] as heaptrack_print sums them up."""
    target = path.with_suffix(".stacks")
    heaptrack_print(path, "-F", target, "--flamegraph-cost-type", kind)
    return [(line.rsplit(" ", 1)[0], int(line.rsplit(" ", 1)[1])) for line in target.read_text().splitlines()]


@needs_heaptrack
@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_heaptrack_print_finds_the_same_totals(export, report, tracks, suffix):
    shown, path = report(tracks), export(tracks, "x.heaptrack" + suffix)
    for kind, name in [("allocations", "allocation_calls"), ("temporary", "temporary_calls"), ("leaked", "live_bytes_at_end"), ("peak", "peak_bytes")]:
        assert sum(cost for _, cost in costs(path, kind)) == shown[name], kind


@needs_heaptrack
def test_stacks_and_inlined_frames(export, tracks):
    path = export(tracks, "x.heaptrack")
    stack, cost = max(costs(path, "allocations"), key=lambda item: item[1])
    assert cost == 1000 and "start_thread" in stack and "work (program.c);" in stack
    text = heaptrack_print(path).split("MOST CALLS TO ALLOCATION FUNCTIONS")[1]
    assert re.search(r"inlined\n  at \S*program.c:8\n  in \S*program\n(1000 calls.*:\n +)?churn\n +at \S*program.c:14\n", text), text


@needs_heaptrack
def test_choices(export, report, tracks):
    path = export(tracks, "x.heaptrack", "--thread", "wor*")
    assert sum(cost for _, cost in costs(path, "allocations")) == sum(s["calls"] for s in report(tracks, "--thread", "wor*")["top"])
    assert sum(cost for _, cost in costs(path, "leaked")) == 512


@needs_heaptrack
def test_strange_names(export, evil):
    path = export(evil, "x.heaptrack")
    text = heaptrack_print(path)
    assert "evil\"quo'ted\";<>alert(1)<>" in text  # heaptrack_print shortens what looks like a template
    assert "\\nand a line" in text
    assert sum(cost for _, cost in costs(path, "peak")) >= 1000


def test_every_event_is_there_in_order(export, report, tracks):
    """Without heaptrack: what the lines add up to."""
    shown = report(tracks)
    sizes, level, peak, calls, frees, last_ms = [], 0, 0, 0, 0, -1
    for line in export(tracks, "x.heaptrack").read_text().splitlines():
        kind, *fields = line.split(" ")
        if kind == "a":
            sizes.append(int(fields[0], 16))
        elif kind == "+":
            calls += 1
            level += sizes[int(fields[0], 16)]
            peak = max(peak, level)
        elif kind == "-":
            frees += 1
            level -= sizes[int(fields[0], 16)]
        elif kind == "c":
            assert int(fields[0], 16) > last_ms
            last_ms = int(fields[0], 16)
    assert (calls, frees, level, peak) == (shown["allocation_calls"], shown["free_calls"], shown["live_bytes_at_end"], shown["peak_bytes"])
    assert last_ms == shown["duration_ns"] // 1000000


def test_one_process_only(hw, tracks, tmp_path):
    done = hw("export", tracks, "-o", tmp_path / "x.heaptrack", "--children")
    assert done.returncode == 2 and "heaptrack holds one process" in done.stderr
