"""test_windows.py - recordings of Linux are explained by heapwright.exe, under wine, as they are on Linux

Needs the build of `tools/cross.sh windows build`, and is run by `tools/cross.sh windows test`. If this fails, a user of Windows sees
other figures or names, or files that Linux' tools cannot read.
"""

import gzip
import json
import os
import subprocess

import pytest

CROSS = os.environ.get("HW_CROSS_BUILD")
pytestmark = pytest.mark.skipif(not CROSS or os.environ.get("HW_CROSS_ARCH") != "windows",
                                reason="needs tools/cross.sh windows test")
FORMATS = ["folded", "dhat", "callgrind", "speedscope", "pprof", "massif"]
PROGRAM = r"""
#include <string>
#include <thread>
#include <vector>
#include <cstdlib>
struct Käse { std::vector<std::string> parts; };
__attribute__((noinline)) void fill(Käse &käse, int count)
{
  for (int i = 0; i < count; i++)
    käse.parts.push_back(std::string(100 + i % 50, 'x'));
}
int main()
{
  Käse käse;
  fill(käse, 2000);
  std::thread([] { free(malloc(7)); static void *volatile left; left = malloc(12345); }).join();
}
"""


@pytest.fixture(scope="module")
def wine(tmp_path_factory):
    """wine("report", ...): runs heapwright.exe in a folder; results as bytes."""
    prefix = tmp_path_factory.mktemp("wine")
    env = {**os.environ, "WINEPREFIX": str(prefix), "WINEDEBUG": "-all", "COLUMNS": "100"}

    def run(*words, folder, ok=True):
        done = subprocess.run(["wine", f"{CROSS}/bin/heapwright.exe", *map(str, words)], cwd=folder, env=env,
                              capture_output=True, timeout=300)
        assert not ok or done.returncode == 0, done.stderr
        return done

    run("--version", folder=prefix)  # makes the prefix
    yield run
    subprocess.run(["wineserver", "-k"], env=env, check=False)


@pytest.fixture(scope="module")
def linux(build):
    def run(*words, folder, ok=True):
        env = {**os.environ, "COLUMNS": "100", "LC_ALL": "C.UTF-8"}
        done = subprocess.run([build / "bin" / "heapwright", *map(str, words)], cwd=folder, env=env, capture_output=True,
                              timeout=300)
        assert not ok or done.returncode == 0, done.stderr
        return done

    return run


@pytest.fixture(scope="module")
def recorded(tmp_path_factory, linux):
    """A folder with a recording whose names are kept, and without its program."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "program.cc").write_text(PROGRAM)
    subprocess.run(["g++", "-g", "-O1", "-pthread", "program.cc", "-o", "program"], cwd=folder, check=True)
    linux("record", "-q", "-o", "run.hwt", "./program", folder=folder)
    (folder / "run.hwt").rename(folder / "ein Käse.hwt")
    linux("report", "--keep-names", "-o", "first.txt", "ein Käse.hwt", folder=folder)
    (folder / "moved").mkdir()
    return folder


def test_reports_are_the_same(wine, linux, recorded):
    """The bytes of all reports are, with the names of functions, files and lines."""
    reports = [["report"], ["report", "--json"], ["report", "--by", "line"], ["report", "--leaks", "--frames", "all"],
               ["report", "--tree"], ["check", "--max", "peak=1GB"], ["check", "--max", "calls(func=fill*)=1"],
               ["diff", "ein Käse.hwt"], ["diff", "--json", "ein Käse.hwt"], ["tune"]]
    for words in reports:
        ours = wine(*words, "ein Käse.hwt", folder=recorded, ok=False)
        theirs = linux(*words, "ein Käse.hwt", folder=recorded, ok=False)
        assert ours.stdout == theirs.stdout, words
        assert ours.returncode == theirs.returncode, words
    report = json.loads(wine("report", "--json", "ein Käse.hwt", folder=recorded).stdout)
    frames = [frame for row in report["top"] for frame in row["stack"]]
    assert any(frame["function"] == "fill(Käse&, int)" and frame["file"].endswith("program.cc") and frame["line"] == 10
               for frame in frames)


def test_exports_are_the_same(wine, linux, recorded):
    for form in FORMATS:
        outs = [recorded / f"{system}.{form}" for system in ("windows", "linux")]
        for run, out in zip((wine, linux), outs):
            run("export", "--format", form, "-o", out.name, "ein Käse.hwt", folder=recorded)
        ours, theirs = (out.read_bytes() for out in outs)
        if ours[:2] == b"\x1f\x8b":  # the header of gzip names the system
            ours, theirs = gzip.decompress(ours), gzip.decompress(theirs)
        assert ours == theirs, form


def test_page_is_the_same(wine, linux, recorded):
    """It contains compressed data, which two versions of a library may pack in two ways, so the data is compared unpacked."""
    for system, run in (("windows", wine), ("linux", linux)):
        run("report", "-o", f"{system}.html", "ein Käse.hwt", folder=recorded)
        run("report", "--format", "page", "-o", f"{system}.page.json", "ein Käse.hwt", folder=recorded)
    ours, theirs = json.loads((recorded / "windows.page.json").read_bytes()), json.loads((recorded / "linux.page.json").read_bytes())
    assert ours == theirs
    assert (recorded / "windows.html").read_bytes() == (recorded / "linux.html").read_bytes()


def test_paths_of_windows(wine, recorded):
    """Backslashes, a drive, spaces and letters beyond ASCII name the same file."""
    wide = "Z:" + str(recorded / "ein Käse.hwt").replace("/", "\\")
    assert wine("report", wide, folder=recorded).stdout.splitlines()[1:] == \
        wine("report", "ein Käse.hwt", folder=recorded).stdout.splitlines()[1:]
    wine("report", "-o", "moved\\größe.json", ".\\ein Käse.hwt", folder=recorded)
    assert b"\r" not in (recorded / "moved" / "größe.json").read_bytes()


def test_errors_are_the_same(wine, linux, recorded):
    (recorded / "text.hwt").write_text("this is no recording\r\n")
    damaged = bytearray((recorded / "ein Käse.hwt").read_bytes())
    (recorded / "short.hwt").write_bytes(damaged[:100])
    for words in (["report", "missing.hwt"], ["report", "text.hwt"], ["report", "short.hwt"], ["report", "--nonsense", "x"],
                  ["check", "ein Käse.hwt"], ["report", "-o", "ein Käse.hwt", "ein Käse.hwt"], ["reprot"],
                  ["export", "-o", "x.unknown", "ein Käse.hwt"], ["report", "-o", "missing/x.json", "ein Käse.hwt"]):
        ours, theirs = (run(*words, folder=recorded, ok=False) for run in (wine, linux))
        assert (ours.returncode, ours.stderr) == (theirs.returncode, theirs.stderr), words


def test_recording_is_refused(wine, recorded):
    done = wine("record", "-o", "x.hwt", "--", "program.exe", folder=recorded, ok=False)
    assert done.returncode == 2
    assert done.stderr == b"heapwright: recording is not possible on Windows; record on Linux and copy the trace\n"
    assert b"explain a recording" in wine("help", folder=recorded).stdout
    for command in ("live", "core", "run", "test", "leaks", "import", "control", "push"):
        done = wine(command, "--whatever", folder=recorded, ok=False)
        assert done.returncode == 2 and b"on Linux" in done.stderr, command


def test_without_kept_names(wine, recorded):
    """Addresses remain, as on a machine of Linux without the program; figures are the same."""
    (recorded / "bare.hwt").write_bytes((recorded / "ein Käse.hwt").read_bytes())
    report = json.loads(wine("report", "--json", "bare.hwt", folder=recorded).stdout)
    named = json.loads(wine("report", "--json", "ein Käse.hwt", folder=recorded).stdout)
    assert report["peak_bytes"] == named["peak_bytes"] and report["allocation_calls"] == named["allocation_calls"]
    assert {frame["reason"] for row in report["top"] for frame in row["stack"]} == {"no file"}
