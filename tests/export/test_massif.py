"""test_massif.py - ms_print reads the snapshots, and their figures are the report's"""

import re
import shutil
import subprocess

import pytest

needs_ms_print = pytest.mark.skipif(not shutil.which("ms_print"), reason="ms_print is not installed (valgrind)")


def snapshots(path):
    found = []
    for part in path.read_text().split("#-----------\nsnapshot=")[1:]:
        found.append({key: value for key, value in re.findall(r"^(\w+)=(.*)$", "snapshot=" + part, re.M)})
        found[-1]["tree"] = [re.fullmatch(r"( *)n(\d+): (\d+)(.*)", line).groups() for line in re.findall(r"^ *n\d+: .*$", part, re.M)]
    return found


def check_tree(tree):
    """Every node has as many children as it says, and they hold no more than it does."""

    def walk(at, depth):
        indent, children, size, _ = tree[at]
        assert len(indent) == depth
        at, held = at + 1, 0
        for _ in range(int(children)):
            held += int(tree[at][2])
            at = walk(at, depth + 1)
        assert held <= int(size)
        return at

    assert walk(0, 0) == len(tree)


def test_snapshots_are_the_report_s(export, report, tracks):
    shown, found = report(tracks), snapshots(export(tracks, "x.massif"))
    assert [int(snapshot["snapshot"]) for snapshot in found] == list(range(len(found)))
    times = [int(snapshot["time"]) for snapshot in found]
    assert times == sorted(times) and times[-1] == shown["duration_ns"] // 1000000
    peaks = [snapshot for snapshot in found if snapshot["heap_tree"] == "peak"]
    assert len(peaks) == 1 and int(peaks[0]["mem_heap_B"]) == shown["peak_bytes"]
    assert int(peaks[0]["mem_heap_extra_B"]) == shown["peak_usable_bytes"] - shown["peak_bytes"]
    assert max(int(snapshot["mem_heap_B"]) for snapshot in found) == shown["peak_bytes"]
    assert int(found[-1]["mem_heap_B"]) == shown["live_bytes_at_end"] and found[-1]["heap_tree"] == "detailed"
    for snapshot in found:
        assert (snapshot["tree"] == []) == (snapshot["heap_tree"] == "empty")
        if snapshot["tree"]:
            check_tree(snapshot["tree"])
            assert snapshot["tree"][0][2] == snapshot["mem_heap_B"]


@needs_ms_print
def test_ms_print_reads_it(export, report, tracks):
    shown = report(tracks)
    done = subprocess.run(["ms_print", export(tracks, "x.massif")], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert f"{shown['peak_bytes']:,}" in done.stdout and "(peak)" in done.stdout
    assert re.search(r"\(301,920B\) 0x[0-9A-F]+: keep \(program\.c:7\)", done.stdout)
    assert re.search(r"->[\d.]+% \(300,000B\) 0x[0-9A-F]+: main \(program\.c:\d+\)", done.stdout)


@needs_ms_print
def test_strange_names(export, evil):
    done = subprocess.run(["ms_print", "--threshold=0", export(evil, "x.massif")], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert "evil\"quo'ted\";<script>alert(1)</script>" in done.stdout
    assert "not utf-8 \\xff\\nand a line" in done.stdout


def test_deep_and_wide_trees(export, record, report, compile_c):
    """Trees end at 30 frames, and small nodes are summed up; the sums still match."""
    program = compile_c("""
#include <stdlib.h>
static void *volatile block;
__attribute__((noinline)) void down(int depth) { if (depth) { down(depth - 1); } else { block = malloc(1000); } __asm__ volatile(""); }
#define SMALL(n) __attribute__((noinline)) void small##n(void) { block = malloc(1 + n); }
SMALL(1) SMALL(2) SMALL(3)
int main(void) { down(100); block = malloc(5000); small1(); small2(); small3(); return 0; }
""")
    recording = record([program])
    found = snapshots(export(recording.trace, "x.massif"))
    tree = found[-1]["tree"]
    check_tree(tree)
    assert max(len(node[0]) for node in tree) <= 31
    assert any(node[2] == "9" and "in 3 places, all below massif's threshold" in node[3] for node in tree)
