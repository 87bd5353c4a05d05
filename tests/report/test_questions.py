"""test_questions.py - the questions of docs/questions.md, asked about programs whose answers are known

What would break: a figure of a program that does one thing, a known number of times. Times are waited for, never measured:
blocks that were held across a sleep lived at least that long.
"""

import json

import pytest

# docs/questions.md shows these programs: what changes here changes there.

LIFETIMES = """
#include <stdlib.h>
#include <unistd.h>

__attribute__((noinline)) void *at_once(void) { return malloc(100); }
__attribute__((noinline)) void *for_a_moment(void) { return malloc(200); }
__attribute__((noinline)) void *for_ever(void) { return malloc(300); }

static void *kept[40];

int main(void)
{
  for (int i = 0; i < 1000; i++)
    free(at_once());
  for (int i = 0; i < 40; i++)
    kept[i] = for_a_moment();
  for (int i = 0; i < 7; i++)
    *(void *volatile *)&kept[i] = (free(kept[i]), for_ever());
  usleep(20000);
  for (int i = 7; i < 40; i++)
    free(kept[i]);
}
"""


def function_of(stack):
    """The program's function that called the entry point."""
    return next(frame["function"] for frame in stack["stack"] if frame["function"])


def stack_of(report, function):
    """The stack whose memory `function` wanted; there must be one."""
    found = [stack for stack in report["top"] if function in [frame["function"] for frame in stack["stack"][:2]]]
    assert len(found) == 1, found
    return found[0]


def test_lifetimes(record, compile_c, hw):
    recording = record([compile_c(LIFETIMES)])
    report = recording.report
    assert stack_of(report, "at_once")["lifetimes"]["temporary"] == 1000
    moment = stack_of(report, "for_a_moment")["lifetimes"]
    assert moment["temporary"] == moment["until_end"] == 0
    assert moment["below_1s"] + moment["below_1min"] >= 33  # held across the sleep
    assert sum(moment.values()) == 40
    assert stack_of(report, "for_ever")["lifetimes"] == {
        "temporary": 0, "below_1ms": 0, "below_1s": 0, "below_1min": 0, "1min_or_longer": 0, "until_end": 7}
    for stack in report["top"]:
        assert sum(stack["lifetimes"].values()) == stack["calls"]
        assert stack["lifetimes"]["temporary"] == stack["temporary_calls"]
    text = hw("report", "--lifetimes", "--cost", "calls", recording.trace).stdout
    row = next(line for line in text.splitlines() if "at_once" in line)
    assert row.split()[:4] == ["1", "1,000", "100.0", "%"]


def test_lifetimes_are_of_whole_stacks(record, compile_c, hw):
    trace = record([compile_c(LIFETIMES)]).trace
    for option in ("--thread=main", "--by=size"):
        done = hw("report", "--lifetimes", option, trace)
        assert done.returncode == 2
        assert option.partition("=")[0] in done.stderr
