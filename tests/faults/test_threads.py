"""test_threads.py - threads that start and end, small stacks, handlers that allocate; every figure is compared with an
independent count

Breaks if a stream is lost or shared when threads end, or if an event is written twice or torn by a handler.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest

from waiting import HOLD

PROGRAMS = Path(__file__).parent / "programs"


@pytest.mark.parametrize("stack_bytes, at_once", [(16384, 8), (131072, 8), (8 << 20, 8), (65536, 1000)])
def test_thread_churn(compile_c, check_counts_preload, stack_bytes, at_once):
    program = compile_c(PROGRAMS / "thread_churn.c", "-pthread", name="thread_churn")
    stack_bytes = max(stack_bytes, os.sysconf("SC_THREAD_STACK_MIN"))
    recording = check_counts_preload([program, 1000, 50, stack_bytes, at_once])
    assert recording.process.stdout == "done\n"
    report = recording.report
    assert report["threads"] == 1001
    assert report["missed_frees"] == report["unmatched_frees"] == 0


def test_events_after_the_last_destructor(compile_c, check_counts_preload):
    """A stream is reused after its thread has ended, not when the recorder's own destructor has run."""
    program = compile_c(PROGRAMS / "late_destructors.c", "-pthread", name="late_destructors")
    report = check_counts_preload([program, 1000, 6]).report
    late = next(size for size in report["sizes"] if size["size"] == 222)
    assert late["calls"] == 1000 * 4 * 500 and late["live_blocks"] == 0
    assert report["damaged_chunks"] == report["missing_chunks"] == report["missed_frees"] == report["unmatched_frees"] == 0


@pytest.mark.parametrize("jump", [0, 1])
@pytest.mark.parametrize("alternate", [0, 1])
def test_signal_storm(compile_c, on_allocator, jump, alternate):
    """A handler may run at any point: on an allocator that may be interrupted anywhere."""
    program = compile_c(PROGRAMS / "signal_storm.c", "-Wno-unused-result", name="signal_storm")
    recording = on_allocator("ring", [program, 1000000, jump, alternate])
    assert recording.process.stdout == "done\n" and recording.process.returncode == 0
    report = recording.report
    assert report["damaged_chunks"] == report["missing_chunks"] == report["audit_differences"] == 0
    ordinary = next(size for size in report["sizes"] if size["size"] == 777)
    handler = next(size for size in report["sizes"] if size["size"] == 449)
    assert handler["calls"] > 1000 and handler["live_blocks"] == 0
    assert report["lost_events"] == 0
    if jump:  # an abandoned round is repeated; the event in progress then is lost
        assert 1000000 <= ordinary["calls"] <= 1000000 + handler["calls"]
    else:
        assert ordinary["calls"] == 1000000 and ordinary["live_blocks"] == 0


def test_signals_within_signals(compile_c, on_allocator):
    """A third level, which finds both lanes of its thread busy, is counted as lost, and nothing else is."""
    program = compile_c(PROGRAMS / "nested_signals.c", name="nested_signals")
    recording = on_allocator("ring", [program, 500000])
    assert recording.process.returncode == 0, recording.process
    made, report = int(recording.process.stdout), recording.report
    allocations = sum(size["calls"] for size in report["sizes"] if 777 <= size["size"] < 777 + 4)
    assert allocations + report["free_calls"] + report["lost_events"] == 2 * made
    assert report["lost_by_cause"] == {"nested": report["lost_events"], "starting": 0, "memory": 0, "full": 0, "strict_seccomp": 0}
    assert allocations <= made and report["free_calls"] <= made
    assert report["damaged_chunks"] == report["missing_chunks"] == report["audit_differences"] == 0


def test_forks_in_a_handler(compile_c, on_allocator):
    """The child goes on in the middle of the event that the handler interrupted, and neither process may notice."""
    program = compile_c(PROGRAMS / "fork_in_handler.c", name="fork_in_handler")
    recording = on_allocator("ring", [program, 100])
    assert recording.process.returncode == 0, recording.process
    assert len(recording.traces) == 101
    for trace in recording.traces:
        done = recording.hw("report", "--json", trace)
        assert done.returncode == 0, done.stderr
        report = json.loads(done.stdout)
        size = next(size for size in report["sizes"] if size["size"] == 333)
        assert size["calls"] >= 2000
        assert size["live_blocks"] <= 100  # an event that a fork interrupted may be damaged (docs/recording.md)


def test_threads_race(compile_c, check_counts_preload):
    report = check_counts_preload([compile_c(PROGRAMS / "race.c", "-pthread", name="race")]).report
    assert report["missed_frees"] == report["unmatched_frees"] == 0
    assert report["allocation_calls"] >= 800000


def test_a_block_that_is_freed_is_the_next_one(compile_c, on_allocator):
    """Time stamps are outside the real calls: a block's end never comes after the birth of the next block at its
    address."""
    recording = on_allocator("hot", [compile_c(PROGRAMS / "race.c", "-pthread", name="race")])
    assert recording.process.returncode == 0
    report = recording.report
    assert report["allocation_calls"] >= 1000000
    assert report["missed_frees"] == report["unmatched_frees"] == report["lost_events"] == 0


def test_a_realloc_has_two_moments(compile_c, on_allocator):
    """While a realloc runs, the old block's place becomes another block's, and the new block's place was another
    block's until then. With one moment for both, whichever it is, a block would be born where another one still
    lives."""
    recording = on_allocator("swap", [compile_c(PROGRAMS / "swap.c", "-pthread", name="swap")])
    assert recording.process.returncode == 0
    report = recording.report
    size = next(size for size in report["sizes"] if size["size"] == 4000)
    assert size["calls"] == 2 + 2 * 50 and size["live_blocks"] == 0
    assert report["missed_frees"] == report["unmatched_frees"] == report["lost_events"] == 0


def test_all_cheap_keys_are_taken(compile_c, check_counts_preload, tmp_path):
    """libc callocs room for the values of keys from the 33rd on, so a value of the recorder would add to the
    program's heap."""
    source, library = tmp_path / "keys.c", tmp_path / "keys.so"
    source.write_text("""
#include <pthread.h>
static __attribute__((constructor)) void take(void)
{
  pthread_key_t key;
  for (int i = 0; i < 40; i++)
    pthread_key_create(&key, 0);
}
""")
    subprocess.run(["gcc", "-shared", "-fPIC", source, "-o", library], check=True)
    program = compile_c(PROGRAMS / "thread_churn.c", "-pthread", "-Wl,--no-as-needed", library, name="thread_churn")
    report = check_counts_preload([program, "200", "50", "131072", "4"]).report
    assert report["threads"] == 201
    second_level = 32 * 16  # libc would calloc this in each thread
    assert not any(size["size"] == second_level for size in report["sizes"])
    assert report["missed_frees"] == report["unmatched_frees"] == 0


RENAMED = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

static void take(size_t size)
{
  void *volatile block = malloc(size);
  free(block);
}

static pthread_barrier_t ready, seen, renamed, looked;

static void *work(void *kind)
{
  take(10);
  pthread_barrier_wait(&ready);
  pthread_barrier_wait(&seen); /* seen from outside, with its first name */
  if (kind)
    prctl(PR_SET_NAME, "from outside"); /* seen only from outside, not by the recorder */
  else
    pthread_setname_np(pthread_self(), "at the end"); /* the other way round */
  take(20);
  if (kind) {
    pthread_barrier_wait(&renamed);
    pthread_barrier_wait(&looked);
  }
  return NULL;
}

int main(void)
{
  pthread_t threads[2];
  pthread_barrier_init(&ready, NULL, 3);
  pthread_barrier_init(&seen, NULL, 3);
  pthread_barrier_init(&renamed, NULL, 2);
  pthread_barrier_init(&looked, NULL, 2);
  pthread_create(&threads[0], NULL, work, NULL);
  pthread_create(&threads[1], NULL, work, "");
  pthread_barrier_wait(&ready);
  HOLD;
  pthread_barrier_wait(&seen);
  pthread_join(threads[0], NULL);
  pthread_barrier_wait(&renamed);
  HOLD;
  pthread_barrier_wait(&looked);
  pthread_join(threads[1], NULL);
}
"""


def test_the_last_name_counts(record_with_marks, compile_c, tmp_path):
    """A thread that named itself and ended before the next look used to be reported with its earlier name."""

    def is_seen(report):
        if len(report["images"][0]["marks"]) == 1:
            return all(thread["policy"] == 0 for thread in report["by_thread"])
        return "from outside" in {thread["name"] for thread in report["by_thread"]}

    program = compile_c(RENAMED.replace("HOLD", HOLD), "-pthread")
    report = record_with_marks(program, tmp_path / "renamed.hwt", "begun", "renamed", until=is_seen).report
    assert {"at the end", "from outside"} <= {thread["name"] for thread in report["by_thread"]}


OWN_MALLOC = r"""
#include <stddef.h>
#include <sys/prctl.h>
#include <unistd.h>

static int is_locked;
static char arena[1 << 20] __attribute__((aligned(16)));
static size_t used;

/* Like browsers' allocators, it names its mappings, or its thread, while it holds its lock. */
void *malloc(size_t size)
{
  static int is_named;
  if (is_locked)
    _exit(3);
  is_locked = 1;
  if (!is_named++ && prctl(PR_SET_NAME, "named") != 0)
    _exit(4);
  void *block = arena + used;
  used += (size + 15) & ~(size_t)15;
  is_locked = 0;
  return block;
}

void free(void *block) { (void)block; }
void *calloc(size_t count, size_t size) { return malloc(count * size); }
void *realloc(void *old, size_t size) { return old ? NULL : malloc(size); }

static void begin(void) { malloc(10); }
__attribute__((section(".preinit_array"), used)) static void (*before_all_constructors)(void) = begin;

int main(void) { return write(1, "done\n", 5) != 5; }
"""


def test_prctl_under_a_lock_of_the_programs_own_malloc(compile_c, preload):
    """Chromium used to hang: the first prctl, from within its malloc, looked up a function that libc does not have,
    and the look-up allocated."""
    done = preload([compile_c(OWN_MALLOC, "-fno-builtin")])
    assert (done.process.stdout, done.process.stderr, done.process.returncode) == ("done\n", "", 0)


SHORT = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

static char *at_a_page_end; /* the kernel reads 15 bytes of a name and no more */

static void *work(void *number)
{
  char name[16];
  void *volatile block = malloc(10);
  snprintf(name, sizeof name, "short %d", *(int *)number);
  if (*(int *)number)
    prctl(PR_SET_NAME, name);
  else
    prctl(PR_SET_NAME, at_a_page_end);
  free(block);
  return NULL;
}

int main(void)
{
  char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), name[16];
  munmap(pages + 4096, 4096);
  at_a_page_end = memcpy(pages + 4096 - 15, "fifteen letters", 15);
  for (int i = 0; i < 20; i++) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, &i);
    pthread_join(thread, NULL);
  }
  errno = 4711;
  int set = prctl(PR_SET_NAME, "first"), kept = errno, bad = prctl(PR_SET_NAME, NULL);
  printf("%d %d %d %d ", set, kept, bad, errno == EFAULT);
  int got = prctl(PR_GET_NAME, name), none = prctl(PR_SET_PDEATHSIG, 1000, 0, 0, 0), why = errno;
  printf("%d %s %d %d ", got, name, none, why == EINVAL);
  printf("%d %d\n", prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), prctl(PR_GET_DUMPABLE));
  fflush(stdout);
  if (fork() == 0) {
    prctl(PR_SET_NAME, "on the way");
    execle("/bin/true", "true", NULL, (char *[]){NULL});
  }
}
"""


@pytest.mark.parametrize("way", ["record", "preload"])
def test_names_by_prctl(record, preload, compile_c, way):
    """Threads that end before the first look. prctl returns the same as without the recorder. A name alone is no
    reason to begin a recording of a child that is about to run another program."""
    recording = {"record": record, "preload": preload}[way]([compile_c(SHORT, "-pthread")])
    assert recording.process.stdout == "0 4711 -1 1 0 first -1 1 0 1\n"
    names = [thread["name"] for thread in recording.report["by_thread"]]
    assert sorted(names) == sorted(["first", "fifteen letters"] + [f"short {i}" for i in range(1, 20)])
    assert len(recording.traces) == 1
