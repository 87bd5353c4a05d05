"""test_save.py - heapwright control save: a trace of what a running program has done so far, which disturbs nothing

If this fails, a saved trace has events of different moments: blocks are missing, or live that were freed.
"""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from format_reader import Event, read_trace, saved_until
from small_disk import small_disk
from trace_header import is_begun, read_header, traces_of_run
from waiting import wait_until

ENTRY_REALLOC = 4
FIGURES = ["allocation_calls", "free_calls", "failed_calls", "allocated_bytes", "live_blocks_at_end", "live_bytes_at_end", "peak_bytes"]
TROUBLES = ["unmatched_frees", "missed_frees", "lost_events", "damaged_chunks", "missing_chunks", "unreadable_images"]


@pytest.fixture
def churn(compile_c):
    return compile_c(Path(__file__).parent / "programs/churn.c", "-pthread", name="churn")


class Run:
    """A recording that goes on until its standard input ends."""

    def __init__(self, hw, tool, trace, words, options):
        self.hw, self.trace = hw, trace
        self.process = subprocess.Popen([tool, "record", "-o", trace, *options, "--", *map(str, words)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_until(lambda: is_begun(trace))

    def save(self, to):
        done = self.hw("control", self.trace, "save", "-o", to)
        assert done.returncode == 0, done.stderr
        return to

    def end(self):
        out, said = self.process.communicate(timeout=60)
        return self.process.returncode, out, said


@pytest.fixture
def start(build, hw, tmp_path):
    """start([command...], *options): a Run in tmp_path/run.hwt, which is ended after the test."""
    runs = []

    def begin(words, *options):
        runs.append(Run(hw, str(build / "bin/heapwright"), tmp_path / "run.hwt", words, options))
        return runs[-1]

    yield begin
    for run in runs:
        if run.process.poll() is None:
            run.end()


def report_of(hw, trace, *options):
    done = hw("report", "--json", "--children", *options, trace)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def troubles(report):
    return {name: report[name] for name in TROUBLES if report[name]}


def before(events, tick):
    """The events before a tick. A realloc that is not complete then has only freed its old block."""
    kept = []
    for event in events:
        if event.tick >= tick:
            break
        if event.kind == "realloc" and event.tick + event.ticks >= tick:
            event = Event(event.tick, "free", address=event.old, entry=ENTRY_REALLOC, duration=event.duration and 0)
        kept.append(event)
    return kept


def entries_as_numbers(events):
    names = {"free": 2}
    return [event._replace(entry=names.get(event.entry, event.entry), alignment=event.alignment or None) for event in events]


def assert_is_cut(saved, final):
    """The saved trace has what the final one has before its moment, event by event. Of each thread that did not run for
    0.2 s in the middle of an event, because the machine was busy, that last event may be missing."""
    tick = saved_until(saved) or 1 << 63
    found, whole = read_trace(saved), read_trace(final)
    for thread in whole.events.keys() | found.events.keys():
        expected, events = entries_as_numbers(before(whole.events[thread], tick)), entries_as_numbers(found.events[thread])
        if events not in (expected, expected[:-1]):
            same = next((i for i, (a, b) in enumerate(zip(events, expected)) if a != b), min(len(events), len(expected)))
            pytest.fail(f"thread {thread}, event {same} of {len(expected)}, not {len(events)}: {expected[same:same + 3]}, "
                        f"not {events[same:same + 3]}; saved at {tick}")
    nodes = {node.number: node for node in found.nodes}
    assert nodes.items() <= {node.number: node for node in whole.nodes}.items()
    inherited = read_header(saved).inherited_nodes
    used = {event.node for events in found.events.values() for event in events if event.node and event.node >= inherited}
    assert used <= nodes.keys()
    assert all(node.parent in nodes for node in found.nodes if node.parent and node.parent >= inherited)


def test_threads_at_full_speed(start, churn, hw, tmp_path):
    """They hand blocks over all the time, and the recording is packed while it is saved."""
    run = start([churn, 3])
    saved = [run.save(tmp_path / f"{number}.hwt") for number in range(2)]
    assert run.end()[:2] == (3, "done\n")
    reports = [report_of(hw, trace) for trace in [*saved, run.trace]]
    for report in reports:
        assert not troubles(report)
        assert report["allocation_calls"] - report["free_calls"] == report["live_blocks_at_end"]
    calls = [report["allocation_calls"] for report in reports]
    assert calls == sorted(set(calls))
    assert not reports[-1]["images"][0]["marks"] and not reports[-1]["images"][0]["silences"]


@pytest.mark.parametrize("options", [(), ("--no-pack", "--max-size", "64M"), ("--durations", "--no-usable")])
def test_event_by_event(start, churn, tmp_path, options):
    run = start([churn, 3, 0, 5000], *options)
    saved = [run.save(tmp_path / f"{number}.hwt") for number in range(2)]
    run.end()
    for trace in saved:
        assert saved_until(trace)
        assert_is_cut(trace, run.trace)


def test_processes_that_come_and_go(start, churn, hw, tmp_path):
    run = start([churn, 1, 3, 5000])
    wait_until(lambda: len(traces_of_run(run.trace)) > 10)
    saved = [run.save(tmp_path / f"{number}.hwt") for number in range(3)]
    assert run.end()[:2] == (3, "done\n")
    final = {bytes(read_header(trace).image_id): trace for trace in traces_of_run(run.trace)}
    for trace in saved:
        assert not troubles(report_of(hw, trace))
        moment = read_header(trace).last.monotonic_ns
        copies = traces_of_run(trace)
        ids = {bytes(read_header(copy).image_id) for copy in copies}
        assert ids == {id for id, whole in final.items() if read_header(whole).start.monotonic_ns <= moment}
        assert any(map(saved_until, copies))
        for copy in copies:
            header = read_header(copy)
            assert not saved_until(copy) or header.last.monotonic_ns == moment
            assert_is_cut(copy, final[bytes(header.image_id)])


@pytest.fixture
def steps(start, compile_c):
    """A run of a program that does something only when it is told to, and tell()."""
    run = start([compile_c(Path(__file__).parents[1] / "live/programs/steps.c", name="steps")], "-q")

    def tell(line):
        run.process.stdin.write(f"{line}\n")
        run.process.stdin.flush()
        assert run.process.stdout.readline() == "done\n"

    return run, tell


def seen_live(hw, trace, calls):
    """The live report, as soon as it has so many calls."""
    report = json.loads(hw("live", "--json", trace).stdout)
    return report if report["allocation_calls"] == calls else None


def test_the_figures_are_those_of_the_final_trace_up_to_then(steps, hw, tmp_path):
    run, tell = steps
    tell("1000")
    tell("f")
    tell("p 20")
    tell("300")
    live = wait_until(lambda: seen_live(hw, run.trace, 1320))
    saved = report_of(hw, run.save(tmp_path / "now.hwt"))
    assert {name: saved[name] for name in FIGURES} == {name: live[name] for name in FIGURES}
    tell("500")
    tell("f")
    run.end()
    final = report_of(hw, run.trace, "--to", f"{saved['duration_ns']}ns")
    assert {name: saved[name] for name in FIGURES} == {name: final[name] for name in FIGURES}
    assert saved["live_blocks_at_end"] >= 320 and saved["stacks"] == final["stacks"]


def test_it_says_what_it_is(steps, hw, tmp_path):
    run, tell = steps
    tell("10")
    done = hw("control", run.trace, "save", "-o", tmp_path / "now.hwt")
    assert done.stdout == "" and " events up to " in done.stderr
    text = hw("report", tmp_path / "now.hwt").stdout
    assert "still running when saved" in text and "going on" in text
    assert 'Saved while the program ran: this is the recording up to then; "at the end" means that moment.' in text
    report = report_of(hw, tmp_path / "now.hwt")
    image = report["images"][0]
    assert image["silences"] == [{"from_ns": report["duration_ns"], "why": "saved while the program ran"}]
    assert not image["being_written"] and not image.get("exit_signal")
    (tmp_path / "saved.json").write_text(json.dumps(report))
    assert hw("diff", tmp_path / "saved.json", tmp_path / "now.hwt").returncode == 0
    page = hw("report", "-o", tmp_path / "page.html", tmp_path / "now.hwt")
    assert page.returncode == 0, page.stderr


def test_a_process_and_an_earlier_copy(steps, hw, tmp_path):
    """The copy of a run with children replaces one of a run without, and the other way round."""
    run, tell = steps
    to, pid = tmp_path / "now.hwt", read_header(run.trace).pid
    tell("10")
    assert hw("control", pid, "save", "-o", to).returncode == 0
    first = report_of(hw, to)
    tell("p 10")
    wait_until(lambda: len([trace for trace in traces_of_run(run.trace) if is_begun(trace)]) == 2)
    child = read_header(traces_of_run(run.trace)[1]).pid
    tell("5")
    assert hw("control", child, "save", "-o", to).returncode == 0  # a process stands for its run
    assert len(report_of(hw, to)["images"]) == 2
    assert report_of(hw, to)["allocation_calls"] > first["allocation_calls"]
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith("now")) == ["now.hwt", "now.hwt.children"]


def test_of_a_program_without_a_launcher(recorder, churn, hw, tmp_path):
    trace = tmp_path / "run.hwt"
    environment = {**os.environ, "LD_PRELOAD": str(recorder), "HEAPWRIGHT_OUTPUT": str(trace)}
    with subprocess.Popen([churn, "2", "0", "1000"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        wait_until(lambda: is_begun(trace))
        assert hw("control", process.pid, "save", "-o", tmp_path / "now.hwt").returncode == 0
    report = report_of(hw, tmp_path / "now.hwt")
    assert not troubles(report) and report["allocation_calls"] > 0


def test_a_recording_that_has_ended_is_copied(steps, hw, tmp_path):
    run, tell = steps
    tell("10")
    run.end()
    done = hw("control", run.trace, "save", "-o", tmp_path / "now.hwt")
    assert done.returncode == 0 and "the program had ended, so this is the whole recording" in done.stderr
    whole, copy = report_of(hw, run.trace), report_of(hw, tmp_path / "now.hwt")
    for report in whole, copy:
        del report["trace"]
        for image in report["images"]:
            del image["trace"]
    assert copy == whole


def test_refuses_what_it_would_destroy(steps, hw, tmp_path):
    run, tell = steps
    tell("p 10")
    wait_until(lambda: len([trace for trace in traces_of_run(run.trace) if is_begun(trace)]) == 2)
    other, link = tmp_path / "notes.txt", tmp_path / "link.hwt"
    other.write_text("not a trace\n")
    link.symlink_to(run.trace)
    children = run.trace.with_name("run.hwt.children")
    for to, why in [(other, "exists and is no heapwright trace"), (run.trace, "is a part of the recording itself"),
                    (link, "is a part of the recording itself"), (children / "now.hwt", "is a part of the recording itself"),
                    (traces_of_run(run.trace)[1], "is a part of the recording itself"), (tmp_path, "exists and is no heapwright trace"),
                    (tmp_path / "none/now.hwt", "make the folder")]:
        done = hw("control", run.trace, "save", "-o", to)
        assert done.returncode == 2 and why in done.stderr, done.stderr
    assert other.read_text() == "not a trace\n" and len(list(children.iterdir())) == 1
    for words, why in [((run.trace, "save"), "save needs -o FILE"), ((run.trace, "on", "-o", "x.hwt"), "-o is only for save"),
                       ((run.trace, "save", "--only-this", "-o", "x.hwt"), "leave --only-this out"),
                       ((run.trace, "save", "x.hwt", "-o", "y.hwt"), "one word too many"),
                       ((other, "save", "-o", tmp_path / "now.hwt"), "is not a heapwright trace")]:
        done = hw("control", *words)
        assert done.returncode == 2 and why in done.stderr, done.stderr
    tell("10")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount a small file system")
def test_full_disk_leaves_nothing(start, churn, hw, tmp_path):
    with small_disk(tmp_path / "small", "256k") as disk:
        run = start([churn, 2, 0, 1000])
        (disk / "now.hwt").write_bytes(run.save(tmp_path / "small.hwt").read_bytes()[:4096])
        earlier = (disk / "now.hwt").read_bytes()

        def is_full():
            done = hw("control", run.trace, "save", "-o", disk / "now.hwt")
            return done.returncode and done.stderr

        assert "No space left on device" in wait_until(is_full)
        assert [path.name for path in disk.iterdir()] == ["now.hwt"] and (disk / "now.hwt").stat().st_size >= len(earlier)
        assert run.end()[:2] == (3, "done\n")


def is_caught(pid, number):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("SigCgt:"):
            return int(line.split()[1], 16) >> (number - 1) & 1


def test_interrupted_it_leaves_nothing(start, churn, build, tmp_path):
    run = start([churn, 1, 0, 1000])
    saver = subprocess.Popen([str(build / "bin/heapwright"), "control", run.trace, "save", "-o", tmp_path / "now.hwt"])
    wait_until(lambda: is_caught(saver.pid, signal.SIGTERM))
    saver.terminate()
    assert saver.wait(60) == -signal.SIGTERM
    assert not list(tmp_path.glob("now*"))


def test_killed_it_leaves_nothing_half(start, churn, build, hw, tmp_path):
    run, to = start([churn, 2, 2, 1000]), tmp_path / "now.hwt"
    wait_until(lambda: len(traces_of_run(run.trace)) > 5)
    saver = subprocess.Popen([str(build / "bin/heapwright"), "control", run.trace, "save", "-o", to])
    wait_until(lambda: list(tmp_path.glob("now.hwt*")) or saver.poll() is not None)
    saver.kill()
    saver.wait(60)
    assert not to.exists() or not troubles(report_of(hw, to))  # it may have been complete already
    run.save(to)
    assert sorted(path.name for path in tmp_path.glob("now*")) == ["now.hwt", "now.hwt.children"]
    assert not troubles(report_of(hw, to))
    assert run.end()[:2] == (3, "done\n")
