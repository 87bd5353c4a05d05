"""conftest.py - heaps and programs for the tests of memory/"""

import subprocess
from contextlib import contextmanager

import pytest

from heap_listing import LIST_BLOCKS, build_program, parse_heap, read_expected, started
from waiting import wait_until


@pytest.fixture(scope="session")
def list_heap(build):
    """list_heap("core", file): returns the CompletedProcess."""

    def run(*words, **more):
        words = [str(word) for word in (build / "tests/memory/list_heap", *words)]
        return subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=120, **more)

    return run


@pytest.fixture(scope="session")
def forge_heap(build):
    """forge_heap(file): nothing breaks in this core dump when it is written over, or when there is no memory."""

    def run(path, rounds=300):
        for words in (path,), (path, 1, rounds), (path, 2, rounds):
            done = subprocess.run([str(word) for word in (build / "tests/memory/forge_heap", *words)], capture_output=True, text=True,
                                  timeout=600)
            assert done.returncode == 0, (words, done.stderr)

    return run


@pytest.fixture(scope="session")
def find_heap(list_heap):
    """find_heap("core", file): returns the Heap."""

    def run(*words, **more):
        done = list_heap(*words, **more)
        assert done.returncode == 0, done.stderr
        return parse_heap(done.stdout)

    return run


@pytest.fixture(scope="session")
def program_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("programs")


@pytest.fixture(scope="session")
def live_blocks(program_folder):
    """The library to preload that lists live blocks."""
    return build_program(program_folder, "live_blocks.c", "liblive.so", "-shared", "-fPIC", "-O2")


@pytest.fixture(scope="session")
def shapes(program_folder):
    return build_program(program_folder, "shapes.c", "shapes", "-pthread")


@pytest.fixture(scope="session")
def static_shapes(program_folder):
    return build_program(program_folder, "shapes.c", "static-shapes", "-pthread", "-static")


@pytest.fixture
def listed(live_blocks, tmp_path):
    """with listed([command...], env={...}) as (process, expected): a program that waits, and its live blocks. `preload`: other
    libraries, of which one is such a list."""

    @contextmanager
    def run(command, env=None, is_ready=None, preload=live_blocks):
        path = tmp_path / "live-blocks"
        environment = {**(env or {}), "LD_PRELOAD": str(preload), "LIVE_BLOCKS": str(path)}
        with started(command, tmp_path, environment, is_ready) as process:
            process.send_signal(LIST_BLOCKS)
            wait_until(path.exists)
            yield process, read_expected(path)

    return run
