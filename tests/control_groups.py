"""control_groups.py - control groups with a limited memory, for programs of tests"""

import contextlib
from pathlib import Path

import pytest

MIB = 1 << 20
LIMIT = 100 * MIB
V1, V2 = Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")


@contextlib.contextmanager
def group(name, inside=None):
    """A new control group whose memory is limited, as a path; the test is skipped where none can be made."""
    is_v1 = (V1 / "memory.limit_in_bytes").exists()
    folder = (inside or (V1 if is_v1 else V2)) / name
    try:
        folder.mkdir()
        (folder / ("memory.limit_in_bytes" if is_v1 else "memory.max")).write_text(str(LIMIT))
    except OSError as error:
        with contextlib.suppress(OSError):
            folder.rmdir()
        pytest.skip(f"no control group can be made here: {error}")
    try:
        yield folder
    finally:
        folder.rmdir()
