"""test_foreign.py - the blocks of other allocators than glibc's, block for block: in cores and processes, of programs of all shapes

The independent list is kept by a preloaded library (programs/live_blocks.c) in front of the allocator.
"""

import functools
import json
import os
import re
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest

from heap_listing import PYTHON, build_program, core_of, gcore_of, started, waits_for_input

SHAPES = ["few", "one", "threads", "exchange", "ended", "gaps", "huge"]
LIBRARIES = {"jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc_minimal.so.4"}
OWN = [8, 16]  # sizes of blocks in which tcmalloc has objects of its own

TWO = r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern void *__libc_malloc(size_t bytes);

static void *kept[2][1000];

int main(int count, char **words)
{
  FILE *list = fopen(words[count - 1], "w");
  for (int i = 0; i < 1000; i++) {
    kept[0][i] = malloc(2048);
    kept[1][i] = __libc_malloc(1000);
    fprintf(list, "%p %p\n", kept[0][i], kept[1][i]);
  }
  fflush(list);
  puts("ready");
  fflush(stdout);
  pause();
}
"""


@functools.cache
def pages_of_jemalloc(library):
    """The bytes of its pages, which Debian chooses for each CPU."""
    environment = {**os.environ, "LD_PRELOAD": str(library), "MALLOC_CONF": "stats_print:true"}
    return int(re.search(r"Page size: (\d+)", subprocess.run(["true"], env=environment, capture_output=True, text=True).stderr)[1])


def library_of(name):
    found = list(Path("/usr/lib").glob(f"*/{LIBRARIES[name]}"))
    if not found:
        pytest.skip(f"there is no {LIBRARIES[name]}")
    if name == "tcmalloc" and found[0].resolve().name != f"{LIBRARIES[name]}.5.10":
        pytest.skip("this is not tcmalloc of gperftools 2.10")
    if name == "jemalloc" and pages_of_jemalloc(found[0]) != 4096:
        pytest.skip("jemalloc has other pages than 4096 bytes here, and is not read")
    return found[0]


@pytest.fixture(params=sorted(LIBRARIES))
def allocator(request):
    library_of(request.param)
    return request.param


@pytest.fixture(scope="session")
def lister(program_folder):
    """The library to preload that lists the live blocks of the next malloc."""
    return build_program(program_folder, "live_blocks.c", "liblive-next.so", "-shared", "-fPIC", "-O2", "-DNEXT")


@pytest.fixture
def foreign(lister, listed):
    """with foreign(allocator, [command...]) as (process, live): a program that waits, and its live blocks."""

    @contextmanager
    def run(allocator, command, env=None, is_ready=None):
        preload = f"{lister}:{library_of(allocator)}" if allocator else lister
        with listed(command, env, is_ready, preload) as (process, expected):
            yield process, expected.live

    return run


def assert_is(heap, live, allocator):
    heap.assert_sound()
    assert heap.blocks["live"] == live
    if allocator == "tcmalloc":
        assert sorted(heap.blocks["own"].values()) == OWN


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_in_cores(foreign, allocator, shapes, find_heap, tmp_path, shape):
    with foreign(allocator, [shapes, shape]) as (process, live):
        heap = find_heap("core", core_of(process, tmp_path))
    assert_is(heap, live, allocator)


def test_dump_of_gdb(foreign, allocator, shapes, find_heap, tmp_path):
    with foreign(allocator, [shapes, "exchange"]) as (process, live):
        heap = find_heap("core", gcore_of(process, tmp_path))
    assert_is(heap, live, allocator)


def test_process(foreign, allocator, shapes, find_heap):
    with foreign(allocator, [shapes, "exchange"]) as (process, live):
        stopped, running = find_heap("process", process.pid), find_heap("running", process.pid)
    assert_is(stopped, live, allocator)
    assert stopped.blocks == running.blocks and stopped.parts == running.parts
    assert len(stopped.blocks["cached"]) > 100  # which are no live blocks, though no other thread may have them


def test_python(foreign, allocator, find_heap):
    command = ["/usr/bin/python3", "-c", PYTHON]
    with foreign(allocator, command, env={"PYTHONMALLOC": "malloc"}) as (process, live):
        heap = find_heap("process", process.pid)
    assert len(live) > 10000
    assert_is(heap, live, allocator)


def test_threads_inside(program_folder, find_heap, tmp_path):
    """What a thread of jemalloc is changing is not damaged."""
    churn = build_program(program_folder, "churn.c", "churn", "-pthread")
    with started([churn], tmp_path, {"LD_PRELOAD": str(library_of("jemalloc"))}) as process:
        for _ in range(6):
            heap = find_heap("process", process.pid)
            assert not heap.damage and len(heap.blocks["live"]) >= 4096 - 8


def test_redis(foreign, find_heap, tmp_path):
    """Debian's is linked with jemalloc. It catches signals, and allocates memory to report them."""
    if not shutil.which("redis-server"):
        pytest.skip("there is no redis-server")
    library_of("jemalloc")
    server = ["redis-server", "--port", "0", "--unixsocket", tmp_path / "socket", "--save", "", "--enable-debug-command", "yes"]

    def is_filled(_pid):
        words = ["redis-cli", "-s", tmp_path / "socket", "debug", "populate", "30000", "key", "100"]
        return (tmp_path / "socket").exists() and subprocess.run(words, capture_output=True, text=True).stdout == "OK\n"

    with foreign(None, server, is_ready=is_filled) as (process, live):
        heap = find_heap("core", gcore_of(process, tmp_path))
    assert len(live) > 60000
    assert_is(heap, live, "jemalloc")


def test_sqlite(foreign, allocator, find_heap):
    if not shutil.which("sqlite3"):
        pytest.skip("there is no sqlite3")

    with foreign(allocator, ["sqlite3", "-interactive", ":memory:"], is_ready=waits_for_input) as (process, live):
        heap = find_heap("process", process.pid)
    assert live
    assert_is(heap, live, allocator)


def test_two_allocators_in_a_process(compile_c, hw, find_heap, tmp_path):
    """tcmalloc takes the place of __libc_malloc, too."""
    allocator = "jemalloc"
    program = compile_c(TWO, "-fno-builtin")
    with started([program, tmp_path / "list"], tmp_path, {"LD_PRELOAD": str(library_of(allocator))}) as process:
        heap = find_heap("process", process.pid)
        report = json.loads(hw("core", "--json", str(process.pid)).stdout)
        leaks = json.loads(hw("leaks", "--json", str(process.pid)).stdout)
        foreign, own = ([int(word, 16) for word in column]
                        for column in zip(*(line.split() for line in (tmp_path / "list").read_text().splitlines())))
        shown = [hw("core", str(process.pid), "--who", hex(address)).stdout for address in (foreign[500] + 8, own[500] + 8)]
        retained = hw("core", str(process.pid), "--retained").stdout
    heap.assert_sound()
    assert all(heap.blocks["live"].get(address) == 2048 for address in foreign)
    assert all(heap.blocks["live"].get(address) == 1000 for address in own)
    assert report["allocator"] == f"glibc, {allocator}" and report["understood_percent"] == 100 and report["damage"] == []
    assert report["live_blocks"] == len(heap.blocks["live"])
    assert leaks["leaked_blocks"] <= len(heap.blocks["live"]) - 2000
    assert "2,048 B" in shown[0] and "1,000 B" in shown[1] and all("kept+0x" in text for text in shown)
    assert "2,048 B" in retained or "1,000 B" in retained


def test_debug_library_is_refused(hw, shapes, tmp_path):
    """Its blocks have headers: all of them would be wrong."""
    library = library_of("tcmalloc").parent / "libtcmalloc_minimal_debug.so.4"
    if not library.exists():
        pytest.skip("there is no libtcmalloc_minimal_debug")
    with started([shapes, "one"], tmp_path, {"LD_PRELOAD": str(library)}) as process:
        done = hw("core", str(process.pid))
    assert done.returncode == 2 and "libtcmalloc_debug" in done.stderr and "run the program with libtcmalloc" in done.stderr
