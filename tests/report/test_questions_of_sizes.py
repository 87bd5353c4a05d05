"""test_questions_of_sizes.py - block sizes over time, the bytes that rounding adds, and memory in no block, with known
answers

Breaks if the slack of a size or a stack is wrong, or there is a finding without a reason; if a class of sizes, or
its figure at a moment, is wrong; or if the wrong part of a gap is named.
"""

import re

import pytest

from waiting import HOLD, is_looked_at

# docs/questions.md shows these programs, which sleep there: change both together.

SLACK = """
#include <stdlib.h>

static void *volatile kept;

__attribute__((noinline)) void *tiny(void) { return malloc(9); }
__attribute__((noinline)) void *page_and_one(void) { return malloc(1048577); }
__attribute__((noinline)) void *fitting(void) { return malloc(1048576 - 24); }

int main(void)
{
  for (int i = 0; i < 100000; i++)
    kept = tiny();
  kept = page_and_one();
  kept = fitting();
}
"""

PHASES = """
#include <stdlib.h>
#include <unistd.h>

static void *blocks[100], *volatile kept;

int main(void)
{
  for (int i = 0; i < 100; i++)
    blocks[i] = malloc(1000);
  HOLD;
  for (int i = 0; i < 50; i++)
    free(blocks[i]);
  kept = malloc(40);
  HOLD;
}
"""

GAP = """
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCKS = 100000, BYTES = 1000 };
static char *blocks[BLOCKS], *volatile table;

int main(void)
{
  for (int i = 0; i < BLOCKS; i++)
    memset(blocks[i] = malloc(BYTES), 1, BYTES);
  for (int i = 0; i < BLOCKS; i++)  // every fifth stays, so that no page becomes empty
    if (i % 5)
      free(blocks[i]);
  HOLD;
  table = calloc(120000000, 1);      // never touched: the most is asked for now, and not resident
  HOLD;
  return blocks[0][0] != 1;
}
"""

EMPTIED = """
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCKS = 100000, BYTES = 1000 };
static char *blocks[BLOCKS];

int main(void)
{
  for (int i = 0; i < BLOCKS; i++)
    memset(blocks[i] = malloc(BYTES), 1, BYTES);
  HOLD;
  for (int i = 0; i < BLOCKS; i++)
    if (i % 5)
      free(blocks[i]);
  HOLD;
  return blocks[0][0] != 1;
}
"""

# Like a virtual machine that has its own heap.
MAPPED = """
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BYTES = 100000000 };

int main(void)
{
  char *volatile block = malloc(1000);
  void *heap = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(heap, 1, BYTES);
  HOLD;
  free(block);
}
"""


def test_slack(record, compile_c, hw):
    recording = record([compile_c(SLACK)])
    report = recording.report
    sizes = {size["size"]: size for size in report["sizes"]}
    assert sizes[9]["peak_usable_bytes"] == 100000 * 24
    assert sizes[1048577]["peak_usable_bytes"] == 1052672 - 16
    assert sizes[1048552]["peak_usable_bytes"] == 1048576 - 16  # with glibc's overhead it fills its pages
    stacks = {stack["stack"][0]["function"]: stack for stack in report["top"]}
    assert stacks["tiny"]["peak_usable_bytes"] == 100000 * 24
    assert sum(stack["peak_usable_bytes"] for stack in report["top"]) == report["peak_usable_bytes"]
    slack = [finding for finding in report["findings"] if finding["kind"] == "slack"]
    assert len(slack) == 1
    assert (slack[0]["size"], slack[0]["usable_size"], slack[0]["blocks"]) == (9, 24, 100000)
    assert slack[0]["slack_bytes"] == report["peak_usable_bytes"] - report["peak_bytes"] == 100000 * 15 + 4079 + 8
    assert slack[0]["stack"][0]["function"] == "tiny"
    text = hw("report", recording.trace, env={"COLUMNS": "200", "PATH": "/bin"}).stdout
    assert "most by 100,000 blocks of 9 bytes, which take 24" in text, text
    assert re.search(r"9 B \(100,000\); rounding \+166.7 %", text), text
    assert text.count("; rounding +") == 1  # the line of RSS shows it, too
    table = hw("report", "--by", "size", recording.trace).stdout
    assert next(line for line in table.splitlines() if " 9 B  " in line).split()[-2:] == ["1.5", "MB"]


def test_little_slack_is_no_finding(record, compile_c):
    report = record([compile_c(SLACK.replace("malloc(9)", "malloc(24)"))]).report
    assert report["findings"] == [] or "slack" not in {finding["kind"] for finding in report["findings"]}


def test_no_slack_where_usable_sizes_are_unknown(record, compile_c, hw):
    recording = record([compile_c(SLACK)], "--no-usable")
    assert recording.report["peak_usable_bytes"] == 0
    assert "slack" not in {finding["kind"] for finding in recording.report["findings"]}
    assert not re.search(r"slack$", hw("report", "--by", "size", recording.trace).stdout, re.M)


def has_doubled(report):
    """Returns whether the time since the last mark is as long as all the time before it."""
    return report["duration_ns"] > 2 * report["images"][0]["marks"][-1]["time_ns"]


@pytest.fixture
def phases(record_with_marks, compile_c, tmp_path):
    return record_with_marks(compile_c(PHASES.replace("HOLD", HOLD)), tmp_path / "phases.hwt", "all", "half", until=has_doubled)


def test_sizes_along_time(phases, hw):
    report = phases.report
    series = report["size_classes"]
    assert 2 <= len(series["times_ns"]) <= 200
    assert series["times_ns"] == sorted(set(series["times_ns"]))
    assert series["times_ns"][-1] == report["duration_ns"]
    classes = {item["to_size"]: item for item in series["classes"]}
    thousands = classes[1024]
    assert (thousands["from_size"], thousands["calls"], thousands["live_bytes"]) == (513, 100, 50000)
    along = thousands["live_bytes_along_time"]
    assert len(along) == len(series["times_ns"])
    assert along.count(100000) > 10 and along.count(50000) > 10  # at least a quarter of the time, and a half
    assert along.index(50000) > max(i for i, value in enumerate(along) if value == 100000)
    assert along[-1] == 50000
    assert classes[64]["live_bytes_along_time"][-1] == 40
    assert sum(item["live_bytes_along_time"][-1] for item in series["classes"]) == report["live_bytes_at_end"]
    text = hw("report", "--by", "size", phases.trace, env={"COLUMNS": "160", "LC_ALL": "C.UTF-8", "PATH": "/bin"}).stdout
    bars = next(line for line in text.splitlines() if "513 to 1,024 B" in line)
    assert "██" in bars and bars.endswith("▄▄")


def test_sizes_along_an_interval(phases):
    report = phases.report_with("--from", "75%")
    thousands = next(item for item in report["size_classes"]["classes"] if item["to_size"] == 1024)
    assert set(thousands["live_bytes_along_time"]) == {50000}
    assert report["size_classes"]["times_ns"][0] > report["interval"]["from_ns"]


def test_rss_gap(record_with_marks, compile_c, hw, tmp_path):
    recording = record_with_marks(compile_c(GAP.replace("HOLD", HOLD)), tmp_path / "gap.hwt", "holes", "table", until=is_looked_at)
    gaps = [finding for finding in recording.report["findings"] if finding["kind"] == "rss_gap"]
    assert len(gaps) == 1
    assert gaps[0]["part"] == "free_bytes"
    assert gaps[0]["part_bytes"] == pytest.approx(80000 * 1008, rel=0.1)
    assert gaps[0]["part_bytes"] <= gaps[0]["gap_bytes"] < gaps[0]["rss_bytes"]
    text = hw("report", recording.trace, env={"COLUMNS": "200", "PATH": "/bin"}).stdout
    assert re.search(r"RSS gap +[0-9.]+ MB of the [0-9.]+ MB resident at the peak is in no block", text), text
    assert "free inside the allocator" in text


def test_rss_gap_behind_the_peak(record_with_marks, compile_c, hw, tmp_path):
    """A cache that was full and is now empty: at the peak everything was in blocks."""
    recording = record_with_marks(compile_c(EMPTIED.replace("HOLD", HOLD)), tmp_path / "later.hwt", "full", "holes", until=is_looked_at)
    gap = next(finding for finding in recording.report["findings"] if finding["kind"] == "rss_gap")
    marks = {mark["text"]: mark["time_ns"] for mark in recording.report["images"][0]["marks"]}
    assert gap["part"] == "free_bytes"
    assert gap["part_bytes"] == pytest.approx(80000 * 1008, rel=0.1)
    assert gap["time_ns"] > marks["full"] > recording.report["peak_time_ns"]
    text = hw("report", recording.trace, env={"COLUMNS": "200", "PATH": "/bin"}).stdout
    assert re.search(r"RSS gap +[0-9.]+ MB of the [0-9.]+ MB resident at [0-9.]+ \w+ is in no block", text), text


def test_rss_gap_of_what_is_mapped(record_with_marks, compile_c, hw, tmp_path):
    """glibc's malloc has no large mappings except blocks and arenas."""
    recording = record_with_marks(compile_c(MAPPED.replace("HOLD", HOLD)), tmp_path / "mapped.hwt", "held", until=is_looked_at)
    gap = next(finding for finding in recording.report["findings"] if finding["kind"] == "rss_gap")
    assert gap["part_bytes"] == pytest.approx(100000000, rel=0.1)
    assert gap["part"] == "own_mapped_bytes"
    assert gap["text"].endswith(" is mapped by the program itself")
    text = " ".join(hw("report", recording.trace).stdout.split())
    assert re.search(r"asked for [^=]*\+ (99\.\d|100\.\d) MB mapped by the program itself \+", text), text


def test_rss_gap_of_what_is_mapped_on_another_allocator(record_until, compile_c, hw):
    """Allocators other than glibc's may have mappings of any size."""
    def is_found(report):
        return any(finding["kind"] == "rss_gap" for finding in report["findings"])

    recording = record_until(is_found, [compile_c(MAPPED.replace("HOLD", HOLD))], "--allocator", "jemalloc")
    text = " ".join(hw("report", recording.trace).stdout.split())
    assert "free inside the allocator, or mapped by the program itself" in text, text
    assert re.search(r"MB free in the allocator or mapped by the program itself \+", text), text
    assert re.search(r"Evidence: .*; malloc of libjemalloc\.so", text), text
    notes = recording.report["images"][0]["notes"]
    assert [note["text"].rsplit("/")[-1] for note in notes if note["kind"] == "allocator"] == ["libjemalloc.so.2"]
