"""waiting.py - waits until something has happened, however busy the machine is, and never longer than necessary"""

import time
from pathlib import Path

PATIENCE = 120  # seconds: an event that has not happened by then will not happen
HOLD = 'write(1, "", 1), read(0, &(char){0}, 1)'  # in a program for `record_with_marks`: marks the place of a mark


def wait_until(condition):
    """Returns the result of `condition()` as soon as it is true. What takes long to ask is asked less often: the CPUs are for the
    program that is waited for."""
    end = time.monotonic() + PATIENCE
    while (began := time.monotonic()) < end:
        found = condition()
        if found:
            return found
        time.sleep(max(0.01, min(0.5, 2 * (time.monotonic() - began))))
    raise AssertionError("it did not happen in time")


def looks_at_mappings(report):
    """The samples of the resident set whose parts are known, of all images."""
    return [sample for image in report["images"] for sample in image["rss"] if "mapped_bytes" in sample]


def held_look(report):
    """The first of them since the last mark was set, or None."""
    marked_ns = max(mark["time_ns"] for image in report["images"] for mark in image["marks"])
    return next((sample for sample in looks_at_mappings(report) if sample["time_ns"] > marked_ns), None)


def is_looked_at(report):
    """Returns whether the mappings have been read since the last mark was set."""
    return held_look(report) is not None


def child_of(process, number=0):
    """Returns the process ID of a child of a Popen: of the launcher, 0 is the command and 1 the process that follows
    the recording."""

    def look():
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        return int(children[number]) if len(children) > number else None

    return wait_until(look)


def has_ended(pid):
    """Returns whether the process has ended, even if its parent has not waited for it yet."""
    try:
        return ") Z" in Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):  # it ended before, or while, its state was read
        return True
