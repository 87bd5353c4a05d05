"""Forks of a process on the pool, and on an allocator of the user's own: whatever lock libc holds or takes, nothing hangs, and a
handler of a signal may fork wherever its thread was."""

import os
import subprocess
from pathlib import Path

import pytest

from allocators_library import PROGRAMS, ROOT

LIBRARY = Path(os.environ.get("HW_BUILD", ROOT / "build")).resolve() / "lib/libheapwright-tlsf.so"
PATIENCE = 300  # seconds, for what takes two, or a minute on a machine with much else to do; a deadlock has no end
PLACES = ["stdio", "loader", "exit", "locale", "threads", "environment", "syslog", "names", "programs", "malloc", "fork"]


def run_until_done(program, what, library):
    """Small, so that a fork has few pages to copy."""
    environment = {**os.environ, "LD_PRELOAD": str(library), "HEAPWRIGHT_POOL_SIZE": "8M", "HEAPWRIGHT_POOL_GROWTH": "64M"}
    with subprocess.Popen([program, what], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          start_new_session=True) as process:
        try:
            said = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)  # its children have hung, too
            pytest.fail(f"{what}: it hangs")
        assert (process.returncode, said[0]) == (0, "done\n"), said[1]


@pytest.fixture(scope="session")
def fork_locks(programs):
    return programs(PROGRAMS / "fork_locks.c", "-pthread", "-ldl")


@pytest.mark.parametrize("place", PLACES)
def test_forks_while_threads_are_in_libc(fork_locks, place):
    run_until_done(fork_locks, place, LIBRARY)


def test_others_get_memory_while_a_fork_is_under_way(fork_locks):
    """A handler that libc runs behind the pool's waits for a thread that allocates, frees and reallocates, and registers handlers
    of its own: libc makes room for these under a lock that the fork goes on to take."""
    run_until_done(fork_locks, "under-way", LIBRARY)


@pytest.mark.parametrize("flags", [["-O2"], ["-O0"]], ids=lambda flags: flags[0])
def test_locks_of_a_users_allocator(fork_locks, allocators, flags):
    """What it takes before a fork, its threads wait for in getline, and libc's list of streams is another thread's."""
    run_until_done(fork_locks, "stdio", allocators(PROGRAMS / "locked.c", *flags))


@pytest.mark.parametrize("what", ["alone", "threads"])
def test_a_handler_forks(programs, what):
    """Its thread is in malloc or in fork: parent and child go on where it was."""
    run_until_done(programs(PROGRAMS / "fork_in_handler.c", "-pthread"), what, LIBRARY)


def test_a_handler_forks_within_a_fork_of_a_users_allocator(programs, allocators):
    """Its lock is the thread's already, and is not asked for again."""
    run_until_done(programs(PROGRAMS / "fork_in_handler.c", "-pthread"), "forks", allocators(PROGRAMS / "locked.c"))
