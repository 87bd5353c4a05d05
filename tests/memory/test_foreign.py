"""test_foreign.py - the blocks of other allocators than glibc's, block for block: in cores and processes, of programs of all shapes

The independent list is kept by a preloaded library (programs/live_blocks.c) in front of the allocator.
"""

import shutil
import signal
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest

from heap_listing import build_program, core_of, gcore_of, read_expected, started
from waiting import wait_until

SHAPES = ["few", "one", "threads", "exchange", "ended", "gaps", "huge"]
LIBRARIES = {"jemalloc": "libjemalloc.so.2"}

PYTHON = """
import json, os, sqlite3, threading, time
texts = [str(i) * i for i in range(2000)]
threads = [threading.Thread(target=lambda: json.dumps(texts)) for _ in range(5)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
while len(os.listdir("/proc/self/task")) > 1:  # a thread that was joined may still give back its memory
    time.sleep(0.01)
print("ready", flush=True)
time.sleep(1000)
"""


@pytest.fixture(scope="session", params=sorted(LIBRARIES))
def library(request):
    """The path of an allocator's library."""
    found = list(Path("/usr/lib").glob(f"*/{LIBRARIES[request.param]}"))
    if not found:
        pytest.skip(f"there is no {LIBRARIES[request.param]}")
    return found[0]


@pytest.fixture(scope="session")
def lister(program_folder):
    """The library to preload that lists the live blocks of the next malloc."""
    return build_program(program_folder, "live_blocks.c", "liblive-next.so", "-shared", "-fPIC", "-O2", "-DNEXT")


@pytest.fixture
def foreign(lister, tmp_path):
    """with foreign(library, [command...]) as (process, live): a program that waits, and its live blocks."""

    @contextmanager
    def run(preloaded, command, env=None, is_ready=None):
        path = tmp_path / "live-blocks"
        libraries = ":".join(str(file) for file in (lister, preloaded) if file)
        with started(command, tmp_path, {**(env or {}), "LD_PRELOAD": libraries, "LIVE_BLOCKS": str(path)}, is_ready) as process:
            process.send_signal(signal.SIGUSR2)
            wait_until(path.exists)
            yield process, read_expected(path).live

    return run


def assert_is(heap, live):
    heap.assert_sound()
    assert heap.blocks["live"] == live


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_in_cores(foreign, library, shapes, find_heap, tmp_path, shape):
    with foreign(library, [shapes, shape]) as (process, live):
        heap = find_heap("core", core_of(process, tmp_path))
    assert_is(heap, live)


def test_dump_of_gdb(foreign, library, shapes, find_heap, tmp_path):
    with foreign(library, [shapes, "exchange"]) as (process, live):
        heap = find_heap("core", gcore_of(process, tmp_path))
    assert_is(heap, live)


def test_process(foreign, library, shapes, find_heap):
    with foreign(library, [shapes, "exchange"]) as (process, live):
        stopped, running = find_heap("process", process.pid), find_heap("running", process.pid)
    assert_is(stopped, live)
    assert stopped.blocks == running.blocks and stopped.parts == running.parts
    assert len(stopped.blocks["cached"]) > 100  # which are no live blocks, though no other thread may have them


def test_python(foreign, library, find_heap):
    command = ["/usr/bin/python3", "-c", PYTHON]
    with foreign(library, command, env={"PYTHONMALLOC": "malloc"}) as (process, live):
        heap = find_heap("process", process.pid)
    assert len(live) > 10000
    assert_is(heap, live)


def test_redis(foreign, find_heap, tmp_path):
    """Debian's is linked with jemalloc. It catches signals, and allocates memory to report them."""
    if not shutil.which("redis-server"):
        pytest.skip("there is no redis-server")
    server = ["redis-server", "--port", "0", "--unixsocket", tmp_path / "socket", "--save", "", "--enable-debug-command", "yes"]

    def is_filled(_pid):
        words = ["redis-cli", "-s", tmp_path / "socket", "debug", "populate", "30000", "key", "100"]
        return (tmp_path / "socket").exists() and subprocess.run(words, capture_output=True, text=True).stdout == "OK\n"

    with foreign(None, server, is_ready=is_filled) as (process, live):
        heap = find_heap("core", gcore_of(process, tmp_path))
    assert len(live) > 60000
    assert_is(heap, live)


def test_sqlite(foreign, library, find_heap):
    if not shutil.which("sqlite3"):
        pytest.skip("there is no sqlite3")

    def waits_for_input(pid):
        return Path(f"/proc/{pid}/syscall").read_text().startswith(("0 0x0 ", "7 ", "23 ", "270 "))

    with foreign(library, ["sqlite3", "-interactive", ":memory:"], is_ready=waits_for_input) as (process, live):
        heap = find_heap("process", process.pid)
    assert live
    assert_is(heap, live)
