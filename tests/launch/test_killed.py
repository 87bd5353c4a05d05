"""test_killed.py - the counts that are made while the program runs equal those of its trace, however the program ended

Breaks if the summary counts events that are not kept, if what was read before the kill is counted or packed twice,
or if a section that the launcher was writing when it was killed hides events from a report.
"""

import json
import random
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from waiting import child_of, has_ended, wait_until

PROGRAM = Path(__file__).parent.parent / "faults/programs/until_killed.c"
SUMMARY = re.compile(r"([\d,]+) allocations?, (.+) at the peak, (.+) in ([\d,]+) blocks? still allocated")


@pytest.fixture
def until_killed(compile_c):
    return compile_c(PROGRAM, "-pthread", name="until_killed")


@pytest.fixture
def report(hw):
    def run(trace):
        done = hw("report", "--json", trace)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


WATCHER = 1  # among the launcher's children


def number(text):
    return int(text.replace(",", ""))


def start(build, until_killed, folder, threads):
    """The launcher and its target, after the target has done something."""
    counts = folder / "counts"
    launcher = subprocess.Popen([build / "bin/heapwright", "record", "-o", folder / "trace.hwt", "--", until_killed, counts, "forever", str(threads)],
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    target = child_of(launcher)
    wait_until(lambda: counts.exists() and any(counts.read_bytes()))
    return launcher, target


def check_said(said, shown):
    """The summary and the report have the same figures."""
    calls, peak, live, blocks = SUMMARY.search(said).groups()
    assert (number(calls), number(blocks)) == (shown["allocation_calls"], shown["live_blocks_at_end"])
    for text, name in ((peak, "peak_bytes"), (live, "live_bytes_at_end")):
        value, unit = text.split()
        scale = {"B": 1, "kB": 1000, "MB": 1000000}[unit]
        assert float(value.replace(",", "")) * scale == pytest.approx(shown[name], abs=scale * 0.051)
    assert (shown["unmatched_frees"], shown["missed_frees"], shown["lost_events"]) == (0, 0, 0)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("seed", range(3))
def test_a_killed_target(build, until_killed, report, tmp_path, threads, seed):
    launcher, target = start(build, until_killed, tmp_path, threads)
    time.sleep(random.Random(seed).uniform(0, 0.8))
    subprocess.run(["kill", "-9", str(target)], check=True)
    _, said = launcher.communicate(timeout=120)
    assert launcher.returncode == 128 + signal.SIGKILL
    check_said(said, report(tmp_path / "trace.hwt"))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("seed", range(3))
def test_a_killed_watcher(build, until_killed, report, tmp_path, threads, seed):
    """The launcher knows how the command ended, and packs a trace that was packed in part completely."""
    launcher, target = start(build, until_killed, tmp_path, threads)
    watcher, chance = child_of(launcher, WATCHER), random.Random(seed)
    time.sleep(chance.uniform(0, 0.8))
    subprocess.run(["kill", "-9", str(watcher)], check=True)
    time.sleep(chance.uniform(0, 0.2))
    subprocess.run(["kill", "-9", str(target)], check=True)
    _, said = launcher.communicate(timeout=120)
    assert launcher.returncode == 128 + signal.SIGKILL
    assert "the process that follows the recording was killed" in said
    assert (tmp_path / "trace.hwt").stat().st_size < 64 << 20, "it is left raw"
    check_said(said, report(tmp_path / "trace.hwt"))


@pytest.mark.parametrize("threads", [1, 3])
def test_a_watcher_killed_at_the_end(build, until_killed, report, tmp_path, threads):
    """The launcher is killed while it packs the command's trace; another process packs it again."""
    launcher, target = start(build, until_killed, tmp_path, threads)
    watcher = child_of(launcher, WATCHER)
    subprocess.run(["kill", "-STOP", str(watcher)], check=True)
    time.sleep(0.3)
    subprocess.run(["kill", "-9", str(target)], check=True)
    wait_until(lambda: has_ended(target))
    subprocess.run(["kill", "-9", str(watcher)], check=True)
    _, said = launcher.communicate(timeout=120)
    assert launcher.returncode == 128 + signal.SIGKILL
    check_said(said, report(tmp_path / "trace.hwt"))


def test_a_killed_launcher_takes_its_watcher(build, until_killed, tmp_path):
    launcher, target = start(build, until_killed, tmp_path, 1)
    watcher = child_of(launcher, WATCHER)
    launcher.kill()
    launcher.stderr.close()
    launcher.wait(timeout=60)
    wait_until(lambda: has_ended(watcher))
    assert not has_ended(target)
    subprocess.run(["kill", "-9", str(target)], check=True)
    wait_until(lambda: has_ended(target))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("seed", range(3))
def test_a_killed_launcher(build, hw, until_killed, report, tmp_path, threads, seed):
    """A report on the remaining files is the same before and after another process packs them."""
    launcher, target = start(build, until_killed, tmp_path, threads)
    time.sleep(random.Random(seed).uniform(0, 0.8))
    launcher.kill()
    launcher.stderr.close()
    launcher.wait(timeout=60)
    subprocess.run(["kill", "-9", str(target)], check=True)
    wait_until(lambda: has_ended(target))
    names = ["allocation_calls", "free_calls", "peak_bytes", "live_blocks_at_end", "unmatched_frees", "missed_frees"]
    left = report(tmp_path / "trace.hwt")
    assert hw("import", tmp_path / "trace.hwt", "-o", tmp_path / "packed.hwt").returncode == 0
    packed = report(tmp_path / "packed.hwt")
    assert [packed[name] for name in names] == [left[name] for name in names]
    assert (left["unmatched_frees"], left["missed_frees"], left["lost_events"]) == (0, 0, 0)
