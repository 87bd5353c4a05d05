"""test_children.py - children made in every way: each has its trace, its counts and its stacks, and the parent notices
nothing

Breaks if a child writes into its parent's trace, if its first events are lost, or if a fork at a bad moment hangs or
kills it.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs"
FORK_LOCKS = Path(__file__).parents[1] / "allocators/programs/fork_locks.c"


@pytest.fixture
def children(compile_c):
    return compile_c(PROGRAMS / "children.c", "-pthread", name="children")


@pytest.mark.parametrize("kind", ["fork", "_Fork", "clone", "threads"])
def test_ten_generations(children, preload, kind):
    plain = subprocess.run([children, kind, "10"], capture_output=True, text=True, timeout=60)
    recording = preload([children, kind, "10"], timeout=60)
    assert (recording.process.returncode, recording.process.stdout) == (plain.returncode, plain.stdout)
    assert len(recording.traces) == 11
    for trace in recording.traces[1:]:
        done = recording.hw("report", "--json", trace)
        assert done.returncode == 0, done.stderr
        report = json.loads(done.stdout)
        assert report["lost_events"] == report["unmatched_frees"] == report["missed_frees"] == 0
        assert report["inherited_frees"] >= 1
        sizes = {entry["size"]: entry["calls"] for entry in report["sizes"]}
        assert any(100 <= size <= 110 and calls % 100 == 0 for size, calls in sizes.items())
        for stack in report["top"]:
            names = [frame["function"] for frame in stack["stack"]]
            if "use_heap" in names:
                assert "descend" in names and "main" in names  # inherited nodes resolve


def test_vfork(children, preload):
    recording = preload([children, "vfork", "10"])
    assert recording.process.stdout == "done 0\n"
    assert recording.report["damaged_chunks"] == 0


@pytest.mark.parametrize("place", ["stdio", "loader", "locale", "names", "programs", "malloc", "fork"])
def test_forks_while_threads_are_in_libc(compile_c, record, place):
    """A child used to call the loader, whose lock another thread of its parent had held, and to wait for ever."""
    program = compile_c(FORK_LOCKS, "-pthread", name="fork_locks")
    recording = record([program, place], timeout=60)
    assert (recording.process.returncode, recording.process.stdout) == (0, "done\n")
    report = recording.report
    assert report["lost_events"] == report["children_unseen"] == 0
    assert len(recording.traces) >= 121  # what fork_locks does without HW_FORKS


def test_no_children(children, preload):
    recording = preload([children, "fork", "3"], env={"HEAPWRIGHT_CHILDREN": "0"})
    assert recording.process.stdout == "done 0\n"
    assert len(recording.traces) == 1


@pytest.mark.parametrize("how", ["descriptors", "chroot"])
@pytest.mark.parametrize("with_launcher", [True, False])
def test_children_without_a_place_are_counted(compile_c, preload, record, how, with_launcher):
    """They used to be left out without a message."""
    if how == "chroot" and os.geteuid() != 0:
        pytest.skip("only root may chroot")
    program = compile_c(PROGRAMS / "no_place.c", name="no_place")
    recording = (record if with_launcher else preload)([program, how, "3"])
    assert (recording.process.returncode, recording.process.stdout) == (0, "done 0\n")
    assert len(recording.traces) == 1
    report = recording.report
    assert report["children_unseen"] == 3
    sizes = {entry["size"]: entry["calls"] for entry in report["sizes"]}
    assert sizes[1000] == 2  # the parent's own, and none of a child
    assert report["damaged_chunks"] == 0
    assert "3 children unseen" in recording.hw("report", recording.trace).stdout


FORKS = """
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void *volatile sink;
int main(void)
{
  int status = 1;
  free(sink = malloc(1000));
  if (!fork()) {
    free(sink = malloc(2000));
    _exit(0);
  }
  wait(&status);
  free(sink = malloc(1000));
  return status;
}
"""


@pytest.mark.parametrize("with_launcher", [True, False])
def test_no_child_is_written_through_a_link(compile_c, preload, record, tmp_path, with_launcher):
    """A children's folder that was a symbolic link used to be followed, whichever user had made it."""
    elsewhere, trace = tmp_path / "elsewhere", tmp_path / "s.hwt"
    elsewhere.mkdir()
    Path(f"{trace}.children").symlink_to(elsewhere)
    recording = (record if with_launcher else preload)([compile_c(FORKS)], trace=trace)
    assert recording.process.returncode == 0, recording.process.stderr
    assert list(elsewhere.iterdir()) == []
    report = recording.report
    assert report["children_unseen"] == 1
    assert {entry["size"]: entry["calls"] for entry in report["sizes"]}[1000] == 2


def test_import_writes_no_child_through_a_link(compile_c, preload, hw, tmp_path):
    recording = preload([compile_c(FORKS)])
    elsewhere, packed = tmp_path / "elsewhere", tmp_path / "packed.hwt"
    elsewhere.mkdir()
    Path(f"{packed}.children").symlink_to(elsewhere)
    done = hw("import", recording.trace, "-o", packed)
    assert (done.returncode != 0, "packed.hwt.children exists and is no folder" in done.stderr) == (True, True)
    assert list(elsewhere.iterdir()) == []
