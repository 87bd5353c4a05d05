"""test_links.py - which files may be at a trace's name when only the library is preloaded

Breaks if a link that another user has made leads a trace to another place, or if a file that is not an old trace is
replaced.
"""

import os

import pytest

from trace_header import is_begun, read_header

PROGRAM = ["sort", os.devnull]
SMALL = {"HEAPWRIGHT_MAX_SIZE": "4M"}
NOBODY = 65534


@pytest.fixture
def leaves(preload, tmp_path):
    """Runs a program whose trace is to be written to `name`, and checks that its behaviour does not change."""

    def run(name):
        recording = preload(PROGRAM, env=SMALL, trace=tmp_path / name)
        process = recording.process
        assert (process.returncode, process.stdout, process.stderr) == (0, "", "")
        return recording.trace

    return run


def test_an_old_trace_is_replaced(leaves):
    old = bytes(read_header(leaves("old.hwt")).image_id)
    assert bytes(read_header(leaves("old.hwt")).image_id) != old


@pytest.mark.parametrize("is_dangling", [True, False])
def test_no_trace_through_a_link(leaves, tmp_path, is_dangling):
    target, link = tmp_path / "target.hwt", tmp_path / "link.hwt"
    before = None if is_dangling else leaves(target.name).read_bytes()
    link.symlink_to(target.name)
    leaves(link.name)
    assert os.readlink(link) == target.name, "it was replaced"
    assert (target.read_bytes() if target.exists() else None) == before


def test_a_trace_of_another_user_is_not_replaced(leaves):
    if os.geteuid():
        pytest.skip("giving a file away needs root")
    theirs = leaves("theirs.hwt")
    os.chown(theirs, NOBODY, NOBODY)
    before = theirs.read_bytes()
    assert leaves("theirs.hwt").read_bytes() == before


@pytest.mark.parametrize("contents", [b"", b"a letter"])
def test_what_is_no_trace_is_not_replaced(leaves, tmp_path, contents):
    letter = tmp_path / "letter.hwt"
    letter.write_bytes(contents)
    leaves(letter.name)
    assert letter.read_bytes() == contents


def test_no_trace_in_a_folder_of_that_name(leaves, tmp_path):
    (tmp_path / "folder.hwt").mkdir()
    leaves("folder.hwt")
    assert not list((tmp_path / "folder.hwt").iterdir()) and not any(is_begun(path) for path in tmp_path.glob("*.new"))
