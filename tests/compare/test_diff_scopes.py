"""test_diff_scopes.py - heapwright diff --by scope: scopes of equal names are one row, with exact changes

If this fails, a frame or a control cycle that allocates more than before does not show it.
"""

import json
import subprocess

import pytest

from conftest import ROOT

# `frames` frames allocate 100 bytes each, and 10 in "decode" inside, of which `held` are kept. The name of a scope that
# only one build has is OWN.
PROGRAM = """
#include <heapwright/monitor.h>
#include <stdlib.h>
static void *volatile kept[1000];
static void decode(int i)
{
  HW_SCOPE("decode");
  kept[i] = malloc(10);
  if (i >= HELD)
    free(kept[i]);
}
int main(void)
{
  for (int i = 0; i < FRAMES; i++) {
    HW_SCOPE("frame");
    void *volatile block = malloc(100);
    decode(i);
    free(block);
  }
  HW_SCOPE(OWN);
  kept[999] = malloc(7);
}
"""


@pytest.fixture
def frames(record, tmp_path):
    """frames(frames=10, held=0, own="a"): the recording of such a build."""

    def run(frames=10, held=0, own="only of OLD"):
        source, program = tmp_path / "frames.c", tmp_path / "frames"
        source.write_text(PROGRAM)
        macros = [f"-DFRAMES={frames}", f"-DHELD={held}", f'-DOWN="{own}"']
        subprocess.run(["gcc", "-O1", "-g", "-fno-builtin", f"-I{ROOT}/include", *macros, source, "-o", program], check=True)
        return record([program])

    return run


@pytest.fixture
def rows(hw):
    """rows(old, new, "--cost", "calls"): the rows of the comparison as JSON, by path."""

    def run(old, new, *options):
        done = hw("diff", "--by", "scope", "--json", *options, old.trace, new.trace)
        assert done.returncode == 0, done.stderr
        return {" > ".join(row["path"]): row for row in json.loads(done.stdout)["rows"]}

    return run


def test_changes_are_exact(frames, rows):
    found = rows(frames(frames=10), frames(frames=12, held=3, own="only of NEW"), "--cost", "bytes")
    assert {path: row["match"] for path, row in found.items()} == {
        "frame": "both", "frame > decode": "both", "only of OLD": "gone", "only of NEW": "new"}
    frame, decode = found["frame"], found["frame > decode"]
    assert (frame["change"]["calls"], frame["change"]["bytes"]) == (2, 200)
    assert (frame["total"]["change"]["calls"], frame["total"]["change"]["bytes"]) == (4, 220)
    assert decode["change"]["live_bytes"] == 30
    scope = decode["scope"]
    assert [scope[side]["instances"] for side in ("old", "new", "change")] == [10, 12, 2]
    assert [scope[side]["net_bytes"] for side in ("old", "new", "change")] == [0, 30, 30]
    assert scope["change"]["duration_ns"] == scope["new"]["duration_ns"] - scope["old"]["duration_ns"]
    assert found["only of NEW"]["scope"]["old"]["instances"] == 0
    assert found["only of NEW"]["scope"]["change"]["live_bytes_at_end"] == 7


def test_a_run_and_itself(frames, rows):
    recording = frames()
    assert rows(recording, recording) == {}


def test_the_text_names_both_runs(frames, hw):
    text = hw("diff", "--by", "scope", "--cost", "calls", frames(frames=10).trace, frames(frames=12, held=3).trace).stdout
    words = " ".join(text.split())
    assert "Scopes that changed by allocations" in words
    assert "+2 +20.0 % 10 12 +4 frame instances 12, was 10; allocating 12, was 10; mean" in words
    assert "+2 +20.0 % 10 12 +2 frame > decode" in words and "net +30 B, was +0; most net in one 10 B" in words
    assert "only of OLD" not in words  # it did not change


def test_filters_choose_scopes(frames, rows, hw):
    old, new = frames(frames=10), frames(frames=12, held=3)
    assert set(rows(old, new, "--cost", "calls", "--only", "scope=decode")) == {"frame", "frame > decode"}
    narrowed = rows(old, new, "--cost", "calls", "--ignore", "scope=decode")
    assert narrowed["frame"]["total"]["change"]["calls"] == 2 and "frame > decode" not in narrowed
    done = hw("diff", "--json", "--only", "scope=decode", "--cost", "live", old.trace, new.trace)
    assert json.loads(done.stdout)["change"]["live_bytes"] == 30
    # a status of 1 if the scope grew, and 0 within the threshold
    grew = ["diff", "--by", "scope", "--cost", "live", "--exit-code"]
    assert hw(*grew, old.trace, new.trace).returncode == 1
    assert hw(*grew, "--threshold", "30", old.trace, new.trace).returncode == 0


def test_check_against_a_baseline(frames, hw):
    old, new = frames(frames=10), frames(frames=12, held=3)
    check = ["check", "--baseline", old.trace, new.trace]
    assert hw(*check, "--max", "calls(scope=decode)=+2").returncode == 0
    failed = hw(*check, "--max", "calls(scope=decode)=+1")
    assert failed.returncode == 1 and "12" in failed.stdout and "10" in failed.stdout


def test_without_scopes(record, hw, frames, tmp_path):
    recording = record(["/bin/true"])
    same = hw("diff", "--by", "scope", recording.trace, recording.trace)
    assert same.returncode == 0 and "nothing: neither program marked scopes" in same.stdout
    marked = frames()
    assert "only of OLD" in hw("diff", "--by", "scope", "--cost", "calls", recording.trace, marked.trace).stdout
    saved = tmp_path / "saved.json"
    assert hw("report", "-o", saved, marked.trace).returncode == 0
    done = hw("diff", "--by", "scope", saved, marked.trace)
    assert done.returncode == 2 and "give the recording itself" in done.stderr


def test_a_chart(frames, hw, tmp_path):
    script = tmp_path / "change.gp"
    old, new = frames(frames=10), frames(frames=12)
    assert hw("diff", "--by", "scope", "--cost", "calls", "-o", script, old.trace, new.trace).returncode == 0
    assert "frame > decode" in script.read_text()
