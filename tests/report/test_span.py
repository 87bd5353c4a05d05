"""test_span.py - report --from, --to and --at, on a program whose phases are known

Breaks if the calls within an interval, or the blocks from before it, are wrong; or if a moment given as a time, a
share, the peak or the end is. The moments come from the report of the whole run, so that nothing depends on how long
things take.
"""

import re

import pytest

# docs/questions.md shows this program: change both together.
PHASES = """
#include <pthread.h>
#include <stdlib.h>

static void *kept[50], *cache[7];

__attribute__((noinline)) void *load(void)  { return malloc(1000); }
__attribute__((noinline)) void *parse(void) { return malloc(64); }
__attribute__((noinline)) void *store(void) { return malloc(5000); }

static void *work(void *unused)
{
  for (int i = 0; i < 7; i++) {
    for (int k = 0; k < 100; k++)
      free(parse());
    cache[i] = store();
  }
  return unused;
}

int main(void)
{
  for (int i = 0; i < 50; i++)
    kept[i] = load();
  pthread_t worker;
  pthread_create(&worker, NULL, work, NULL);
  pthread_join(worker, NULL);
  for (int i = 0; i < 40; i++)
    free(kept[i]);
  free(malloc(10));
  return 0;
}
"""
FUNCTIONS = ("load", "parse", "store")
SUMS = ("allocation_calls", "free_calls", "failed_calls", "allocated_bytes", "temporary_calls")


@pytest.fixture
def recording(record, compile_c):
    return record([compile_c(PHASES, "-O1", "-fno-builtin", "-fno-optimize-sibling-calls", "-g", "-pthread")])


def by_function(report):
    """The stacks of the program's own functions."""
    found = {}
    for stack in report["top"]:
        for frame in stack["stack"][:2]:
            if frame["function"] in FUNCTIONS:
                assert frame["function"] not in found
                found[frame["function"]] = stack
    return found


def test_an_interval(recording):
    whole = by_function(recording.report)
    start, end = whole["parse"]["first_ns"], whole["store"]["last_ns"] + 1
    part = recording.report_with("--from", f"{start}ns", "--to", f"{end}ns")
    stacks = by_function(part)
    assert part["interval"]["from_ns"] == start and part["interval"]["to_ns"] == end
    assert (stacks["parse"]["calls"], stacks["parse"]["free_calls"], stacks["parse"]["peak_blocks"]) == (700, 700, 0)
    assert (stacks["store"]["calls"], stacks["store"]["live_blocks"], stacks["store"]["free_calls"]) == (7, 7, 0)
    assert (stacks["load"]["calls"], stacks["load"]["live_blocks_at_start"], stacks["load"]["live_blocks"]) == (0, 50, 50)
    assert stacks["load"]["peak_bytes"] == 50 * 1000 and stacks["store"]["peak_bytes"] == 7 * 5000
    assert start <= part["timeline"][0]["time_ns"] and sum(s["allocation_calls"] for s in part["timeline"]) == part["allocation_calls"]
    after = by_function(recording.report_with("--from", f"{end}ns"))
    assert (after["load"]["free_calls"], after["load"]["live_blocks"]) == (40, 10) and "parse" not in after


def test_who_allocates_within_comes_first(recording, hw):
    """In the order by the peak, blocks from before the interval used to come first, and blocks that were freed
    before the peak to be left out."""
    whole = by_function(recording.report)
    start, end = whole["parse"]["first_ns"], whole["store"]["last_ns"] + 1
    span = ("--from", f"{start}ns", "--to", f"{end}ns")
    stacks = by_function(recording.report_with(*span))
    assert list(stacks) == ["parse", "store", "load"]
    text = hw("report", *span, recording.trace).stdout
    assert "Top stacks by allocations" in text and " parse " in text and " store " in text and " load " not in text
    text = hw("report", *span, "--cost", "peak", recording.trace).stdout
    assert " load " in text and " parse " not in text
    assert "allocated, with nothing live at the peak (--cost calls)" in text


@pytest.mark.parametrize("cut", ["37%", "peak", "1us", "end"])
def test_intervals_add_up(recording, cut):
    whole = recording.report
    first = recording.report_with("--to", cut)
    if cut == "end":
        second = {name: 0 for name in SUMS}
    else:
        second = recording.report_with("--from", cut)
        assert second["interval"]["live_bytes_at_start"] == first["live_bytes_at_end"]
        assert second["live_bytes_at_end"] == whole["live_bytes_at_end"]
        assert max(first["peak_bytes"], second["peak_bytes"]) == whole["peak_bytes"]
    for name in SUMS:
        both = first[name] + second[name]
        assert both == whole[name] or (name == "temporary_calls" and both == whole[name] - 1)  # one may cross the cut


def test_moments(recording):
    whole = recording.report
    peak = recording.report_with("--at", "peak")
    assert peak["moment"]["time_ns"] == whole["peak_time_ns"] and peak["allocation_calls"] == 0
    assert peak["live_bytes_at_end"] == whole["peak_bytes"] and peak["timeline"] == []
    assert {n: s["peak_bytes"] for n, s in by_function(peak).items()} == {"load": 50 * 1000, "store": 7 * 5000}
    end = recording.report_with("--at", "end")
    assert end["live_bytes_at_end"] == whole["live_bytes_at_end"]
    moment = by_function(whole)["load"]["last_ns"]
    assert by_function(recording.report_with("--at", f"{moment}ns"))["load"]["live_blocks"] == 50
    before = by_function(recording.report_with("--at", f"{moment - 1}ns"))
    assert 40 <= before["load"]["live_blocks"] < 50 and "store" not in before  # a few may have the last one's tick


def test_text_says_which_part(recording, hw):
    text = hw("report", "--at", "peak", "--by", "function", recording.trace).stdout
    assert "At " in text and "live in 5" in text and "Functions at " in text and re.search(r" load\s", text)
    assert "allocations" not in text and "at the end" not in text
    text = hw("report", "--from", "1us", "--to", "90%", "--leaks", recording.trace).stdout
    assert "From 1 us to " in text or "From 1.0 us to " in text, text
    assert "Still allocated at " in text and "at the end" not in text
    assert "What stands out" not in text


@pytest.mark.parametrize("options,complaint", [
    (["--at", "5s", "--from", "1s"], "--at shows a moment"),
    (["--from", "2s", "--to", "1s"], "the interval from 2s to 1s ends before it begins"),
    (["--from", "10h"], "--from 10h: the recording ends at "),
    (["--at", "10h"], "--at 10h: the recording ends at "),
    (["--at", "soon"], "--at: 'soon' is no moment: it is a time such as 5s"),
    (["--at", "peak", "--cost", "calls"], "--at shows what was live: leave --cost out"),
])
def test_what_cannot_be(recording, hw, options, complaint):
    done = hw("report", *options, recording.trace)
    assert done.returncode == 2 and complaint in done.stderr and done.stdout == ""
