"""test_archives_other_cpus.py - static programs of another CPU are linked with the installed archives, and run under qemu-user

As build/test_heap_packages.py. Breaks if an archive needs a library of that CPU's compiler (libatomic) that neither pkg-config nor the
CMake package names.
"""

import os
import subprocess
from pathlib import Path

import pytest

from archive_programs import FREED_TWICE, LEAK, MALLOC, OBJECTS, POOL
from conftest import ROOT
from other_cpus import ARCH, CROSS, GCC, QEMU, SYSROOT, TRIPLE, needs_cpu, record_to, report_of, run

pytestmark = needs_cpu
PROGRAMS = {"pool": POOL, "heaps": OBJECTS, "heap": MALLOC, "static": LEAK}


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run(["cmake", "--install", CROSS, "--prefix", folder], check=True, capture_output=True)
    for name, source in PROGRAMS.items():
        (folder / f"{name}.c").write_text(source)
    return folder


@pytest.fixture(scope="module")
def linker(tmp_path_factory):
    """Options of gcc: the linker among the libraries of that CPU, if tools/cross.sh has put one there."""
    program = Path(SYSROOT, f"usr/bin/{TRIPLE}-ld")
    if not program.exists():
        return []
    folder = tmp_path_factory.mktemp("linker")
    (folder / "ld").write_text(f'#!/bin/sh\nexec {QEMU} -L {SYSROOT} {program} "$@"\n')
    (folder / "ld").chmod(0o755)
    return [f"-B{folder}", "-fno-use-linker-plugin"]


def check(name, program, hw, tmp_path):
    if name == "static":
        trace, _ = record_to(tmp_path / "run.hwt", [program])
        assert [row["bytes"] for row in report_of(hw, trace)["top"] if row["bytes"] == 4321] == [4321]
        return
    done = run([program])
    assert done.stdout == "done\n" and (FREED_TWICE in done.stderr) == (name == "heap")


@pytest.mark.parametrize("name", PROGRAMS)
def test_pkg_config(name, installed, linker, hw, tmp_path):
    options = subprocess.run(["pkg-config", "--cflags", "--libs", f"heapwright-{name}"], capture_output=True, text=True, check=True,
                             env={**os.environ, "PKG_CONFIG_LIBDIR": str(installed / "lib/pkgconfig")}).stdout.split()
    subprocess.run([*GCC, *linker, "-static", installed / f"{name}.c", *options, "-o", tmp_path / name], check=True)
    check(name, tmp_path / name, hw, tmp_path)


def test_cmake(installed, linker, hw, tmp_path):
    libraries = {"pool": "pool", "heaps": "heaps", "heap": "heap_static", "static": "record_static"}
    (tmp_path / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.25)\nproject(user C)\nfind_package(heapwright REQUIRED)\n" + "".join(
        f"add_executable({name} {installed}/{name}.c)\ntarget_link_libraries({name} heapwright::{libraries[name]} -static)\n" for name in PROGRAMS))
    for step in (["-S", tmp_path, "-B", tmp_path / "built", "--toolchain", ROOT / f"cmake/cross/{ARCH}.cmake",
                  f"-Dheapwright_DIR={installed}/lib/cmake/heapwright", f"-DCMAKE_EXE_LINKER_FLAGS={' '.join(linker)}"], ["--build", tmp_path / "built"]):
        done = subprocess.run(["cmake", *step], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    for name in PROGRAMS:
        check(name, tmp_path / "built" / name, hw, tmp_path)
