"""test_export.py - common to all formats: how one is selected, where the output goes, and the messages for errors"""

import os
import subprocess

import pytest


def formats(hw):
    lines = hw("export", "--help").stdout.split("formats, and the suffixes of FILE:\n")[1].splitlines()
    return {line.split()[0]: line.split()[1] for line in lines}


def test_help_lists_the_formats(hw):
    found = formats(hw)
    assert found["pprof"] == ".pb.gz" and found["folded"] == ".folded" and found["speedscope"] == ".speedscope.json"


def test_the_suffix_chooses_the_format_and_so_does_format(hw, export, tracks):
    for name, suffix in formats(hw).items():
        assert export(tracks, "one" + suffix).read_bytes() == export(tracks, "other", "--format", name).read_bytes()


@pytest.mark.parametrize(
    "arguments, words",
    [
        ([], ["export needs -o FILE"]),
        (["-o", ""], ["export needs -o FILE"]),
        (["-o", "-"], ["--format NAME"]),
        (["-o", "x.json"], ["x.json", "has no suffix of a format", "heapwright help export"]),
        (["-o", "x", "--format", "folde"], ["no format 'folde'", "did you mean 'folded'"]),
        (["-o", "x", "--format", "yaml"], ["no format 'yaml'", "help export"]),
        (["-o", "/nowhere/x.folded"], ["cannot write /nowhere/x.folded: No such file or directory"]),
        (["-o", "x.folded", "--children", "--pid", "1"], ["leave one of them out"]),
        (["-o", "x.folded", "second.hwt"], ["one too many"]),
    ],
)
def test_what_is_wrong_is_worded(hw, tracks, tmp_path, arguments, words):
    done = hw("export", tracks, *arguments, cwd=tmp_path)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("heapwright: ") and done.stderr.count("\n") == 1
    for word in words:
        assert word in done.stderr
    assert os.listdir(tmp_path) == []


def test_that_a_recording_is_not_complete_is_told(hw, tracks, tmp_path):
    """The formats cannot represent it, so a part would look like the whole."""
    cut = tmp_path / "cut.hwt"
    cut.write_bytes(tracks.read_bytes()[:-1])
    done = hw("export", cut, "-o", tmp_path / "x.folded")
    assert (done.returncode, done.stderr) == (
        0, "heapwright: the recording is not complete: the trace is damaged; 'heapwright report' explains it\n")
    assert hw("export", tracks, "-o", tmp_path / "x.folded").stderr == ""


def test_the_recording_is_not_overwritten(hw, tracks):
    before = tracks.read_bytes()
    done = hw("export", tracks, "-o", tracks, "--format", "folded")
    assert done.returncode == 2 and "this is a recording, which is not overwritten" in done.stderr
    assert tracks.read_bytes() == before


def test_stdout(hw, export, tracks):
    done = hw("export", tracks, "-o", "-", "--format", "folded")
    assert done.returncode == 0 and done.stdout == export(tracks, "x.folded").read_text()


@pytest.mark.parametrize("large", [False, True])
def test_a_full_disk_leaves_nothing(hw, record, tracks, tmp_path, tmp_path_factory, large):
    """Neither half a file nor a temporary one; the old file stays. The disk fills up while the format is written, or
    at the end."""
    trace = record(["/usr/bin/python3", "-c", "1"], trace=tmp_path_factory.mktemp("large") / "python.hwt").trace if large else tracks
    limit = lambda: __import__("resource").setrlimit(__import__("resource").RLIMIT_FSIZE, (100, 100))
    for name, suffix in formats(hw).items():
        path = tmp_path / ("full" + suffix)
        path.write_text("earlier")
        done = hw("export", trace, "-o", path, preexec_fn=limit)
        assert done.returncode == 2, name
        assert f"cannot write {path}: File too large" in done.stderr
        assert path.read_text() == "earlier"
        path.unlink()
        assert os.listdir(tmp_path) == []


def test_devices_are_written_to_and_not_replaced(hw, tracks):
    for name in formats(hw):
        if name == "sqlite":
            continue
        done = hw("export", tracks, "-o", "/dev/full", "--format", name)
        assert done.returncode == 2 and "cannot write /dev/full: No space left on device" in done.stderr, name
        done = hw("export", tracks, "-o", "/dev/null", "--format", name)
        assert done.returncode == 0, done.stderr
        with open("/dev/full", "wb") as full:
            done = subprocess.run(hw("export").args[:1] + ["export", tracks, "-o", "-", "--format", name], stdout=full, stderr=subprocess.PIPE, text=True)
        assert done.returncode == 2 and "No space left on device" in done.stderr, name


def test_links_stay_links(hw, export, tracks, tmp_path):
    (tmp_path / "link.folded").symlink_to("real.folded")
    (tmp_path / "real.folded").write_text("")
    path = tmp_path / "link.folded"
    assert hw("export", tracks, "-o", path).returncode == 0
    assert path.is_symlink() and (tmp_path / "real.folded").stat().st_size > 0
