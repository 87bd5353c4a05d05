"""test_sysroot.py - names of a core dump from another machine: its files are below a folder, their debug files apart"""

import json
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from heap_listing import core_of, started

LIBRARY = """
#include <vector>
namespace shop {
struct Item { virtual ~Item() {} int data[10]; };
struct Book : Item { long more[4]; };
}
std::vector<shop::Item *> kept;
extern "C" void fill(void)
{
  for (int i = 0; i < 700; i++)
    kept.push_back(new shop::Book);
}
"""
PROGRAM = """
#include <cstdio>
#include <unistd.h>
struct Till { virtual ~Till() {} long sum; };
Till *till;
extern "C" void fill(void);
int main()
{
  till = new Till;
  fill();
  puts("ready");
  fflush(stdout);
  pause();
}
"""
NAMES = {"vtable for shop::Book": 700, "vtable for Till": 1}


class Machine:
    """The program ran at `folder`, whose files were moved to the same path below `root`. Nothing is at their place."""

    def __init__(self, tmp_path, *flags):
        self.folder, self.root = tmp_path / "opt/shop", tmp_path / "root"
        self.folder.mkdir(parents=True)
        (self.folder / "library.cc").write_text(LIBRARY)
        (self.folder / "program.cc").write_text(PROGRAM)
        # The first page of each file is in the core dump; without separate-code, 64-bit Arm has the types' names there.
        build = ["g++", "-O1", "-Wl,--build-id", "-Wl,-z,separate-code"]
        subprocess.run([*build, *flags, "-shared", "-fPIC", "library.cc", "-o", "libshop.so"], cwd=self.folder, check=True)
        subprocess.run([*build, *flags, "program.cc", "-L.", "-lshop", "-o", "shop"], cwd=self.folder, check=True)
        self.there = Path(f"{self.root}{self.folder}")

    def crash(self, tmp_path, coredump_filter=None):
        """Returns the core dump."""
        cores = tmp_path / "cores"
        cores.mkdir()
        with started([self.folder / "shop"], cores, {"LD_LIBRARY_PATH": str(self.folder)}) as process:
            if coredump_filter:
                Path(f"/proc/{process.pid}/coredump_filter").write_text(coredump_filter)
            core = core_of(process, cores, signal.SIGSEGV)
        self.there.parent.mkdir(parents=True)
        self.folder.rename(self.there)
        return core


def types_of(hw, *words):
    done = hw("core", "--json", *words)
    assert done.returncode == 0, done.stderr
    found = {}
    for row in json.loads(done.stdout)["top"]:
        if row["stack"] and row["stack"][0]["function"]:
            found[row["stack"][0]["function"]] = row["live_blocks"]
    return found, done.stderr


@pytest.fixture
def machine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return Machine(tmp_path)


def test_files_by_path(hw, machine, tmp_path):
    core = machine.crash(tmp_path)
    assert not set(types_of(hw, core)[0]) & set(NAMES)
    types, warning = types_of(hw, "--sysroot", machine.root, core)
    assert types.items() >= NAMES.items() and not warning
    trace = tmp_path / "now.hwt"  # its modules are below the folder: it needs no option
    assert hw("core", "--sysroot", machine.root, core, "-o", trace).returncode == 0
    report = json.loads(hw("report", "--json", trace).stdout)
    assert {str(machine.there / "shop"), str(machine.there / "libshop.so")} <= {module["path"] for module in report["modules"]}


def test_another_version_is_not_used(hw, machine, tmp_path):
    core = machine.crash(tmp_path)
    source = machine.there / "program.cc"
    source.write_text(PROGRAM.replace("long sum", "long sum, more"))
    subprocess.run(["g++", "-O2", "-Wl,--build-id", source, machine.there / "libshop.so", "-o", machine.there / "shop"], check=True)
    types, _ = types_of(hw, "--sysroot", machine.root, core)
    assert "vtable for Till" not in types and types["vtable for shop::Book"] == 700
    (machine.there / "libshop.so").unlink()
    _, warning = types_of(hw, "--sysroot", machine.root, core)
    assert f"--sysroot {machine.root}: none of the " in warning and str(machine.folder / "shop") in warning


@pytest.mark.parametrize("place", ["build-id", "link"])
def test_debug_files(hw, machine, tmp_path, place):
    """Files without symbols, whose debug files are below the folder as on that machine: by build-id, or next to them."""
    for name in "shop", "libshop.so":
        file, debug = machine.folder / name, machine.folder / f"{name}.debug"
        subprocess.run(["objcopy", "--only-keep-debug", file, debug], check=True)
        subprocess.run(["objcopy", "--strip-all", "-K", "fill", f"--add-gnu-debuglink={debug}", file, f"{file}.bare"], check=True)
        Path(f"{file}.bare").rename(file)
        notes = subprocess.run(["readelf", "-n", file], capture_output=True, text=True, check=True).stdout
        build_id = notes.split("Build ID: ")[1].split()[0]
        if place == "build-id":
            to = machine.root / f"usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug"
            to.parent.mkdir(parents=True, exist_ok=True)
            debug.rename(to)
    core = machine.crash(tmp_path)
    assert "vtable for Till" not in types_of(hw, core)[0]
    assert types_of(hw, "--sysroot", machine.root, core)[0].items() >= NAMES.items()


def test_debug_files_alone(hw, machine, tmp_path):
    """The files that ran are lost: names come from the debug files, by the build-ids in memory."""
    core = machine.crash(tmp_path)
    folder = tmp_path / "debug"
    for name in "shop", "libshop.so":
        notes = subprocess.run(["readelf", "-n", machine.there / name], capture_output=True, text=True, check=True).stdout
        build_id = notes.split("Build ID: ")[1].split()[0]
        to = folder / f".build-id/{build_id[:2]}/{build_id[2:]}.debug"
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(machine.there / name, to)
    assert types_of(hw, "--debug-dir", folder, core)[0].items() >= NAMES.items()
    assert types_of(hw, "--sysroot", folder, core)[0].items() >= NAMES.items()


def test_core_without_first_pages(hw, machine, tmp_path):
    """Nothing in memory identifies the files: those with the paths are taken, and their headers say where they were."""
    core = machine.crash(tmp_path, "0x23")
    assert not set(types_of(hw, core)[0]) & set(NAMES)
    assert types_of(hw, "--sysroot", machine.root, core)[0].items() >= NAMES.items()


@pytest.mark.parametrize("command", ["core", "leaks"])
def test_what_is_wrong_is_said(hw, tmp_path, command):
    (tmp_path / "file").touch()
    for folder, words in (tmp_path / "none", "No such file"), (tmp_path / "file", "it is no folder"):
        done = hw(command, "--sysroot", folder, "1")
        assert done.returncode == 2 and f"--sysroot {folder}: " in done.stderr and words in done.stderr
