"""test_every_instruction.py - a handler runs at each instruction of the recorder in turn: it allocates, leaves by
longjmp, forks, switches the recording, or fills the trace

Breaks if there is an instruction at which an event may not be interrupted, abandoned or copied: then a later event
is missing, counts twice, or never ends.
"""

from pathlib import Path

import pytest

from machine import only_x86_64
from trace_header import read_header

pytestmark = only_x86_64("a trap flag for single steps")
ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(__file__).parent / "programs/every_instruction.c"
SIZES = {"stepped": 301, "nested": 302, "after": 303, "silent": 304, "of child": 305}
FLAGS = ["-mno-red-zone", f"-I{ROOT}/src", f"-I{ROOT}/include"]
NO_TRAP_FLAG = 77
STOPPED_LIMIT = 2  # enum hw_trace_state


class Counts:
    """The program's own output, next to the contents of its trace."""

    def __init__(self, recording):
        *own, self.visits, self.steps = map(int, recording.process.stdout.split())
        self.own, self.recording, self.report = dict(zip(SIZES, own)), recording, recording.report
        self.seen = {name: (0, 0) for name in SIZES}
        for entry in self.report["sizes"]:
            for name, size in SIZES.items():
                if entry["size"] == size:
                    self.seen[name] = (entry["calls"], entry["live_blocks"])

    def check(self, *names):
        """Each of these blocks was recorded as allocated and freed."""
        for name in names:
            assert self.own[name] and self.seen[name] == (self.own[name], 0), name


@pytest.fixture
def interrupt(compile_c, on_allocator, tmp_path):
    """interrupt("jump", stride): runs the program under the recorder, on an allocator that may also be interrupted."""

    def run(how, stride=1, **environment):
        program = compile_c(PROGRAM, *FLAGS, name="every_instruction")
        trace = tmp_path / "every.hwt"
        recording = on_allocator("ring", [program, how, trace, stride], env=environment, trace=trace, timeout=600)
        process = recording.process
        if process.returncode == NO_TRAP_FLAG:
            pytest.skip("there is no trap flag here")
        assert (process.stderr, process.returncode) == ("", 0)
        return Counts(recording)

    return run


def test_a_handler_that_allocates(interrupt):
    counts = interrupt("allocate")
    counts.check("stepped", "nested", "after")
    assert counts.steps > 1000 and counts.report["lost_events"] == 0
    assert counts.report["unmatched_frees"] == counts.report["missed_frees"] == 0


@pytest.mark.parametrize("how", ["jump", "again"])
def test_a_handler_that_leaves(interrupt, how):
    """The event of an abandoned call may be there or not; no other event is missing."""
    counts = interrupt(how, 7)
    counts.check("after")
    assert counts.visits > 100 and counts.report["lost_events"] == 0
    assert abs(counts.own["stepped"] - counts.seen["stepped"][0]) <= counts.visits
    assert counts.report["unmatched_frees"] == counts.report["missed_frees"] == 0


def test_a_handler_that_forks(interrupt):
    """The event is completed in both processes; it belongs to the parent."""
    counts = interrupt("fork", 48, HEAPWRIGHT_MAX_SIZE="4M")
    counts.check("stepped", "nested", "after")
    assert counts.visits > 10 and counts.report["lost_events"] == 0
    children = counts.recording.report_with("--children")
    assert [entry["calls"] for entry in children["sizes"] if entry["size"] == SIZES["of child"]] == [counts.visits]
    assert children["lost_events"] == children["missed_frees"] == 0


def test_a_handler_that_switches(interrupt):
    """An event that is wholly on one side of the switch is recorded or not; frees are recorded on both sides."""
    counts = interrupt("pause")
    counts.check("after")
    assert counts.visits > 100 and counts.seen["silent"] == (0, 0)
    assert 0 < counts.seen["stepped"][0] < counts.own["stepped"]
    assert counts.report["free_calls"] == sum(counts.own.values())
    assert counts.report["lost_events"] == counts.report["missed_frees"] == 0


def test_a_handler_that_fills_the_trace(interrupt):
    counts = interrupt("full", 24, HEAPWRIGHT_MAX_SIZE="2200K")
    counts.check("after")
    assert counts.visits > 0
    stopped = [trace for trace in counts.recording.traces if read_header(trace).state == STOPPED_LIMIT]
    assert len(stopped) >= counts.visits
