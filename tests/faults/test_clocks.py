"""test_clocks.py - if the CPU's time stamps cannot be trusted, another clock is used, and nothing else differs

Breaks if the recorder reads time stamps that the kernel itself does not trust, which would put frees before their
allocations, or reads them where a program has forbidden it, which would kill the program.
"""

import os
import subprocess
from pathlib import Path

import pytest

from clock_source import MONOTONIC, OF_CPU, TSC, check_order, in_own_mounts

PROGRAMS = Path(__file__).parent / "programs"
FORBIDDEN = 77  # no_tsc.c could not forbid it


@pytest.fixture
def race(compile_c):
    return compile_c(PROGRAMS / "race.c", "-pthread", name="race")


@pytest.mark.parametrize("source, clock", [("hpet", MONOTONIC), ("kvm-clock", MONOTONIC), ("tsc-early", MONOTONIC), (OF_CPU[os.uname().machine], TSC)])
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
