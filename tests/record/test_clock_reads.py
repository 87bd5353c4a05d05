"""test_clock_reads.py - when and how each call reads the clock

Breaks if a block's end can be stamped later than its next birth, or its birth later than its end: if the clock is
read on the wrong side of the real call, or before earlier loads, though another thread may have handed the block
over.
"""

from pathlib import Path

import pytest

from machine import only_x86_64

pytestmark = only_x86_64("a trap flag and these instructions")
PROGRAM = Path(__file__).parent / "programs/clock_reads.c"
NO_TRAP_FLAG = 77
TSC = 1  # enum hw_clock
ORDERED = {"malloc": "malloc rdtscp", "realloc": "rdtscp realloc rdtscp", "free": "rdtscp free", "calloc": "calloc rdtscp",
           "new": "malloc rdtscp", "delete": "rdtscp free", "too much": "malloc rdtscp"}


@pytest.fixture
def readings(compile_c, preload):
    """The clock reads of a recorded program that steps through each call."""

    def run(*arguments, **environment):
        program = compile_c(PROGRAM, "-mno-red-zone", "-fno-builtin", "-pthread", name="clock_reads")
        recording = preload([program, *arguments], env=environment)
        if recording.process.returncode == NO_TRAP_FLAG:
            pytest.skip("single steps are not possible on this machine")
        assert recording.process.returncode == 0, recording.process
        if recording.header.clock != TSC:
            pytest.skip("the time stamp counter is not this machine's clock")
        return dict(line.split(": ") for line in recording.process.stdout.splitlines())

    return run


def test_with_threads_each_reading_waits_for_earlier_loads(readings):
    assert readings("threads") == ORDERED


def test_without_threads_none_needs_to(readings):
    assert readings() == {name: seen.replace("rdtscp", "rdtsc") for name, seen in ORDERED.items()}


def test_a_call_is_timed_between_fences(readings):
    """So that the time before and after it is not counted as its own; the event's own readings do not change."""
    fenced = "rdtscp lfence {} rdtscp lfence"
    assert readings("threads", HEAPWRIGHT_DURATIONS="1") == {
        "malloc": fenced.format("malloc") + " rdtscp", "realloc": "rdtscp " + fenced.format("realloc") + " rdtscp",
        "free": "rdtscp " + fenced.format("free"), "calloc": fenced.format("calloc") + " rdtscp",
        "new": fenced.format("malloc") + " rdtscp", "delete": "rdtscp " + fenced.format("free"),
        "too much": fenced.format("malloc") + " rdtscp"}
