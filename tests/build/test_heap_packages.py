"""The installed heaps are found by pkg-config and by CMake, as objects and as malloc of a program, which may be static; so are the
pool, and the recorder for static programs."""

import os
import subprocess

import pytest

from archive_programs import FREED_TWICE, LEAK, MALLOC, OBJECTS, POOL

ENVIRONMENT = {"PATH": "/usr/bin:/bin"}


@pytest.fixture(scope="module")
def installed(build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run(["cmake", "--install", build, "--prefix", "/opt/heapwright"], check=True, capture_output=True, env={"DESTDIR": str(folder), **ENVIRONMENT})
    moved = folder / "moved"
    (folder / "opt/heapwright").rename(moved)
    (folder / "objects.c").write_text(OBJECTS)
    (folder / "pool.c").write_text(POOL)
    (folder / "plain.c").write_text(MALLOC)
    return moved


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def check(program, installed, is_malloc):
    done = run(program, env={**os.environ, "LD_LIBRARY_PATH": str(installed / "lib")})
    assert done.stdout == "done\n" and (FREED_TWICE in done.stderr) == is_malloc


@pytest.mark.parametrize("package, source, flags", [("heapwright-pool", "pool.c", ""), ("heapwright-heaps", "objects.c", ""),
                                                    ("heapwright-heap", "objects.c", ""),
                                                    ("heapwright-heap", "plain.c", "-Wl,--as-needed"), ("heapwright-heap", "plain.c", "-static")])
def test_pkg_config(installed, package, source, flags, tmp_path):
    run("/bin/sh", "-c", f"cc {flags} ../{source} -o {tmp_path}/program $(pkg-config --cflags --libs {package})", cwd=installed,
        env={**ENVIRONMENT, "PKG_CONFIG_PATH": str(installed / "lib/pkgconfig")})
    check(tmp_path / "program", installed, source == "plain.c")


def test_cmake(installed, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text("""cmake_minimum_required(VERSION 3.25)
project(user C)
find_package(heapwright REQUIRED)
add_executable(pool pool.c)
target_link_libraries(pool heapwright::pool)
add_executable(objects objects.c)
target_link_libraries(objects heapwright::heaps)
add_executable(shared plain.c)
target_link_libraries(shared heapwright::heap)
add_executable(inside plain.c)
target_link_libraries(inside heapwright::heap_static)
add_executable(static plain.c)
target_link_libraries(static heapwright::heap_static -static)
""")
    for name in ("pool.c", "objects.c", "plain.c"):
        (tmp_path / name).symlink_to(installed.parent / name)
    run("cmake", "-S", tmp_path, "-B", tmp_path / "built", f"-DCMAKE_PREFIX_PATH={installed}", env=ENVIRONMENT)
    run("cmake", "--build", tmp_path / "built", env=ENVIRONMENT)
    for name in ("pool", "objects", "shared", "inside", "static"):
        check(tmp_path / "built" / name, installed, name not in ("pool", "objects"))


def check_recorded(program, installed, tmp_path):
    trace = tmp_path / "linked.hwt"
    assert run(installed / "bin/heapwright", "record", "-q", "-o", trace, "--", program).stderr == ""
    assert "4,321 B" in run(installed / "bin/heapwright", "report", "--by", "size", trace).stdout


def test_recorder_in_a_static_program(installed, tmp_path):
    (tmp_path / "leak.c").write_text(LEAK)
    run("/bin/sh", "-c", "cc -static leak.c -o leak $(pkg-config --libs heapwright-static)", cwd=tmp_path,
        env={**ENVIRONMENT, "PKG_CONFIG_PATH": str(installed / "lib/pkgconfig")})
    check_recorded(tmp_path / "leak", installed, tmp_path)
    (tmp_path / "CMakeLists.txt").write_text("""cmake_minimum_required(VERSION 3.25)
project(user C)
find_package(heapwright REQUIRED)
add_executable(leak leak.c)
target_link_libraries(leak heapwright::record_static -static)
""")
    run("cmake", "-S", tmp_path, "-B", tmp_path / "built", f"-DCMAKE_PREFIX_PATH={installed}", env=ENVIRONMENT)
    run("cmake", "--build", tmp_path / "built", env=ENVIRONMENT)
    check_recorded(tmp_path / "built/leak", installed, tmp_path)


def test_recorder_and_heap_in_a_static_program(installed, tmp_path):
    """Each of them defines functions that the other one calls."""
    (tmp_path / "leak.c").write_text(LEAK)
    run("/bin/sh", "-c", "cc -static leak.c -o leak $(pkg-config --libs heapwright-static heapwright-heap)", cwd=tmp_path,
        env={**ENVIRONMENT, "PKG_CONFIG_PATH": str(installed / "lib/pkgconfig")})
    check_recorded(tmp_path / "leak", installed, tmp_path)
    assert "has loaded the heap" in run(tmp_path / "leak", env={"HEAPWRIGHT_STATS": "stderr"}).stderr
