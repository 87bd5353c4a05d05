"""linked_programs.py - what tests of programs with jemalloc, mimalloc or tcmalloc share"""

import subprocess
from pathlib import Path

import pytest


def file_of(name):
    """Debian's library, or a skipped test."""
    path = subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout.strip()
    if not Path(path).is_absolute():
        pytest.skip(f"{name} is not installed")
    return path


def run(command, **more):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=60, check=False, **more)


def recorded_counts(report, sizes):
    found = {entry["size"]: (entry["calls"], entry["live_blocks"]) for entry in report["sizes"]}
    return {size: found.get(size, (0, 0)) for size in sizes}


def notes_of(report, kind="linked-in allocator"):
    return [note["text"] for image in report["images"] for note in image["notes"] if note["kind"] == kind]


def check_is_complete(report):
    assert [report[name] for name in ("lost_events", "unmatched_frees", "missed_frees", "truncated_stacks", "unfinished_stacks", "audit_differences")] == [0] * 6
