"""Forks of a process on the pool, on the heap, and on a user's own allocator: whatever lock libc holds or takes, nothing hangs,
and a signal handler may fork at any point of its thread.
"""

import os
import subprocess
from pathlib import Path

import pytest

from allocators_library import PROGRAMS, ROOT

LIBRARIES = [Path(os.environ.get("HW_BUILD", ROOT / "build")).resolve() / f"lib/libheapwright-{name}.so" for name in ("tlsf", "heap")]
PATIENCE = 300  # seconds, for a test that takes two, or a minute on a busy machine; a deadlock never ends
PLACES = ["stdio", "loader", "exit", "locale", "threads", "environment", "syslog", "names", "programs", "malloc", "fork"]


def run_until_done(program, what, library):
    """Small, so that a fork has few pages to copy."""
    environment = {**os.environ, "LD_PRELOAD": str(library), "HEAPWRIGHT_POOL_SIZE": "8M", "HEAPWRIGHT_POOL_GROWTH": "64M"}
    with subprocess.Popen([program, what], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          start_new_session=True) as process:
        try:
            said = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)  # its children hang, too
            pytest.fail(f"{what}: it hangs")
        assert (process.returncode, said[0]) == (0, "done\n"), said[1]


@pytest.fixture(params=LIBRARIES, ids=lambda library: library.stem)
def library(request):
    return request.param


@pytest.fixture(scope="session")
def fork_locks(programs):
    return programs(PROGRAMS / "fork_locks.c", "-pthread", "-ldl")


@pytest.mark.parametrize("place", PLACES)
def test_forks_while_threads_are_in_libc(fork_locks, place, library):
    run_until_done(fork_locks, place, library)


def test_forks_while_requests_fail(fork_locks):
    """To find memory for a request, the heap gives back what is free: it used to wait for a fork then. (The pool waits until a fork
    has ended before a request fails.)"""
    run_until_done(fork_locks, "no-memory", LIBRARIES[1])


def test_others_get_memory_while_a_fork_is_under_way(fork_locks, library):
    """A handler that libc runs after the library's waits for a thread that allocates, frees and reallocates, and
    registers its own handlers: libc makes room for these under a lock that the fork takes later."""
    run_until_done(fork_locks, "under-way", library)


@pytest.mark.parametrize("flags", [["-O2"], ["-O0"]], ids=lambda flags: flags[0])
def test_locks_of_a_users_allocator(fork_locks, allocators, flags):
    """Its threads wait in getline for the lock that it takes before a fork, and another thread holds libc's list of
    streams."""
    run_until_done(fork_locks, "stdio", allocators(PROGRAMS / "locked.c", *flags))


@pytest.mark.parametrize("what", ["alone", "threads"])
def test_a_handler_forks(programs, what, library):
    """Its thread is in malloc or in fork: parent and child go on where it was."""
    run_until_done(programs(PROGRAMS / "fork_in_handler.c", "-pthread"), what, library)


def test_a_handler_forks_within_a_fork_of_a_users_allocator(programs, allocators):
    """The thread holds its lock already, and does not take it again."""
    run_until_done(programs(PROGRAMS / "fork_in_handler.c", "-pthread"), "forks", allocators(PROGRAMS / "locked.c"))


@pytest.mark.parametrize("where", ["call", "wait"])
def test_a_handler_forks_while_another_copy_is_used(programs, where):
    """A fork has closed the locks of the program's heaps, and waits for that call, or for the wait for a lock: the handler does not wait
    for the fork, or not the fork for the handler."""
    program = programs(PROGRAMS / "fork_two_copies.c", f"-I{ROOT}/include", LIBRARIES[1].parent / "static/libheapwright-heaps.a", "-pthread", "-ldl")
    run_until_done(program, where, LIBRARIES[1])
