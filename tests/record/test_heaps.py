"""Heaps that a program gives out itself, and reports with heapwright/monitor.h.

If this fails, what an arena or a pool of the program holds is wrong in reports, or is added to what malloc gave out.
"""

import csv
import io
import json
import re
import shlex
import signal
import subprocess

import pytest

from conftest import ROOT
from page_document import PLACE

PROGRAM = ROOT / "tests/record/programs/heaps.cc"
FLAGS = ["-std=c++17", "-g", "-pthread", f"-I{ROOT}/include", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]


@pytest.fixture(scope="module", params=["-O0", "-O2"])
def program(request, tmp_path_factory):
    program = tmp_path_factory.mktemp("heaps") / "heaps"
    subprocess.run(["g++", *FLAGS, request.param, str(PROGRAM), "-o", str(program)], check=True)
    return program


@pytest.fixture
def recorded(record, program):
    def run(*words, status=0):
        recording = record([program, *words])
        assert recording.process.returncode == status
        return recording

    return run


def heaps_of(report):
    return {heap["name"]: heap for heap in report.get("heaps", [])}


def figures(of, *keys):
    return tuple(of[key] for key in keys)


def failing(hw, status, *words):
    process = hw(*words)
    assert process.returncode == status
    return process


def report_of(hw, recording, *options):
    return json.loads(hw("report", "--json", *options, recording.trace).stdout)


def document_of(page):
    return json.loads(PLACE.search(page.read_text()).group(1))


def names_of(stack):
    return [frame["function"] for frame in stack["stack"] if not frame["function"].startswith("hw_custom_heap")]


def test_an_arena_has_stacks_and_a_peak_of_its_own(hw, recorded):
    recording = recorded("frames")
    heap = heaps_of(recording.report)["frame arena"]
    assert figures(heap, "created", "allocation_calls", "free_calls", "failed_calls") == (1, 30, 0, 1)
    assert figures(heap, "resets", "reset_blocks", "destroyed") == (1, 15, 0)
    assert figures(heap, "allocated_bytes", "peak_bytes", "peak_blocks", "live_blocks_at_end", "live_bytes_at_end") == (12000, 6000, 15, 15, 6000)
    report = report_of(hw, recording, "--heap", "frame arena")
    assert report["heap"] == "frame arena" and "heaps" not in report
    assert figures(report, "allocation_calls", "free_calls", "failed_calls", "live_bytes_at_end") == (30, 15, 1, 6000)
    stacks = sorted((names_of(stack)[1].split("(")[0], *figures(stack, "calls", "bytes", "live_bytes")) for stack in report["top"])
    assert stacks == [("parse", 10, 1000, 0), ("parse", 10, 1000, 1000), ("render", 5, 5000, 0), ("render", 5, 5000, 5000)]


def test_what_the_arena_takes_from_malloc_counts_there_alone(hw, recorded):
    recording = recorded("frames")
    (block,) = [size for size in recording.report["sizes"] if size["size"] == 1 << 16]
    assert block["calls"] == 1
    assert all(size["size"] not in (100, 1000) for size in recording.report["sizes"])


def test_heaps_with_one_name_and_one_range_of_addresses(hw, recorded):
    recording = recorded("offsets")
    heaps = heaps_of(recording.report)
    assert figures(heaps["gpu"], "created", "allocation_calls", "allocated_bytes") == (2, 201, 100 * 30 + 25)
    assert figures(heaps["gpu"], "free_calls", "unmatched_frees", "missed_frees") == (41, 1, 1)
    assert figures(heaps["gpu"], "live_blocks_at_end", "live_bytes_at_end") == (160, 60 * 10 + 99 * 20 + 25)
    assert figures(heaps["shared"], "destroyed", "reset_blocks", "live_bytes_at_end", "peak_bytes") == (1, 100, 0, 3000)
    totals = report_of(hw, recording, "--heap", "gpu")
    assert figures(totals, "allocation_calls", "free_calls", "unmatched_frees", "missed_frees") == (201, 41, 1, 1)
    assert figures(totals, "live_blocks_at_end", "live_bytes_at_end") == (160, 60 * 10 + 99 * 20 + 25)
    assert report_of(hw, recording, "--heap", "[gs]*")["allocation_calls"] == 301


def test_sixteen_threads_share_a_heap(hw, recorded):
    recording = recorded("threads", "16", "2000")
    heap = heaps_of(recording.report)["shared pool"]
    assert figures(heap, "allocation_calls", "free_calls", "unmatched_frees", "missed_frees") == (32000, 28800, 0, 0)
    left = 16 * sum(i % 100 + 1 for i in range(0, 2000, 10))
    assert figures(heap, "live_blocks_at_end", "live_bytes_at_end") == (3200, left)
    threads = report_of(hw, recording, "--heap", "shared pool")["by_thread"]
    assert sorted(thread["allocation_calls"] for thread in threads) == [2000] * 16


def test_a_block_that_goes_from_thread_to_thread(hw, recorded):
    recording = recorded("exchange", "4", "20000")
    heap = heaps_of(recording.report)["free list"]
    assert figures(heap, "allocation_calls", "free_calls", "unmatched_frees", "missed_frees") == (80000, 80000, 0, 0)
    assert heap["live_blocks_at_end"] == 0 and heap["peak_blocks"] <= 3


@pytest.mark.parametrize("what, ends", [("resets", ("resets", "reset_blocks")), ("handovers", ("free_calls",))])
def test_two_threads_that_take_turns(recorded, what, ends):
    """Their events mostly have equal ticks."""
    heap = heaps_of(recorded(what, "50000").report)["turns"]
    assert {heap[key] for key in ("allocation_calls", *ends)} == {50000}
    assert figures(heap, "missed_frees", "unmatched_frees", "peak_blocks", "live_blocks_at_end") == (0, 0, 1, 0)


def test_a_forked_child_has_blocks_of_its_own(hw, recorded):
    recording = recorded("fork")
    parent = heaps_of(recording.report)["forked"]
    assert figures(parent, "created", "allocation_calls", "free_calls", "live_bytes_at_end") == (1, 10, 0, 1000)
    both = heaps_of(report_of(hw, recording, "--children"))["forked"]
    assert figures(both, "created", "allocation_calls", "free_calls", "unmatched_frees") == (1, 17, 3, 0)
    assert figures(both, "live_blocks_at_end", "live_bytes_at_end") == (17, 1007)
    totals = report_of(hw, recording, "--children", "--heap", "forked")
    assert figures(totals, "allocation_calls", "free_calls", "live_bytes_at_end", "inherited_frees", "unmatched_frees") == (17, 3, 1007, 3, 0)


def test_many_heaps(hw, recorded, tmp_path):
    recording = recorded("many", "3000")
    assert len(recording.report["heaps"]) == 3000
    text = hw("report", recording.trace).stdout
    assert "in 2,990 more heaps (--top 0)" in text
    page = tmp_path / "many.html"
    assert hw("report", "-o", page, recording.trace).returncode == 0
    document = document_of(page)
    assert len(document["heaps"]) == 32 and document["heaps_left_out"] == 3000 - 32


def test_the_largest_peak_comes_first(hw, recorded, tmp_path):
    recording = recorded("peaks")
    names = ["large", "small, early", "small, late"]
    assert [heap["name"] for heap in recording.report["heaps"]] == names
    text = hw("report", recording.trace).stdout
    assert sorted(names, key=text.index) == names


def test_heaps_survive_a_kill(hw, recorded):
    recording = recorded("killed", status=128 + signal.SIGKILL)
    assert figures(heaps_of(recording.report)["killed"], "live_blocks_at_end", "live_bytes_at_end") == (1, 48)


def test_a_heap_that_is_none(recorded):
    heaps = heaps_of(recorded("none").report)
    assert list(heaps) == ["empty"] and heaps["empty"]["created"] == 1 and heaps["empty"]["free_calls"] == 0


def test_every_command_takes_a_heap(hw, recorded, tmp_path):
    recording = recorded("offsets")
    trace = recording.trace
    assert failing(hw, 1, "check", "--heap", "gpu", "--max", "live=1", trace).stdout
    assert hw("check", "--heap", "gpu", "--max", "live=1MB", trace).stdout
    assert "nothing" in hw("diff", "--heap", "gpu", trace, trace).stdout
    folded = hw("export", "--heap", "shared", "--format", "folded", "-o", "-", trace).stdout
    assert folded.split()[-1] == "3000"
    log = hw("export", "--heap", "gpu", "--format", "heaplog", "-o", "-", trace).stdout.splitlines()
    assert {line.split(", ")[2] for line in log if line.startswith("alloc")} == {"1"}  # the alignment
    assert "HEAPWRIGHT_POOL_SIZE=" in hw("tune", "--heap", "gpu", trace).stdout


def test_the_table_of_heaps_is_the_report_s(hw, recorded):
    recording = recorded("frames")
    shown = [{key: str(value) for key, value in heap.items()} for heap in recording.report["heaps"]]
    table = hw("export", "--format", "csv", "--table", "heaps", "-o", "-", recording.trace).stdout
    assert shown and list(csv.DictReader(io.StringIO(table))) == shown


def test_the_page_has_the_heaps(hw, recorded, tmp_path):
    trace = recorded("offsets").trace
    of_run, of_heap = tmp_path / "run.html", tmp_path / "heap.html"
    assert hw("report", "-o", of_run, trace).returncode == 0 and hw("report", "--heap", "gpu", "-o", of_heap, trace).returncode == 0
    assert [heap["name"] for heap in document_of(of_run)["heaps"]] == ["gpu", "shared"]
    assert document_of(of_heap)["heap"] == "gpu" and document_of(of_heap)["run"]["allocation_calls"] == 201


def test_the_example_of_the_page(hw, record, tmp_path):
    page, program = (ROOT / "docs/heaps.md").read_text(), tmp_path / "parse"
    program.with_suffix(".c").write_text(re.search(r"```c\n(.*?)```", page, re.S)[1])
    flags = re.search(r"^\$ gcc (.*?) parse.c", page, re.M)[1].split()
    subprocess.run(["gcc", *flags, f"-I{ROOT}/include", "parse.c", "-o", program], check=True, cwd=tmp_path)
    trace = record([program]).trace
    examples = re.findall(r"^\$ heapwright report ([^\n]*)parse.hwt\n(.*?)^```", page, re.M | re.S)
    assert len(examples) == 2
    for options, shown in examples:
        assert shown in hw("report", *shlex.split(options), trace).stdout


def test_errors(hw, recorded):
    recording = recorded("offsets")
    said = failing(hw, 2, "report", "--heap", "gpus", recording.trace).stderr
    assert "no heap is named 'gpus'; the recording has 'gpu', 'shared'" in said
    assert "leave --heap out" in failing(hw, 2, "report", "--rss", "--heap", "gpu", recording.trace).stderr


def test_heaps_of_a_child(hw, record, program):
    """Without --children and --pid, the process with the heap is shown, and a wrong name is answered with its heaps."""
    trace = record(["sh", "-c", f"{program} none; true"]).trace
    said = failing(hw, 2, "report", "--heap", "emtpy", trace).stderr
    assert "no heap is named 'emtpy'; the recording has 'empty'" in said
    report = json.loads(hw("report", "--json", "--heap", "empty", trace).stdout)
    assert [image["command"].split()[-1] for image in report["images"] if image["counted"]] == ["none"]


def test_no_durations(hw, record, program, tmp_path):
    """Calls of malloc have durations here, those about a heap do not: a budget of them is not kept, but unknown."""
    trace = record([program, "frames"], "--durations").trace
    assert "leave --heap out" in failing(hw, 2, "report", "--durations", "--heap", "frame arena", trace).stderr
    assert "leave --heap out" in failing(hw, 2, "report", "-o", tmp_path / "a.svg", "--chart", "durations", "--heap", "frame arena", trace).stderr
    said = failing(hw, 2, "check", "--heap", "frame arena", "--max", "duration_max=1s", trace).stdout
    assert "the program's own heaps have no durations" in said
    assert hw("report", "--heap", "frame arena", trace).returncode == 0


def test_resident_memory_has_no_parts_of_a_heap(hw, record_until, program):
    """A heap may be outside of what the process has in memory: its blocks are no part of that."""
    recording = record_until(lambda report: any("asked_bytes" in point for point in report["images"][0]["rss"]), [program, "slow"])
    report = report_of(hw, recording, "--heap", "gpu")
    points = report["images"][0]["rss"] + report["rss_along_time"]
    assert points and not any("asked_bytes" in point for point in points)


def test_a_saved_report_is_of_the_same_heap(hw, recorded, tmp_path):
    trace, of_malloc, of_heap = recorded("offsets").trace, tmp_path / "malloc.json", tmp_path / "heap.json"
    assert hw("report", "--json", "-o", of_malloc, trace).returncode == 0
    assert hw("report", "--json", "--heap", "gpu", "-o", of_heap, trace).returncode == 0
    assert "nothing" in hw("diff", "--heap", "gpu", of_heap, trace).stdout
    assert "ok " in hw("check", "--heap", "gpu", "--baseline", of_heap, "--max", "peak=+0%", trace).stdout
    for options, report, said in [
        ([], of_heap, "is a report with --heap 'gpu', which is needed here, too"),
        (["--heap", "shared"], of_heap, "is a report with --heap 'gpu', which is needed here, too"),
        (["--heap", "gpu"], of_malloc, "is a report of malloc; save it with"),
    ]:
        assert said in failing(hw, 2, "diff", *options, report, trace).stderr
        assert said in failing(hw, 2, "check", *options, "--baseline", report, "--max", "peak=+5%", trace).stderr


def test_without_a_recorder(program):
    for case in (["frames"], ["offsets"], ["threads", "4", "100"], ["none"]):
        assert subprocess.run([str(program), *case], capture_output=True, check=True).stdout == b""
