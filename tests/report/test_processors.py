"""test_processors.py - a report is the same on one processor and on several

What would break: figures that depend on how far reading is ahead of counting; a second thread that nobody uses.
"""

import os
import shutil
import subprocess

import pytest

PROGRAM = """
#include <pthread.h>
#include <stdlib.h>

enum { THREADS = 3, BLOCKS = 1000, ROUNDS = 100000 };

static void *work(void *seed)
{
  void *blocks[BLOCKS] = {0};
  unsigned random = (unsigned)(size_t)seed;
  for (int i = 0; i < ROUNDS; i++) {
    random = random * 1103515245 + 12345;
    unsigned at = random / 65536 % BLOCKS;
    if (random / 7 % 5 == 0) {
      blocks[at] = realloc(blocks[at], 1 + random / 99 % 3000);
    } else {
      free(blocks[at]);
      blocks[at] = malloc(1 + random / 131072 % 500);
    }
  }
  return NULL;
}

int main(void)
{
  pthread_t threads[THREADS];
  for (size_t i = 0; i < THREADS; i++)
    pthread_create(&threads[i], NULL, work, (void *)(i + 1));
  for (size_t i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  return 0;
}
"""
LISTS = ("--json", "--lifetimes", "--by=thread", "--resizes", "--tree")


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one processor alone may be used")
def test_same_on_one_and_on_all(record, hw, compile_c, tmp_path):
    recording = record([compile_c(PROGRAM, "-O1", "-g", "-pthread")])
    assert recording.report["allocation_calls"] > 200000
    one = {min(os.sched_getaffinity(0))}
    for option in LISTS:
        answers = []
        for processors in (os.sched_getaffinity(0), one):
            for kept in tmp_path.glob("*.hwt.*"):
                kept.unlink()
            answers.append(hw("report", option, recording.trace, preexec_fn=lambda set_=processors: os.sched_setaffinity(0, set_)))
            assert answers[-1].returncode == 0, answers[-1].stderr
        assert answers[0].stdout == answers[1].stdout, option


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one processor alone may be used")
@pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")
def test_second_thread(record, build, compile_c, tmp_path):
    """A long recording is counted by a thread of its own, a short one is not."""
    long = record([compile_c(PROGRAM, "-O1", "-g", "-pthread")])
    short = record(["true"])
    for recording, makes_thread in ((long, True), (short, False)):
        calls = tmp_path / "calls"
        for kept in tmp_path.glob("*.hwt.*"):
            kept.unlink()
        subprocess.run(["strace", "-f", "-e", "trace=clone3,clone", "-o", calls, build / "bin/heapwright", "report", recording.trace],
                       check=True, capture_output=True)
        assert ("CLONE_THREAD" in calls.read_text()) == makes_thread
