"""test_processors.py - a report is the same on one processor and on several

Breaks if figures depend on how far reading is ahead of counting, or if a second thread is never used.
"""

import json
import os
import shutil
import subprocess

import pytest

PROGRAM = """
#include <pthread.h>
#include <stdlib.h>

enum { THREADS = 3, BLOCKS = 1000 };

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


def kept_beside(trace):
    return {path.suffix: path for path in trace.parent.glob(f"{trace.name}.*")}


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="only one processor may be used")
def test_same_on_one_and_on_all(record, hw, compile_c):
    """Long enough for a summary with epochs. The summary is also the same, and intervals are answered from it."""
    trace = record([compile_c(PROGRAM, "-DROUNDS=1500000", "-O1", "-g", "-pthread")]).trace
    answers = []
    for processors in (os.sched_getaffinity(0), {min(os.sched_getaffinity(0))}):
        for path in kept_beside(trace).values():
            path.unlink()
        for options in (["--json"], ["--from", "30%", "--to", "60%", "--json"], ["--lifetimes"], ["--by=thread"]):
            done = hw("report", *options, trace, preexec_fn=lambda set_=processors: os.sched_setaffinity(0, set_))
            assert done.returncode == 0, done.stderr
            answers.append(done.stdout)
        answers.append(kept_beside(trace)[".sum"].read_bytes())
    half = len(answers) // 2
    assert json.loads(answers[0])["allocation_calls"] > 3000000
    assert answers[:half] == answers[half:]


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="only one processor may be used")
@pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")
def test_second_thread(record, build, compile_c, tmp_path):
    """A long recording is counted by a separate thread. A short one is not, and neither are the events that a page
    sums up additionally."""
    long, short = record([compile_c(PROGRAM, "-DROUNDS=100000", "-O1", "-g", "-pthread")]), record(["true"])
    page = ["-o", tmp_path / "run.html"]
    for recording, options, threads in ((long, [], 1), (long, page, 1), (short, [], 0)):
        calls = tmp_path / "calls"
        subprocess.run(["strace", "-f", "-e", "trace=clone3,clone", "-o", calls, build / "bin/heapwright", "report", *options, recording.trace],
                       check=True, capture_output=True)
        assert calls.read_text().count("CLONE_THREAD") == threads
