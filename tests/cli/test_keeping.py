"""test_keeping.py - `record --keep-files`: a recording has its names after the program was rebuilt, or on another
machine
"""

import json
import os
import shutil
import subprocess

import pytest
from small_disk import small_disk

PROGRAM = """
#include <stdlib.h>
static void *volatile kept;
__attribute__((noipa)) void NAME(void) { kept = malloc(SIZE); }
int main(void) { NAME(); return 7; }
"""


@pytest.fixture
def build_program(tmp_path):
    """build_program(NAME="load", SIZE=1000): builds app, replacing an earlier one."""

    def run(**macros):
        (tmp_path / "app.c").write_text(PROGRAM)
        flags = [f"-D{name}={value}" for name, value in macros.items()]
        subprocess.run(["gcc", "-O1", "-g", "-o", "app", *flags, "app.c"], cwd=tmp_path, check=True)
        return tmp_path / "app"

    return run


def stack(hw, trace, size):
    done = hw("report", "--json", "--only", f"size={size}", trace)
    assert done.returncode == 0, done.stderr
    return [(frame["function"], frame["line"]) for frame in json.loads(done.stdout)["top"][0]["stack"][:2]]


def files_in(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_names_outlive_a_rebuild_in_place(hw, record, build_program, tmp_path):
    first = record([build_program(NAME="load", SIZE=1000)], "--keep-files")
    assert first.process.returncode == 7
    assert f"heapwright: files: {first.trace}.files (" in first.process.stderr
    second = record([build_program(NAME="load", SIZE=1500)], "--keep-files")
    build_program(NAME="other", SIZE=1)
    assert stack(hw, first.trace, 1000) == stack(hw, second.trace, 1500) == [("load", 4), ("main", 5)]
    done = hw("diff", "--json", first.trace, second.trace)
    rows = [row for row in json.loads(done.stdout)["rows"] if row["change"]["peak_bytes"]]
    assert [(row["match"], row["change"]["peak_bytes"]) for row in rows] == [("both", 500)]
    assert "has no names for" not in hw("diff", first.trace, second.trace).stdout
    assert hw("check", second.trace, "--baseline", first.trace, "--max", "bytes(func=load)=+500").returncode == 0
    done = hw("export", first.trace, "-o", "-", "--format", "folded")
    assert ";main;load 1000\n" in done.stdout


def test_what_is_kept_moves_with_the_trace(hw, record, build_program, tmp_path):
    trace = record([build_program(NAME="load", SIZE=1000)], "--keep-files").trace
    away = tmp_path / "away"
    away.mkdir()
    shutil.move(trace, away / "moved.hwt")
    build_program(NAME="other", SIZE=1)
    assert stack(hw, away / "moved.hwt", 1000)[0][0] is None
    shutil.move(f"{trace}.files", away / "moved.hwt.files")
    assert stack(hw, away / "moved.hwt", 1000) == [("load", 4), ("main", 5)]


def test_children_s_files_are_kept(hw, record, build_program, tmp_path):
    app = build_program(NAME="load", SIZE=100000)
    trace = record(["sh", "-c", f"{app}; true"], "--keep-files").trace
    build_program(NAME="other", SIZE=1)
    assert stack(hw, trace, 100000)[0][0] == "load"
    child = next(path for path in (trace.parent / f"{trace.name}.children").glob("*.hwt") if "app" in hw("report", path).stdout.splitlines()[0])
    assert stack(hw, child, 100000)[0][0] == "load"


def test_a_file_is_copied_once_and_whole(record, build_program, tmp_path):
    trace = record([build_program(NAME="load", SIZE=1000)], "--keep-files", trace=tmp_path / "one.hwt").trace
    before = {path: path.stat().st_ino for path in files_in(tmp_path / "one.hwt.files")}
    again = record([tmp_path / "app"], "--keep-files", trace=trace)
    assert {path: path.stat().st_ino for path in files_in(tmp_path / "one.hwt.files")} == before
    assert "0 more than before" in again.process.stderr
    assert any(path.read_bytes() == (tmp_path / "app").read_bytes() for path in before)
    assert all(path.suffix == ".debug" for path in before)


def test_nothing_is_kept_unless_asked_for(record, build_program):
    trace = record([build_program(NAME="load", SIZE=1000)]).trace
    assert not os.path.exists(f"{trace}.files")


def test_trouble_is_told_and_the_command_s_status_stays(hw, record, build_program, tmp_path):
    (tmp_path / "one.hwt.files").write_text("in the way")
    run = record([build_program(NAME="load", SIZE=1000)], "--keep-files", "-q", trace=tmp_path / "one.hwt")
    assert run.process.returncode == 7
    assert f"to {tmp_path}/one.hwt.files: Not a directory; the trace is complete" in run.process.stderr
    assert stack(hw, run.trace, 1000)[0][0] == "load"


def test_files_without_a_build_id_are_told(record, tmp_path):
    (tmp_path / "app.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-O1", "-Wl,--build-id=none", "-DNAME=load", "-DSIZE=9", "-o", "app", "app.c"], cwd=tmp_path, check=True)
    run = record([tmp_path / "app"], "--keep-files")
    assert "1 file was not kept: without a build-id" in run.process.stderr


def test_a_full_disk_leaves_no_half_file(hw, record, build_program, tmp_path):
    """libc has more than a megabyte; no stored file, export or report is there in part."""
    with small_disk(tmp_path / "disk", "1m") as disk:
        (disk / "one.hwt.files").mkdir()
        (tmp_path / "one.hwt.files").symlink_to(disk / "one.hwt.files")
        run = record([build_program(NAME="load", SIZE=1000)], "--keep-files", trace=tmp_path / "one.hwt")
        assert run.process.returncode == 7 and "No space left on device; the trace is complete" in run.process.stderr
        kept = files_in(disk)
        assert all(path.suffix == ".debug" for path in kept)
        (disk / "ballast").write_bytes(bytes((1 << 20) - sum(path.stat().st_size for path in kept) - 65536 & ~4095))
        before = files_in(disk)
        program = "import json; [json.loads('[' + ','.join(['1'] * 100) + ']') for i in range(300)]"
        trace = record(["python3", "-c", program], trace=tmp_path / "large.hwt").trace
        for name in ["x.speedscope.json", "x.sqlite", "x.folded", "x.heaptrack", "x.csv", "x.pb.gz", "x.trace.json", "x.massif", "x.dhat", "x.heaplog", "x.callgrind"]:
            done = hw("export", trace, "-o", disk / name, "--events", "1000") if "trace" in name else hw("export", trace, "-o", disk / name)
            if done.returncode == 0:  # it was small enough
                (disk / name).unlink()
            else:
                assert done.returncode == 2 and "No space left on device" in done.stderr, (name, done.stderr)
            assert files_in(disk) == before, name
        done = hw("report", "--json", trace, "-o", disk / "x.json")
        assert done.returncode == 2 and done.stderr == f"heapwright: cannot write {disk}/x.json: No space left on device\n"
        assert files_in(disk) == before
