"""test_save_when.py - heapwright record --save-when: a trace of the moment when a process crossed a limit

If this fails, what a program held before it was killed for its memory is not on the disk, or is that of another moment.
"""

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from small_disk import small_disk
from trace_header import is_begun, read_header, traces_of_run
from waiting import child_of, wait_until

MIB = 1 << 20
TROUBLES = ["unmatched_frees", "missed_frees", "lost_events", "damaged_chunks", "missing_chunks", "unreadable_images"]


def pauses_of(pid):
    """How often a process has waited so far."""
    return int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)[1])


class Levels:
    """A recording of levels.c, which holds as many MiB as it is told to."""

    def __init__(self, tool, program, folder, options):
        self.trace = folder / "run.hwt"
        self.process = subprocess.Popen([tool, "record", "-o", self.trace, *options, "--", program], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def hold(self, mib):
        self.process.stdin.write(f"{mib}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def saved(self, number=1):
        return self.trace.with_name(f"run.saved-{number}.hwt")

    def hold_until_seen(self, mib):
        """Holds them until the process that follows the recording has very likely looked, however busy the machine is."""
        self.hold(mib)
        time.sleep(0.3)  # it may wait that long for an event that is not finished
        follower = child_of(self.process, 1)
        before = pauses_of(follower)
        wait_until(lambda: pauses_of(follower) > before + 10)

    def hold_until_saved(self, mib, number=1):
        self.hold(mib)
        wait_until(self.saved(number).exists)

    def end(self, last=""):
        _, said = self.process.communicate(last, timeout=100)
        assert self.process.returncode == 0, said
        return said


@pytest.fixture
def levels(build, compile_c, tmp_path):
    """levels(*options): a recording, which is ended after the test."""
    program = compile_c(Path(__file__).parent / "programs/levels.c", name="levels")
    runs = []

    def begin(*options, folder=tmp_path):
        runs.append(Levels(str(build / "bin/heapwright"), program, folder, options))
        return runs[-1]

    yield begin
    for run in runs:
        if run.process.poll() is None:
            run.process.communicate(timeout=100)


def report_of(hw, trace):
    done = hw("report", "--json", "--children", trace)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert not any(report[name] for name in TROUBLES)
    return report


def reasons(said):
    """The names of the traces that were saved, with the reasons."""
    return re.findall(r"saved: (\S+) \([^)]*\) at [^:]*: (.*)", said)


def test_live_bytes(levels, hw):
    run = levels("--save-when", "live>20M")
    run.hold(10)
    run.hold_until_saved(30)
    run.hold(15)
    said = run.end()
    assert [name for name, _ in reasons(said)] == [str(run.saved())]
    assert re.search(r"live of process \d+ was [23]\d\.\d MB \('live>20M'\)", said), said
    saved, whole = report_of(hw, run.saved()), report_of(hw, run.trace)
    assert 20 * MIB < saved["live_bytes_at_end"] < 31 * MIB
    assert saved["images"][0]["silences"][-1]["why"] == "saved while the program ran"
    assert whole["allocation_calls"] >= saved["allocation_calls"] and whole["live_bytes_at_end"] < MIB


def test_live_bytes_of_a_sample_are_estimates(levels):
    run = levels("--save-when", "live>20M", "--sample=64K")
    run.hold_until_saved(30)
    assert re.search(r"live of process \d+ was about [23]\d\.\d MB \('live>20M'\)", run.end())


def test_resident_memory(levels, hw):
    run = levels("--save-when", "rss>60M", "--no-pack")
    run.hold(20)
    run.hold_until_saved(80)
    said = run.end()
    assert "rss of process" in said and len(reasons(said)) == 1, said
    saved = report_of(hw, run.saved())
    assert 50 * MIB < saved["live_bytes_at_end"] < 81 * MIB
    assert max(sample["rss_bytes"] for sample in saved["images"][0]["rss"]) > 60 * MIB


def test_growth(levels, hw, tmp_path):
    """What the process allocates in its first second does not count."""
    for attempt in range(20):
        began = time.monotonic()
        (tmp_path / str(attempt)).mkdir()
        run = levels("--save-when", "growth>10M/s", folder=tmp_path / str(attempt))
        run.hold(50)
        if time.monotonic() - began < 1:
            break
        run.end()  # the machine was too slow
    else:
        pytest.skip("this machine is too slow")
    time.sleep(4)  # nothing waits for it: the time is a part of the rule
    assert not run.saved().exists()
    run.hold_until_saved(70)
    said = run.end()
    assert "growth of process" in said and len(reasons(said)) == 1, said
    assert 60 * MIB < report_of(hw, run.saved())["live_bytes_at_end"] < 71 * MIB


def test_each_crossing_is_saved_once_up_to_four(levels, hw):
    run = levels("--save-when", "live>20M")
    for number in range(1, 5):
        run.hold_until_saved(20 + number, number)
        run.hold_until_seen(16)  # more than three quarters of the limit: this is not the next crossing
        run.hold_until_seen(20 + number)
        run.hold_until_seen(5)
    run.hold_until_seen(30)
    said = run.end()
    assert [name for name, _ in reasons(said)] == [str(run.saved(number)) for number in range(1, 5)]
    assert "'live>20M' was crossed 5 times; 4 traces were saved, at most 4 are" in said
    for number in range(1, 5):
        assert 20 * MIB < report_of(hw, run.saved(number))["live_bytes_at_end"] < (21 + number) * MIB


def test_several_at_once_share_a_trace(levels, hw):
    run = levels("--save-when", "live>20M", "--save-when", "live>25M", "--save-when", "rss>10G", "--save-when", "live>1G")
    run.hold_until_saved(40)
    run.hold_until_seen(40)  # the trace of the second rule may be another one, which is to be saved before all is freed
    said = run.end()
    saved = reasons(said)
    assert sum(reason.count("('live>20M')") for _, reason in saved) == 1
    assert sum(reason.count("('live>25M')") for _, reason in saved) == 1
    assert "10G" not in said and "1G" not in said.replace("10G", "")
    assert all(report_of(hw, name)["live_bytes_at_end"] >= 20 * MIB for name, _ in saved)


def test_earlier_traces_stay(levels):
    """A later recording of the same name takes the next number, and quiet says nothing."""
    first = levels("--save-when", "live>20M")
    first.hold_until_saved(30)
    first.end()
    bytes_before = first.saved().read_bytes()
    second = levels("--save-when", "live>20M", "-q")
    second.hold_until_saved(30, 2)
    assert second.end() == "" and first.saved().read_bytes() == bytes_before


def test_it_ends_at_the_same_moment(levels, hw):
    """What was seen is saved, and the recording is whole either way."""
    for _ in range(5):
        run = levels("--save-when", "live>20M")
        run.hold(1)
        said = run.end("exit 30\n")
        whole = report_of(hw, run.trace)
        assert 30 * MIB <= whole["live_bytes_at_end"] < 31 * MIB
        for name, _ in reasons(said):
            assert report_of(hw, name)["live_bytes_at_end"] >= 20 * MIB
        assert not list(run.trace.parent.glob("*.saving*"))


def test_a_process_that_is_killed(levels, hw):
    """As by the kernel when memory runs out: what it held is on the disk."""
    run = levels("--save-when", "live>20M")
    run.hold_until_saved(30)
    os.kill(read_header(run.trace).pid, signal.SIGKILL)
    said = run.process.communicate(timeout=100)[1]
    assert run.process.returncode == 128 + signal.SIGKILL and len(reasons(said)) == 1
    assert 20 * MIB < report_of(hw, run.saved())["live_bytes_at_end"] < 31 * MIB


def test_of_a_child(build, hw, compile_c, tmp_path):
    """A rule is about each process, and what is saved has all of the run."""
    program = compile_c(Path(__file__).parent / "programs/levels.c", name="levels")
    trace = tmp_path / "run.hwt"
    command = f"echo begun; {program}; true"
    with subprocess.Popen([str(build / "bin/heapwright"), "record", "-o", trace, "--save-when", "live>20M", "sh", "-c", command],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdin.write("30\n")
        process.stdin.flush()
        wait_until((tmp_path / "run.saved-1.hwt").exists)
        said = process.communicate(timeout=100)[1]
    pids = {read_header(image).pid for image in traces_of_run(trace)}
    pid = int(re.search(r"live of process (\d+)", said)[1])
    assert pid in pids
    saved = report_of(hw, tmp_path / "run.saved-1.hwt")
    assert [image["pid"] for image in saved["images"] if image["live_bytes_at_end"] > 20 * MIB] == [pid]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount a small file system")
def test_full_disk(levels, hw, tmp_path):
    """Nothing half is left, the program and its recording go on, and the end says that nothing was saved."""
    with small_disk(tmp_path / "small", "64m") as disk:
        run = levels("--save-when", "live>20M", folder=disk)
        run.hold(1)
        wait_until(lambda: is_begun(run.trace))
        with pytest.raises(OSError, match="No space"), open(disk / "ballast", "wb", buffering=0) as ballast:
            while True:
                ballast.write(bytes(4096))
        run.hold(30)
        time.sleep(1)
        (disk / "ballast").unlink()
        said = run.end()
        assert "nothing was saved: " in said and "No space left on device" in said and "('live>20M')" in said, said
        assert [path.name for path in disk.iterdir()] == ["run.hwt"]


def test_ten_saves_at_once_under_load(build, hw, compile_c, tmp_path):
    """control save, ten times at the same moment, while a rule saves, too."""
    churn = compile_c(Path(__file__).parent / "programs/churn.c", "-pthread", name="churn")
    trace, tool = tmp_path / "run.hwt", str(build / "bin/heapwright")
    run = subprocess.Popen([tool, "record", "-o", trace, "--save-when", "rss>1K", "--", churn, "3"], stdin=subprocess.PIPE,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: is_begun(trace))
    savers = [subprocess.Popen([tool, "control", trace, "save", "-o", tmp_path / f"now{i}.hwt"], stderr=subprocess.PIPE, text=True)
              for i in range(10)]
    for saver in savers:
        said = saver.communicate(timeout=100)[1]
        assert saver.returncode == 0, said
    _, said = run.communicate(timeout=100)
    assert run.returncode == 3 and len(reasons(said)) == 1, said
    calls = [report_of(hw, tmp_path / f"now{i}.hwt")["allocation_calls"] for i in range(10)]
    assert min(calls) > 0 and max(calls) <= report_of(hw, trace)["allocation_calls"]


@pytest.mark.parametrize("rule, why", [
    ("", "it begins with rss, live or growth"),
    ("heap>2G", "it begins with rss, live or growth"),
    ("rss", "after the name comes '>'"),
    ("rss<2G", "after the name comes '>'"),
    ("rss>=2G", "after the name comes '>'"),
    ("live>", "a size of more than 0, such as 2G"),
    ("live>0", "a size of more than 0, such as 2G"),
    ("live>2X", "a size of more than 0, such as 2G"),
    ("live>99999999999999999999G", "a size of more than 0, such as 2G"),
    ("live>2G/min", "only growth has a time"),
    ("growth>10M", "growth is per s, min or h"),
    ("growth>10M/day", "growth is per s, min or h"),
])
def test_wrong_rules(hw, tmp_path, rule, why):
    done = hw("record", "-o", tmp_path / "run.hwt", "--save-when", rule, "true")
    assert done.returncode == 125 and f"--save-when: '{rule}' is no limit" in done.stderr and why in done.stderr
    assert not (tmp_path / "run.hwt").exists()


def test_rules_that_cannot_work(hw, tmp_path):
    done = hw("record", "-o", tmp_path / "run.hwt", *["--save-when", "rss>1G"] * 9, "true")
    assert done.returncode == 125 and "there can be 8 limits, not 9" in done.stderr
    done = hw("record", "-o", tmp_path / "run.hwt", "--no-pack", "--save-when", "live>1G", "true")
    assert done.returncode == 125 and "leave out --no-pack" in done.stderr
