"""small_disk.py - a file system that is soon full"""

import contextlib
import subprocess

import pytest


@contextlib.contextmanager
def small_disk(folder, size):
    """A tmpfs of this size at a new folder; the test is skipped where none can be mounted."""
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", folder], capture_output=True).returncode:
        pytest.skip("mount is not allowed here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)
