"""Programs that enter SECCOMP_MODE_STRICT, or forbid the time stamp counter: no clock may be read any more and no kernel asked, and
they live on as without the recorder. What a thread does from there on is in the recording, as far as its last chunk holds it."""

import subprocess

import pytest

# Asks for memory BEFORE times, is sealed in the way that argv[1] says, asks AFTER times, and ends as it may.
SOURCE = r"""
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BEFORE = 100, ASKED_BYTES = 40 };

__attribute__((noinline)) static void ask(int times)
{
  for (int i = 0; i < times; i++) {
    void *volatile block = malloc(ASKED_BYTES);
    free(block);
  }
}

static int after;

static void *be_sealed(void *argument)
{
  ask(BEFORE);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
    _exit(99);
  ask(after);
  (void)!write(1, "sealed\n", 7);
  syscall(SYS_exit, 3);
  return argument;
}

static void *ask_elsewhere(void *argument)
{
  ask(BEFORE);
  return argument;
}

int main(int argc, char **argv)
{
  after = argc > 2 ? atoi(argv[2]) : 0;
  if (!strcmp(argv[1], "alone"))
    be_sealed(NULL);
  if (!strcmp(argv[1], "refused")) { /* it is no mode */
    ask(BEFORE);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT + 100) == 0)
      return 98;
    ask(after);
    return 3;
  }
  if (!strcmp(argv[1], "tsc")) {
    ask(BEFORE);
    if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV))
      return 97;
    ask(after);
    pthread_t other;
    pthread_create(&other, NULL, ask_elsewhere, NULL);
    pthread_join(other, NULL);
    return 3;
  }
  pthread_t sealed, other;
  pthread_create(&sealed, NULL, be_sealed, NULL);
  pthread_join(sealed, NULL);
  pthread_create(&other, NULL, ask_elsewhere, NULL);
  pthread_join(other, NULL);
  ask(BEFORE);
  return 4;
}
"""
BEFORE, ASKED_BYTES = 100, 40


@pytest.fixture
def program(compile_c):
    return compile_c(SOURCE, "-O1", "-fno-builtin", "-pthread")


def calls_of(report):
    """Of the function that asks."""
    return sum(size["calls"] for size in report["sizes"] if size["size"] == ASKED_BYTES)


def run_both(program, record, *arguments):
    plain = subprocess.run([program, *arguments], capture_output=True, text=True)
    recording = record([program, *arguments])
    assert recording.process.returncode == plain.returncode
    assert recording.process.stdout == plain.stdout
    return recording


@pytest.mark.parametrize("after", [0, 1000])
def test_a_process_alone(program, record, after):
    """All of it is there, and the report says since when there is no time."""
    recording = run_both(program, record, "alone", str(after))
    assert recording.process.returncode == 3
    assert calls_of(recording.report) == BEFORE + after
    assert recording.report["lost_events"] == 0
    assert "strict seccomp" in str(recording.report["images"][0]["notes"])


def test_more_than_a_chunk_holds(program, record):
    """What is lost is counted where it can be, and ends nothing."""
    recording = run_both(program, record, "alone", "3000000")
    assert recording.process.returncode == 3
    assert BEFORE < calls_of(recording.report) < BEFORE + 3000000
    seen = recording.report["allocation_calls"] + recording.report["free_calls"]
    assert seen + recording.report["lost_events"] >= 2 * 3000000


def test_one_thread_of_several(program, record):
    recording = run_both(program, record, "thread", "1000")
    assert recording.process.returncode == 4
    assert calls_of(recording.report) == 3 * BEFORE + 1000
    assert recording.report["lost_events"] == 0


def test_a_seal_that_is_refused(program, record):
    recording = run_both(program, record, "refused", "1000")
    assert calls_of(recording.report) == BEFORE + 1000
    assert "strict" not in str(recording.report["images"][0]["notes"])


def test_without_the_time_stamp_counter(program, record):
    """The clock goes on by the kernel's, for all threads."""
    recording = run_both(program, record, "tsc", "1000")
    assert recording.process.returncode == 3
    assert calls_of(recording.report) == 2 * BEFORE + 1000
    assert recording.report["lost_events"] == 0
