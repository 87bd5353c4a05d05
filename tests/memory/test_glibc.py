"""test_glibc.py - the blocks of glibc's malloc, block for block: in cores and processes, of programs of all shapes

The independent list is kept by a preloaded library (programs/live_blocks.c), which sees libc's own blocks, too. What it does
not see is the cache of each thread, which malloc allocates for itself: state "own".
"""

import shutil
import struct
import subprocess

import pytest

import words_32
from heap_listing import PYTHON, build_program, core_of, gcore_of, read_expected, started, waits_for_input

SHAPES = ["few", "one", "threads", "exchange", "ended", "sub-heaps", "gaps", "blocked", "huge", "settings"]
NO_CACHE = {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}

CXX = r"""
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

struct Node {
  std::string name;
  std::shared_ptr<Node> next;
  virtual ~Node() = default;
};

int main()
{
  std::map<std::string, std::vector<int>> map;
  std::shared_ptr<Node> list;
  for (int i = 0; i < 5000; i++) {
    map["a key that is longer than a short string " + std::to_string(i)].resize(i % 700);
    auto node = std::make_shared<Node>();
    node->next = list;
    list = node;
    if (i % 3 == 0)
      map.erase(map.begin());
  }
  puts("ready");
  fflush(stdout);
  pause();
}
"""


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("cache", [True, False])
def test_shapes_in_cores(listed, shapes, find_heap, tmp_path, shape, cache):
    with listed([shapes, shape], env={} if cache else NO_CACHE) as (process, expected):
        heap = find_heap("core", core_of(process, tmp_path))
    expected.assert_is(heap, is_cached_by_threads=cache)


@pytest.mark.parametrize("shape", ["one", "threads", "gaps"])
def test_shapes_in_dumps_of_gdb(listed, shapes, find_heap, tmp_path, shape):
    with listed([shapes, shape]) as (process, expected):
        heap = find_heap("core", gcore_of(process, tmp_path))
    expected.assert_is(heap)


@pytest.mark.parametrize("shape", ["one", "threads", "huge", "settings"])
def test_shapes_in_processes(listed, shapes, find_heap, shape):
    with listed([shapes, shape]) as (process, expected):
        stopped, running = find_heap("process", process.pid), find_heap("running", process.pid)
    expected.assert_is(stopped)
    assert stopped.blocks == running.blocks and stopped.parts == running.parts


def test_arenas_and_caches_are_counted(listed, shapes, find_heap):
    with listed([shapes, "threads"]) as (process, expected):
        heap = find_heap("process", process.pid)
    assert heap.threads == 13
    assert len(heap.parts) == 14  # the main arena, 12 others, mapped blocks
    assert len(heap.blocks["own"]) == 13
    assert all(usable in (648, 664) for usable in heap.blocks["own"].values())


def test_static_program(static_shapes, find_heap, tmp_path):
    """Libc's own blocks are the difference: five to eight with which it starts, by release, and for each thread a table of its storage."""
    for shape, threads in (("one", 0), ("threads", 12)):
        listing = tmp_path / shape
        with started([static_shapes, shape, listing], tmp_path) as process:
            heap = find_heap("process", process.pid)
        heap.assert_sound()
        live = heap.blocks["live"]
        expected = read_expected(listing).live
        assert {address: live.get(address) for address in expected} == expected
        assert len(live) - len(expected) <= 8 + threads


def test_python(listed, find_heap, tmp_path):
    with listed(["/usr/bin/python3", "-c", PYTHON]) as (process, expected):
        heap, of_gdb = find_heap("process", process.pid), find_heap("core", gcore_of(process, tmp_path))
    assert len(expected.live) > 1000
    expected.assert_is(heap)
    expected.assert_is(of_gdb)


def test_sqlite(listed, find_heap, tmp_path):
    if not shutil.which("sqlite3"):
        pytest.skip("there is no sqlite3")
    with listed(["sqlite3", "-interactive", ":memory:"], is_ready=waits_for_input) as (process, expected):
        heap, of_gdb = find_heap("process", process.pid), find_heap("core", gcore_of(process, tmp_path))
    expected.assert_is(heap)
    expected.assert_is(of_gdb)


def test_redis(listed, find_heap, tmp_path):
    """Debian's has jemalloc: a library of that name without an allocator gives it glibc's."""
    if not shutil.which("redis-server"):
        pytest.skip("there is no redis-server")
    build_program(tmp_path, "no_jemalloc.c", "libjemalloc.so.2", "-shared", "-fPIC")
    server = ["redis-server", "--port", "0", "--unixsocket", tmp_path / "socket", "--save", "", "--enable-debug-command", "yes"]

    def is_filled(_pid):
        words = ["redis-cli", "-s", tmp_path / "socket", "debug", "populate", "30000", "key", "100"]
        return (tmp_path / "socket").exists() and subprocess.run(words, capture_output=True, text=True).stdout == "OK\n"

    with listed(server, env={"LD_LIBRARY_PATH": str(tmp_path)}, is_ready=is_filled) as (process, expected):
        heap, of_gdb = find_heap("process", process.pid), find_heap("core", gcore_of(process, tmp_path))
    assert len(expected.live) > 60000
    expected.assert_is(heap)
    expected.assert_is(of_gdb)


def test_cxx(listed, compile_cxx, find_heap, tmp_path):
    with listed([compile_cxx(CXX)]) as (process, expected):
        heap, of_gdb = find_heap("process", process.pid), find_heap("core", gcore_of(process, tmp_path))
    assert len(expected.live) > 5000
    expected.assert_is(heap)
    expected.assert_is(of_gdb)


LIKE_A_CACHE = r"""
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_barrier_t barrier;

static void *run(void *frees)
{
  void *volatile zeros = calloc(1, 640); /* as long as the cache of a thread, and all lists in it would be empty */
  if (frees)
    free(malloc(24));
  pthread_barrier_wait(&barrier);
  pause();
  return zeros;
}

int main(void)
{
  pthread_t thread;
  pthread_barrier_init(&barrier, NULL, 5);
  for (int i = 0; i < 4; i++)
    pthread_create(&thread, NULL, run, i % 2 ? &barrier : NULL);
  pthread_barrier_wait(&barrier);
  write(1, "ready\n", 6);
  pause();
}
"""


def test_block_that_looks_like_a_cache(listed, compile_c, find_heap):
    """Only an address on a stack refers to it, and stacks are next to thread-local storage."""
    with listed([compile_c(LIKE_A_CACHE, "-pthread", "-fno-builtin")]) as (process, expected):
        heap = find_heap("process", process.pid)
    expected.assert_is(heap)
    assert len(heap.blocks["own"]) == 5 and sum(usable == 648 for usable in expected.live.values()) == 4


def without_notes(core, to):
    """A copy of a core in which no thread is known."""
    data = bytearray(core.read_bytes())
    (segments,), (count,) = struct.unpack_from("<Q", data, 32), struct.unpack_from("<H", data, 56)
    for at in range(segments, segments + count * 56, 56):
        if struct.unpack_from("<I", data, at) == (4,):
            struct.pack_into("<I", data, at, 0)
    to.write_bytes(data)
    return to


def test_caches_are_found_without_threads(listed, shapes, find_heap, tmp_path):
    with listed([shapes, "threads"]) as (process, expected):
        core = core_of(process, tmp_path)
    heap = find_heap("core", without_notes(core, tmp_path / "unknown"))
    expected.assert_is(heap)
    assert heap.threads == 0 and len(heap.blocks["own"]) == 13


@pytest.fixture(scope="session")
def listed_32(program_folder):
    """Words that start the shape of a program with words of 32 bits, whose live blocks are listed."""
    try:
        build_program(program_folder, "live_blocks.c", "liblive-32.so", "-shared", "-fPIC", "-O2", *words_32.FLAGS)
        return build_program(program_folder, "shapes.c", "shapes-32", "-pthread", *words_32.FLAGS)
    except subprocess.CalledProcessError:
        pytest.skip("this compiler cannot build for 32 bits")


@pytest.mark.parametrize("shape", ["few", "one", "threads", "gaps"])
def test_words_of_32_bits(listed, listed_32, find_heap, tmp_path, shape):
    with listed([listed_32, shape], preload=listed_32.parent / "liblive-32.so") as (process, expected):
        of_process, of_core = find_heap("process", process.pid), find_heap("core", core_of(process, tmp_path))
    for heap in (of_process, of_core):
        heap.assert_sound()
        assert heap.blocks["live"] == expected.live
