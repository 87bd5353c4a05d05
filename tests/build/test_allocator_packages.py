"""An installed heapwright builds allocators outside of its tree: with one command, and with CMake."""

import os
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples/allocators"


def run(command, **more):
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def check_serves(library):
    assert run(["/bin/sh", "-c", "echo $((6 * 7))"], env={"LD_PRELOAD": str(library), "PATH": "/usr/bin:/bin"}) == "42\n"
    assert " T malloc\n" in run(["nm", "-D", "--defined-only", library])


def test_one_command(installed, tmp_path):
    """The command of the README and of docs/allocators.md."""
    shutil.copy(EXAMPLES / "bump.c", tmp_path / "mine.c")
    run(["/bin/sh", "-c", "cc -O2 -shared -fPIC mine.c -o libmine.so $(pkg-config --cflags --libs heapwright)"], cwd=tmp_path,
        env={**os.environ, "PKG_CONFIG_PATH": str(installed / "lib/pkgconfig")})
    check_serves(tmp_path / "libmine.so")


def test_version_of_the_package(installed):
    version = run(["pkg-config", "--modversion", "heapwright"], env={**os.environ, "PKG_CONFIG_PATH": str(installed / "lib/pkgconfig")})
    assert run([installed / "bin/heapwright", "--version"]) == f"heapwright {version}"


def test_paths_of_the_packages(installed):
    """pkg-config finds the prefix from its own file, wherever that was moved; there were two slashes after it."""
    packages = [file.stem for file in (installed / "lib/pkgconfig").glob("*.pc")]
    printed = run(["pkg-config", "--cflags", "--libs", *packages], env={**os.environ, "PKG_CONFIG_PATH": str(installed / "lib/pkgconfig")})
    prefix = f"{installed}/lib/pkgconfig/../.."
    assert "//" not in printed and f"-I{prefix}/include " in printed and f"-L{prefix}/lib " in printed


def test_cmake(installed, tmp_path):
    """The examples' own project, and a subproject that looks for the package again."""
    shutil.copytree(EXAMPLES, tmp_path / "project")
    (tmp_path / "project/below").mkdir()
    (tmp_path / "project/below/CMakeLists.txt").write_text("find_package(heapwright REQUIRED)\nheapwright_add_allocator(again ../bump.c)\n")
    with open(tmp_path / "project/CMakeLists.txt", "a") as file:
        file.write("add_subdirectory(below)\n")
    run(["cmake", "-S", "project", "-B", "built", f"-DCMAKE_PREFIX_PATH={installed}"], cwd=tmp_path)
    run(["cmake", "--build", "built"], cwd=tmp_path)
    for name in ("bump", "guard", "counting", "below/again"):
        check_serves(tmp_path / "built" / Path(name).parent / f"lib{Path(name).name}.so")
    listed = run(["ctest", "--test-dir", "built", "-N"], cwd=tmp_path)
    assert "bump.conformance" in listed and "guard.conformance" in listed and "counting.conformance" in listed


@pytest.mark.skipif(not shutil.which("colcon"), reason="colcon is not installed")
def test_colcon(installed, tmp_path):
    """A workspace with the example package: with its setup.bash, the loader finds the libraries by their bare names."""
    shutil.copytree(EXAMPLES.parent / "colcon", tmp_path / "src/my_allocator")
    run(["colcon", "--log-base", "log", "build", "--cmake-args", f"-DCMAKE_PREFIX_PATH={installed}"], cwd=tmp_path,
        env={**os.environ, "PATH": "/usr/bin:/bin"})  # ament needs Debian's python3

    def preloaded(names, command):
        return run(["bash", "-c", f". install/setup.bash; LD_PRELOAD={names} {command}"], cwd=tmp_path)

    maps = "sh -c 'while read -r line; do case $line in */lib*.so) echo ${line##*/};; esac; done </proc/$$/maps'"
    assert "libmy_allocator.so" in preloaded("libmy_allocator.so", maps)
    assert "libheapwright-tlsf.so" in preloaded("libheapwright-tlsf.so", maps)
    both = preloaded("libheapwright-record.so:libmy_allocator.so", f"HEAPWRIGHT_OUTPUT={tmp_path}/run.hwt {maps}")
    assert "libmy_allocator.so" in both and "libheapwright-record.so" in both
    assert "allocations" in run([installed / "bin/heapwright", "report", tmp_path / "run.hwt"])


def test_launch_files_are_well_formed():
    ElementTree.parse(EXAMPLES.parent / "colcon/launch/pool.launch.xml")
    ElementTree.parse(EXAMPLES.parent / "colcon/package.xml")
    compile((EXAMPLES.parent / "colcon/launch/pool.launch.py").read_text(), "pool.launch.py", "exec")
