"""control_groups.py - control groups with a limited memory or CPU time, for programs of tests"""

import contextlib
from pathlib import Path

import pytest

MIB = 1 << 20
LIMIT = 100 * MIB
V1, V2 = Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")
CPU_V1 = Path("/sys/fs/cgroup/cpu")


@contextlib.contextmanager
def limited_group(folder, limit, value):
    try:
        folder.mkdir()
        (folder / limit).write_text(str(value))
    except OSError as error:
        with contextlib.suppress(OSError):
            folder.rmdir()
        pytest.skip(f"no control group can be made here: {error}")
    try:
        yield folder
    finally:
        folder.rmdir()


def group(name, inside=None):
    """A new control group whose memory is limited, as a path; the test is skipped where none can be made."""
    is_v1 = (V1 / "memory.limit_in_bytes").exists()
    return limited_group((inside or (V1 if is_v1 else V2)) / name, "memory.limit_in_bytes" if is_v1 else "memory.max", LIMIT)


def cpu_group(name):
    """The same, but its CPU time is limited to that of 10 CPUs."""
    is_v1 = CPU_V1.exists()
    return limited_group((CPU_V1 if is_v1 else V2) / name, "cpu.cfs_quota_us" if is_v1 else "cpu.max", 10 * 100000)
