"""test_class_names.py - stripped C++ programs: objects have the names of their classes, which the program itself has in memory

Breaks if a stripped program is answered otherwise than the same one with symbols, if the data that a core dump leaves out is not
read from the file, or if that of another file is.
"""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from heap_listing import core_of, started

PROGRAM = r"""
#include <cstdio>
#include <cstdlib>
#include <unistd.h>
namespace shop {
struct Item { virtual ~Item() {} int data[10]; };
struct Book : Item { long more[4]; };
struct Priced { virtual long price() { return x; } long x; };
struct Both : Item, Priced { char c[100]; };
struct Shared : virtual Item { char c[30]; };
template <class Key, int many> struct Box : Priced { Key keys[many]; };
}
namespace {
struct Hidden { virtual ~Hidden() {} char c[60]; };
}
template <class T> static void keep(int count)
{
  static T *held[1000]; // a root, with its type known to nobody
  for (int i = 0; i < count; i++)
    held[i] = new T;
}
int main()
{
  struct Local { virtual ~Local() {} char c[200]; };
  keep<shop::Book>(10), keep<shop::Item>(20), keep<shop::Both>(30), keep<shop::Shared>(40);
  keep<shop::Box<shop::Book, 3>>(50), keep<Hidden>(60), keep<Local>(70);
  (void)!write(1, "ready\n", 6);
  pause();
}
"""
COUNTS = {"shop::Book": 10, "shop::Item": 20, "shop::Both": 30, "shop::Shared": 40, "shop::Box<shop::Book, 3>": 50,
          "(anonymous namespace)::Hidden": 60, "main::Local": 70}
BUILDS = {"pie": ["g++"], "no-pie": ["g++", "-no-pie", "-fno-pie"], "static": ["g++", "-static", "-O2"],
          "clang": ["clang++", "-Wl,-z,norelro"]}


def build(folder, *flags, compiler="g++"):
    (folder / "shop.cc").write_text(PROGRAM)
    subprocess.run([compiler, "-std=c++17", "-w", "shop.cc", "-o", "shop", *flags], cwd=folder, check=True)
    subprocess.run(["strip", "--strip-all", "shop"], cwd=folder, check=True)
    return folder / "shop"


def classes_of(hw, *words):
    done = hw("core", "--json", *words)
    assert done.returncode == 0, done.stderr
    rows = [(row["stack"][0]["function"], row["live_blocks"]) for row in json.loads(done.stdout)["top"]]
    return {name.removeprefix("vtable for "): count for name, count in rows if name and name.startswith("vtable for ")}


def is_as_counted(found):
    """Classes of the C++ library may have objects, too."""
    return {name: found.get(name) for name in COUNTS} == COUNTS and all("shop" not in name for name in found if name not in COUNTS)


@pytest.mark.parametrize("way", BUILDS)
def test_stripped_programs(hw, tmp_path, way):
    compiler, *flags = BUILDS[way]
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    program = build(tmp_path, *flags, compiler=compiler)
    with started([program], tmp_path) as process:
        of_process = classes_of(hw, process.pid)
        core = core_of(process, tmp_path)
    of_core = classes_of(hw, core)
    assert is_as_counted(of_core) and of_process == of_core, (of_process, of_core)


def test_without_names_in_the_program(hw, tmp_path):
    program = build(tmp_path, "-fno-rtti")
    with started([program], tmp_path) as process:
        assert not any(name in COUNTS for name in classes_of(hw, process.pid))


def test_the_file_of_another_build(hw, tmp_path):
    """Its data must not be taken for that of the program that ran: then there are no names, but no wrong ones."""
    program = build(tmp_path, "-no-pie", "-fno-pie")
    with started([program], tmp_path) as process:
        core = core_of(process, tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    (other / "shop.cc").write_text(PROGRAM.replace("shop", "barn").replace("Book", "Cow_"))
    subprocess.run(["g++", "-std=c++17", "-w", "-no-pie", "-fno-pie", "shop.cc", "-o", "shop"], cwd=other, check=True)
    subprocess.run(["strip", "--strip-all", "shop"], cwd=other, check=True)
    whole = program.read_bytes()
    shutil.copy(other / "shop", program)
    assert not [name for name in classes_of(hw, core) if "barn" in name or "shop" in name]
    program.write_bytes(whole)
    assert is_as_counted(classes_of(hw, core))


def test_a_moment_has_the_names(hw, tmp_path):
    """They are in a trace of the moment, which is read where the program is not."""
    program = build(tmp_path)
    with started([program], tmp_path) as process:
        assert hw("core", process.pid, "-o", tmp_path / "now.hwt").returncode == 0
        retained = json.loads(hw("core", "--json", "--retained", process.pid).stdout)["retained"]
    program.unlink()
    report = json.loads(hw("report", "--json", tmp_path / "now.hwt").stdout)
    counts = {row["stack"][0]["function"]: row["live_blocks"] for row in report["top"]}
    assert {name: counts.get("vtable for " + name) for name in COUNTS} == COUNTS
    assert any(row["block"].get("type") == "shop::Box<shop::Book, 3>" for row in retained)
    assert "shop::Box<shop::Book, 3>" in hw("report", tmp_path / "now.hwt").stdout
