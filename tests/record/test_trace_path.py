"""test_trace_path.py - where a trace goes when only the library is preloaded and no output is named

Breaks if a program leaves no trace in a folder that it may not write to, or if folders are created that must not be.
"""

import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

UNWRITABLE = "/proc"  # for root, too
PLACES = ("HOME", "XDG_STATE_HOME", "TMPDIR")


@pytest.fixture
def leave_trace(recorder):
    """Runs a program with only these places in its environment. Returns its trace, which is somewhere below `here`."""

    def run(here, **places):
        kept = {name: value for name, value in os.environ.items() if name not in PLACES and not name.startswith("HEAPWRIGHT_")}
        environment = {**kept, **{name: str(value) for name, value in places.items()}}
        environment.update(LD_PRELOAD=str(recorder), HEAPWRIGHT_MAX_SIZE="4M")
        process = subprocess.Popen(["sort", os.devnull], cwd=UNWRITABLE, env=environment, stderr=subprocess.PIPE, text=True)
        assert (process.communicate()[1], process.returncode) == ("", 0)
        name = f"heapwright.sort.{process.pid}.hwt"
        (trace,) = here.glob(name) if here == Path("/tmp") else here.rglob(name)
        return trace

    return run


def test_the_state_home_is_made(leave_trace, tmp_path):
    trace = leave_trace(tmp_path, XDG_STATE_HOME=tmp_path / "a/b/c", HOME=tmp_path, TMPDIR=tmp_path)
    assert trace.parent == tmp_path / "a/b/c/heapwright"
    for folder in ("a", "a/b", "a/b/c", "a/b/c/heapwright"):
        assert stat.S_IMODE((tmp_path / folder).stat().st_mode) == 0o700
    assert leave_trace(tmp_path, HOME=tmp_path, XDG_STATE_HOME=tmp_path / "a/b/c").parent == trace.parent, "it is there already"


@pytest.mark.parametrize("state_home", [None, "relative/path"])
def test_below_the_home_folder(leave_trace, tmp_path, state_home):
    places = {"XDG_STATE_HOME": state_home} if state_home else {}
    assert leave_trace(tmp_path, HOME=tmp_path, TMPDIR=tmp_path, **places).parent == tmp_path / ".local/state/heapwright"


def test_a_home_folder_that_is_not_there_is_not_made(leave_trace, tmp_path):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    assert leave_trace(tmp_path, HOME=tmp_path / "nobody", TMPDIR=temporary).parent == temporary
    assert not (tmp_path / "nobody").exists()


def test_without_any_name_of_a_place(leave_trace):
    trace = leave_trace(Path("/tmp"))
    assert trace.parent == Path("/tmp")
    trace.unlink()


def assert_private(recording):
    assert len(recording.traces) > 1
    for path in recording.traces:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(recording.traces[1].parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("mask", [0, 0o177, 0o777])
def test_only_its_user_can_read_it(preload, record, mask):
    """Whatever the umask is: a trace holds paths and arguments. The launcher's packing makes another file."""
    command = ["sh", "-c", "/bin/ls / >/dev/null; /bin/true"]
    for run in (preload, record):
        recording = run(command, preexec_fn=lambda: os.umask(mask))
        assert recording.process.returncode == 0
        assert_private(recording)


def test_it_is_called_as_what_was_run(recorder, tmp_path):
    """A program that was started through a symbolic link used to get the name of the link's target, and a script
    that of its interpreter."""
    (tmp_path / "friendly").symlink_to(shutil.which("sort"))
    script = tmp_path / "task"
    script.write_text("#!/bin/sh\n./friendly /dev/null; exit 0\n")
    script.chmod(0o755)
    subprocess.run(["./task"], cwd=tmp_path, env={**os.environ, "LD_PRELOAD": str(recorder)}, check=True)
    assert {trace.name.split(".")[1] for trace in tmp_path.glob("*.hwt")} == {"task", "friendly"}
