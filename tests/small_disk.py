"""small_disk.py - a file system that is soon full"""

import contextlib
import subprocess

import pytest


@contextlib.contextmanager
def mounted(folder, *what):
    """A file system at a new folder, `what` as mount wants it; the test is skipped where none can be mounted."""
    folder.mkdir()
    if subprocess.run(["mount", *what, folder], capture_output=True).returncode:
        pytest.skip("mount is not allowed here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def small_disk(folder, size):
    """A tmpfs of this size."""
    return mounted(folder, "-t", "tmpfs", "-o", f"size={size}", "none")
