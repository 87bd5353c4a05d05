"""clock_source.py - programs that see a kernel with another clock source, and the order of their events"""

import os
import shutil
import subprocess

import pytest

CLOCK_SOURCE = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
TSC, MONOTONIC = 1, 2  # enum hw_clock_id
# The kernel's name for the clock that TSC is; 32-bit Arm has none.
OF_CPU = {"x86_64": "tsc", "aarch64": "arch_sys_counter", "riscv64": "riscv_clocksource"}


def in_own_mounts(command, tmp_path, source):
    """The command as it would see a kernel with another clock source."""
    if os.geteuid() or not shutil.which("unshare"):
        pytest.skip("showing another clock source needs root and unshare")
    (tmp_path / "source").write_text(f"{source}\n")
    script = f'mount --bind "{tmp_path}/source" {CLOCK_SOURCE} || exit 1; exec "$@"'
    wrapped = ["unshare", "--mount", "sh", "-c", script, "sh"]
    if subprocess.run([*wrapped, "true"], capture_output=True).returncode:
        pytest.skip("private mounts are not allowed here")
    return [*wrapped, *command]


def check_order(report):
    """Blocks of race.c pass between threads at once: an unordered clock would show here."""
    assert report["missed_frees"] == report["unmatched_frees"] == 0
    assert report["allocation_calls"] >= 800000
    assert 0 < report["duration_ns"]
