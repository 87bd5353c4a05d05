"""test_sandbox.py - programs that enter a sandbox, and what the launcher then has to find out from outside

Breaks if the recorder makes a system call in steady state that malloc itself does not make: the program is killed
for it.
"""

import subprocess
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs"
NO_SANDBOX = 77
ROUNDS = 200000  # in sandbox_kills.c, for each thread and each time


@pytest.fixture
def sandbox_kills(compile_c):
    return compile_c(PROGRAMS / "sandbox_kills.c", "-pthread", name="sandbox_kills")


@pytest.mark.parametrize("when", ["early", "late"])  # before the first allocation, or between allocations
@pytest.mark.parametrize("threads", [0, 8])
def test_sandbox_that_kills(sandbox_kills, record, when, threads):
    plain = subprocess.run([sandbox_kills, when, str(threads)], capture_output=True, text=True, timeout=60)
    if plain.returncode == NO_SANDBOX:
        pytest.skip("no sandbox can be made here")
    if plain.returncode < 0:
        pytest.skip("libc itself makes calls here that the list does not have")
    recording = record([sandbox_kills, when, str(threads)])
    assert (recording.process.returncode, recording.process.stdout) == (plain.returncode, plain.stdout) == (0, "done\n")
    report = recording.report
    rounds = ROUNDS * (threads + (2 if when == "late" else 1))
    assert sum(size["calls"] for size in report["sizes"] if 16 <= size["size"] < 1016) >= rounds
    assert report["allocation_calls"] - rounds <= 2 * threads  # libc's own, of pthread_create
    assert report["live_blocks_at_end"] <= threads
    assert report["threads"] == threads + 1
    assert report["lost_events"] == report["damaged_chunks"] == report["missing_chunks"] == 0
    assert report["missed_frees"] == report["unmatched_frees"] == 0


NAMED = """
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
static void *work(void *name)
{
  free(malloc(100)); /* the recorder sees the thread before it has its name */
  prctl(PR_SET_NAME, name);
  if (!strcmp(name, "batch"))
    sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){0});
  for (int i = 0; i < 12; i++) {
    free(malloc(100));
    usleep(100000);
  }
  return NULL;
}
int main(void)
{
  pthread_t ids[2];
  pthread_create(&ids[0], NULL, work, "batch");
  pthread_create(&ids[1], NULL, work, "with (blank) )");
  pthread_join(ids[0], NULL);
  pthread_join(ids[1], NULL);
}
"""


@pytest.mark.parametrize("with_launcher", [True, False])
def test_names_and_policies(compile_c, record, preload, with_launcher):
    program = compile_c(NAMED, "-pthread", "-fno-builtin", name="named")
    recording = (record if with_launcher else preload)([program])
    threads = {thread["name"]: thread["policy"] for thread in recording.report["by_thread"]}
    assert threads == {"named": 0, "batch": 3, "with (blank) )": 0}


def test_resident_set_is_seen_from_outside(compile_c, record):
    program = compile_c("""
#include <stdlib.h>
#include <string.h>
int main(void)
{
  void *block = malloc(50000000);
  memset(block, 1, 50000000);
  free(block);
}
""", "-fno-builtin", name="resident")
    report = record([program]).report
    assert 50000000 < report["images"][0]["rss_peak_bytes"] < 100000000
