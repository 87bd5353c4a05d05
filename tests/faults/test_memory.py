"""test_memory.py - memory runs out: the OOM killer, no address space from the start, no more address space later

Breaks if events wait in memory that is lost with the program, if the recorder uses address space that the program
needs, or if it does not tolerate a refused mapping.
"""

import os
import resource
import struct
import subprocess
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs"
MIB = 1 << 20
BLOCK_BYTES = 777  # of until_killed.c
GROUP_BYTES = 96 * MIB


class MemoryGroup:
    """A control group with limited memory; the kernel kills the first process that exceeds the limit."""

    def __init__(self, folder, limit_file):
        self.folder = folder
        folder.mkdir()
        (folder / limit_file).write_text(str(GROUP_BYTES))
        swap = folder / "memory.swap.max"
        if swap.exists():
            swap.write_text("0")

    def enter(self):
        (self.folder / "cgroup.procs").write_text(str(os.getpid()))


@pytest.fixture
def memory_group():
    places = ((Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes"), (Path("/sys/fs/cgroup"), "memory.max"))
    group = None
    for parent, limit_file in places:
        try:
            group = group or MemoryGroup(parent / f"heapwright-test-{os.getpid()}", limit_file)
        except OSError:
            if (parent / f"heapwright-test-{os.getpid()}").is_dir():
                (parent / f"heapwright-test-{os.getpid()}").rmdir()
    if not group:
        pytest.skip("a memory control group cannot be made here: it needs root and a writable /sys/fs/cgroup")
    yield group
    group.folder.rmdir()


@pytest.fixture
def grow(compile_c):
    return compile_c(PROGRAMS / "until_killed.c", "-pthread", name="until_killed")


def check_killed(report, counts, threads):
    """Every block that the program allocated is there, and at most one more per thread."""
    numbers = struct.unpack(f"<{2 * threads}Q", counts.read_bytes()[: 16 * threads])
    size = next(size for size in report["sizes"] if size["size"] == BLOCK_BYTES)
    allocations = sum(numbers[0::2])
    assert GROUP_BYTES // 2 // BLOCK_BYTES < allocations <= size["calls"] <= allocations + threads
    assert size["live_blocks"] == size["calls"]
    assert report["lost_events"] == report["damaged_chunks"] == report["missing_chunks"] == 0


@pytest.mark.parametrize("place", ["disk", "memory"])
def test_killed_by_the_kernel(grow, preload, memory_group, tmp_path, place):
    counts = tmp_path / "counts"
    trace = Path(f"/dev/shm/heapwright-test-{os.getpid()}.hwt") if place == "memory" else None
    try:
        recording = preload([grow, counts, "grow", 3], trace=trace, preexec_fn=memory_group.enter)
        assert recording.process.returncode == -9
        check_killed(recording.report, counts, 3)
    finally:
        for path in recording.traces if place == "memory" else ():
            path.unlink()


def test_killed_by_the_kernel_under_the_launcher(grow, record, memory_group, tmp_path):
    """Both run within the limit, as they do in a container. The process that counts and packs must be killed before
    the program is. The process that waits for the program's exit status must not be killed, though the dying
    program's memory is still charged for a while."""
    counts = tmp_path / "counts"
    recording = record([grow, counts, "grow", 3], preexec_fn=memory_group.enter)
    assert recording.process.returncode == 128 + 9, recording.process.stderr
    assert "the process that follows the recording was killed" in recording.process.stderr
    check_killed(recording.report, counts, 3)


@pytest.mark.parametrize("mib", [60, 200, 600])
def test_no_address_space_left_in_the_middle(compile_c, check_counts_preload, mib):
    program = compile_c(PROGRAMS / "exhaust.c", name="exhaust")
    plain = subprocess.run([program, str(mib)], capture_output=True, text=True)
    recording = check_counts_preload([program, mib])
    assert (recording.process.returncode, recording.process.stdout, recording.process.stderr) == (0, plain.stdout, "")
    report = recording.report
    assert plain.stdout == "8 of 8 rounds\n" and report["failed_calls"] > 0
    assert report["unmatched_frees"] == report["missed_frees"] == 0


SMALL = """
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
  unsigned long sum = 0;
  for (int i = 0; i < 200000; i++) {
    unsigned char *volatile block = malloc((size_t)(100 + i % 100));
    block[0] = (unsigned char)i;
    sum += block[0];
    free(block);
  }
  printf("%lu\\n", sum);
  return 7;
}
"""


def test_little_address_space_from_the_start(compile_c, preload):
    """With 1 MiB more than the program needs, the library can be loaded. Once there is a trace, it has all events or
    says since when they are missing."""
    program, lowest = compile_c(SMALL), None
    for limit in [*range(2 * MIB, 8 * MIB, MIB // 4), 12 * MIB, 16 * MIB, 48 * MIB, 256 * MIB, 1024 * MIB]:
        def limited():
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

        plain = subprocess.run([program], capture_output=True, text=True, preexec_fn=limited)
        if plain.returncode != 7:
            continue
        lowest = lowest or limit
        if limit < lowest + MIB:  # the loader needs the room itself
            continue
        recording = preload([program], preexec_fn=limited)
        assert (recording.process.returncode, recording.process.stdout, recording.process.stderr) == (7, plain.stdout, "")
        if limit < lowest + 4 * MIB and not recording.trace.exists():
            continue
        report = recording.report
        assert report["allocation_calls"] >= 200000 or limit < lowest + 4 * MIB
        if report["allocation_calls"] + report["lost_events"] < 200000:
            assert "memory" in report["images"][0]["silences"][-1]["why"]
    assert lowest and lowest < 8 * MIB


@pytest.mark.parametrize("parent_has_begun", [0, 1])
def test_each_number_of_pages(compile_c, preload, parent_has_begun):
    """For each mapping at the beginning of a recording, there is a child in which it is the first one refused."""
    program = compile_c(PROGRAMS / "page_by_page.c", "-fno-optimize-sibling-calls", name="page_by_page")
    recording = preload([program, 700, parent_has_begun], env={"HEAPWRIGHT_MAX_SIZE": "4M"})
    assert (recording.process.returncode, recording.process.stdout, recording.process.stderr) == (0, "", "")
