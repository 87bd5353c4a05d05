"""test_heaptrack.py - heaptrack_print reads the exported file, and finds the report's totals, stack by stack"""

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
    """Returns [(stack, outermost first, figure)], as heaptrack_print sums them up."""
    target = path.with_suffix(".stacks")
    heaptrack_print(path, "-F", target, "--flamegraph-cost-type", kind)
    return [(line.rsplit(" ", 1)[0], int(line.rsplit(" ", 1)[1])) for line in target.read_text().splitlines()]


@needs_heaptrack
@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_heaptrack_print_finds_the_same_totals(export, report, tracks, suffix):
    shown, path = report(tracks), export(tracks, "x.heaptrack" + suffix)
    for kind, name in [("allocations", "allocation_calls"), ("temporary", "temporary_calls"), ("leaked", "live_bytes_at_end"), ("peak", "peak_bytes")]:
        assert sum(cost for _, cost in costs(path, kind)) == shown[name], kind


TEMPORARY = """
#include <stdlib.h>
static void *volatile first, *volatile second;
__attribute__((noinline)) void *lasting(void) { return malloc(100); }
__attribute__((noinline)) void *brief(void) { return malloc(200); }
int main(void)
{
  for (int i = 0; i < 1000; i++) {
    first = lasting();
    second = brief();
    free(second);
    free(first);
  }
}
"""


@needs_heaptrack
def test_the_first_stack_has_no_temporary_blocks_that_are_none(export, report, record, compile_c):
    """heaptrack stores the number of the first stack and size where there is "no allocation before"."""
    trace = record([compile_c(TEMPORARY, "-O1", "-fno-builtin")]).trace
    path = export(trace, "x.heaptrack")
    assert sum(cost for _, cost in costs(path, "temporary")) == report(trace)["temporary_calls"] == 1000


@needs_heaptrack
def test_what_heaptrack_suppresses_is_all_that_it_leaves_out(export, report, record):
    """Of a real program, whose libraries it knows."""
    trace = record(["/usr/bin/python3", "-c", "1"]).trace
    path, target = export(trace, "x.heaptrack.zst"), trace.with_suffix(".stacks")
    heaptrack_print(path, "--disable-builtin-suppressions", "-F", target, "--flamegraph-cost-type", "leaked")
    shown = report(trace)
    assert sum(int(line.rsplit(" ", 1)[1]) for line in target.read_text().splitlines()) == shown["live_bytes_at_end"] > 0
    assert sum(cost for _, cost in costs(path, "allocations")) == shown["allocation_calls"] > 1000


def temporary_there(path):
    """heaptrack's rule, as described in docs/formats.md."""
    last, count = None, 0
    for kind, _, pair in (line.partition(" ") for line in path.read_text().splitlines() if line[:2] in ("+ ", "- ")):
        count += kind == "-" and pair == last
        last = pair if kind == "+" else None
    return count


@needs_heaptrack
def test_temporary_allocations_by_heaptracks_rule(export, record):
    path = export(record(["/usr/bin/python3", "-c", "1"]).trace, "x.heaptrack")
    assert sum(cost for _, cost in costs(path, "temporary")) == temporary_there(path) > 0


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
    assert "evil\"quo'ted\";<>alert(1)<>" in text  # heaptrack_print shortens names that look like templates
    assert "\\nand a line" in text
    assert sum(cost for _, cost in costs(path, "peak")) >= 1000


def test_every_event_is_there_in_order(export, report, tracks):
    """Without heaptrack: the sums of the lines."""
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
