"""test_windows.py - recordings of Linux are explained by heapwright.exe, under wine, as they are on Linux

Needs the build of `tools/cross.sh windows build`, and is run by `tools/cross.sh windows test`. If this fails, a user of Windows sees
other figures or names, or files that Linux' tools cannot read.
"""

import gzip
import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from conftest import ROOT

CROSS = os.environ.get("HW_CROSS_BUILD")
pytestmark = pytest.mark.skipif(not CROSS or os.environ.get("HW_CROSS_ARCH") != "windows",
                                reason="needs tools/cross.sh windows test")
DLLS = {"KERNEL32.dll", "msvcrt.dll", "api-ms-win-core-synch-l1-2-0.dll"}  # of Windows 8 and later
FORMATS = ["folded", "dhat", "callgrind", "speedscope", "pprof", "massif"]
PROGRAM = r"""
#include <string>
#include <thread>
#include <vector>
#include <cstdio>
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
  static void *volatile pair[2];
  pair[0] = malloc(31), pair[1] = malloc(33);
  puts("The stream's buffer is a block of libc's.");
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
    assert any(frame["function"] == "fill(Käse&, int)" and frame["file"].endswith("program.cc") and frame["line"] == 11
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
    for words in (["report", "missing.hwt"], ["report", "short.hwt"], ["report", "--nonsense", "x"],
                  ["check", "ein Käse.hwt"], ["report", "-o", "ein Käse.hwt", "ein Käse.hwt"], ["reprot"],
                  ["export", "-o", "x.unknown", "ein Käse.hwt"], ["report", "-o", "missing/x.json", "ein Käse.hwt"]):
        ours, theirs = (run(*words, folder=recorded, ok=False) for run in (wine, linux))
        assert (ours.returncode, ours.stderr) == (theirs.returncode, theirs.stderr), words


def test_recording_is_refused(wine, recorded):
    done = wine("record", "-o", "x.hwt", "--", "program.exe", folder=recorded, ok=False)
    assert done.returncode == 2
    assert done.stderr == b"heapwright: recording is not possible on Windows; record on Linux and copy the trace\n"
    for command in ("live", "core", "run", "test", "leaks", "import", "control", "push"):
        done = wine(command, "--whatever", folder=recorded, ok=False)
        assert done.returncode == 2 and b"on Linux" in done.stderr, command


def test_advice_is_for_windows(wine, recorded):
    """Help and errors name what a user can do there."""
    printed = wine("help", folder=recorded).stdout
    assert b"explain a recording" in printed and b"\nBegin on Linux with:\n" in printed and b"Begin with" not in printed
    (recorded / "text.hwt").write_text("this is no recording\r\n")
    done = wine("report", "text.hwt", folder=recorded, ok=False)
    assert done.stderr == b"heapwright: text.hwt is not a heapwright trace; make one on Linux with: heapwright record COMMAND\n"
    for words in (["-o", "x.sqlite"], ["--format", "sqlite", "-o", "x"]):
        done = wine("export", *words, "ein Käse.hwt", folder=recorded, ok=False)
        assert done.stderr.startswith(b"heapwright: an SQLite database needs a 64-bit sqlite3.dll in the folder of heapwright.exe: ")
        assert done.returncode == 2 and not (recorded / words[-1]).exists()


def without_places(report):
    """The figures of a report: without what says where calls are, and which file was read."""
    rows = [{key: value for key, value in row.items() if key != "stack"} for row in report["top"]]
    return {**{key: value for key, value in report.items() if key not in ("trace", "images")}, "top": rows}


def test_without_kept_names(wine, recorded):
    """Addresses remain, as on a machine of Linux without the program. docs/windows.md says which figures are others."""
    (recorded / "bare.hwt").write_bytes((recorded / "ein Käse.hwt").read_bytes())

    def reports(*options):
        return (json.loads(wine("report", "--json", *options, name, folder=recorded).stdout) for name in ("bare.hwt", "ein Käse.hwt"))

    bare, named = reports()
    assert {frame["reason"] for row in bare["top"] for frame in row["stack"]} == {"no file"}
    assert without_places(bare) == without_places(named) and bare["sizes"] and bare["by_thread"] and bare["timeline"]
    rows = [len(re.findall(rb"^ +\d+ +[\d.]+ k?B ", wine("report", "--top", "0", name, folder=recorded).stdout, re.M))
            for name in ("bare.hwt", "ein Käse.hwt")]
    assert rows[0] == rows[1] + 1 > 4  # one line, two calls
    bare, named = reports("--leaks")
    assert sum(row["live_blocks"] for row in bare["top"]) == sum(row["live_blocks"] for row in named["top"]) + 1  # the buffer
    bare, named = reports("--by", "function")
    assert len(bare["by_function"]) == len({row["module"] for row in named["by_function"]}) == 4
    bare, named = reports("--only", "func=fill*")
    assert bare["top"] == [] != named["top"]


def test_licences_of_what_is_linked_in():
    """docs/packages.md names them all."""
    listed = set(re.findall(r"^\| `([\w.+-]+)` \| linked.*indows", (ROOT / "docs/packages.md").read_text(), re.M))
    archives = {Path(path).stem for path in re.findall(r"^(\S+\.a)\(", Path(CROSS, "heapwright.map").read_text(), re.M)}
    names = {"libpthread": "winpthreads", **dict.fromkeys(["libmingw32", "libmingwex", "libmsvcrt", "libkernel32", "libsynchronization"], "mingw-w64")}
    assert {names.get(archive, archive) for archive in archives if not re.match("lib(hw|heapwright)-", archive)} == listed


def test_it_needs_windows_alone():
    """No library of mingw-w64's or of Debian's has to be copied with heapwright.exe; docs/windows.md names all that are needed."""
    [line] = [line for line in (ROOT / "docs/windows.md").read_text().splitlines() if "KERNEL32.dll" in line]
    assert set(re.findall(r"`([\w-]+\.dll)`", line)) == DLLS
    imported = {}
    for file in (*Path(CROSS, "bin").iterdir(), *Path(CROSS, "lib").rglob("*.dll")):
        headers = subprocess.run(["x86_64-w64-mingw32-objdump", "-p", file], capture_output=True, text=True, check=True).stdout
        imported[file.name] = set(re.findall(r"DLL Name: (\S+)", headers))
    assert imported == {"heapwright.exe": DLLS}
