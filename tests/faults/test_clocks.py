"""test_clocks.py - if the CPU's time stamps cannot be trusted, another clock is used, and nothing else differs

Breaks if the recorder reads time stamps that the kernel itself does not trust, which would put frees before their
allocations, or reads them where a program has forbidden it, which would kill the program.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs"
CLOCK_SOURCE = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
TSC, MONOTONIC = 1, 2  # enum hw_clock_id
OF_CPU = {"x86_64": "tsc", "aarch64": "arch_sys_counter"}[os.uname().machine]  # the kernel's name for the clock that TSC is
FORBIDDEN = 77  # no_tsc.c could not forbid it


def in_own_mounts(command, tmp_path, source):
    """The command as it would see a kernel with another clock source."""
    if os.geteuid() or not shutil.which("unshare"):
        pytest.skip("showing another clock source needs root and unshare")
    (tmp_path / "source").write_text(f"{source}\n")
    script = f'mount --bind "{tmp_path}/source" {CLOCK_SOURCE} || exit {FORBIDDEN}; exec "$@"'
    wrapped = ["unshare", "--mount", "sh", "-c", script, "sh"]
    if subprocess.run([*wrapped, "true"], capture_output=True).returncode:
        pytest.skip("private mounts are not allowed here")
    return [*wrapped, *command]


def check_order(report):
    """Blocks pass between threads at once: an unordered clock would show here."""
    assert report["missed_frees"] == report["unmatched_frees"] == 0
    assert report["allocation_calls"] >= 800000
    assert 0 < report["duration_ns"]


@pytest.fixture
def race(compile_c):
    return compile_c(PROGRAMS / "race.c", "-pthread", name="race")


@pytest.mark.parametrize("source, clock", [("hpet", MONOTONIC), ("kvm-clock", MONOTONIC), ("tsc-early", MONOTONIC), (OF_CPU, TSC)])
def test_goes_by_what_the_kernel_trusts(race, preload, tmp_path, source, clock):
    recording = preload(in_own_mounts([race], tmp_path, source), env={"HEAPWRIGHT_ONLY_PROCESS": "race"})
    assert recording.process.returncode == 0, recording.process.stderr
    assert recording.header.clock == clock
    check_order(recording.report)


@pytest.fixture
def race_without_tsc(compile_c):
    program = compile_c(PROGRAMS / "race.c", PROGRAMS / "no_tsc.c", "-pthread", name="race_without_tsc")
    if subprocess.run([program]).returncode == FORBIDDEN:
        pytest.skip("time stamps cannot be forbidden here")
    return program


def test_never_reads_what_is_forbidden(race_without_tsc, check_counts_preload):
    recording = check_counts_preload([race_without_tsc])
    assert recording.process.returncode == 0
    assert recording.header.clock == MONOTONIC
    check_order(recording.report)


def test_never_reads_what_is_forbidden_under_the_launcher(race_without_tsc, check_counts):
    recording = check_counts([race_without_tsc])
    assert recording.process.returncode == 0
    assert recording.header.clock == MONOTONIC
    check_order(recording.report)
