"""test_views.py - the live page has all that the report's page has: durations of calls, instances of scopes, handovers

Breaks if calls, instances or handovers are lost or counted twice while slices are joined, or while a recording is followed.
"""

import pytest
from conftest import ROOT
from page_document import read_html
from waiting import wait_until

# Each line on stdin is a round: blocks that the worker frees, in scopes and in a task of both threads.
ROUNDS = r"""
#include <heapwright/monitor.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

static void *volatile blocks[100];
static struct hw_task task;
static sem_t begun, ended;

static void *work(void *unused)
{
  for (;;) {
    sem_wait(&begun);
    hw_task_enter(&task);
    for (int i = 0; i < 100; i++) {
      HW_SCOPE("free");
      free(blocks[i]);
    }
    hw_task_leave(&task);
    hw_task_finish(&task);
    sem_post(&ended);
  }
  return unused;
}

int main(void)
{
  static char line[64], in[BUFSIZ];
  pthread_t worker;
  setvbuf(stdin, in, _IOLBF, sizeof in);
  sem_init(&begun, 0, 0);
  sem_init(&ended, 0, 0);
  pthread_create(&worker, NULL, work, NULL);
  for (int round = 0; fgets(line, sizeof line, stdin); round++) {
    HW_SCOPE_NUMBER("round", round);
    task = hw_task_create("task");
    for (int i = 0; i < 100; i++) {
      HW_SCOPE("step");
      blocks[i] = realloc(malloc((size_t)i + 1), 2 * (size_t)i + 100);
    }
    sem_post(&begun);
    sem_wait(&ended);
  }
  return 0;
}
"""
ROUND_COUNT = 20


@pytest.fixture
def rounds(begin, view, compile_c):
    """A recording that was followed from its begin to its end: its viewer and its trace."""
    process, trace = begin(compile_c(ROUNDS, "-pthread", "-fno-builtin", f"-I{ROOT}/include"), options=("--durations",))
    viewer = view(trace)
    calls = 0
    for _ in range(ROUND_COUNT):
        process.stdin.write(b"\n")
        process.stdin.flush()
        wait_until(lambda: viewer.report()["allocation_calls"] >= calls + 200)
        calls = viewer.report()["allocation_calls"]
    process.stdin.close()
    assert process.wait() == 0
    wait_until(lambda: viewer.ask("/document")[1]["Heapwright-State"] == "over")
    return viewer, trace


@pytest.fixture
def expected(rounds, hw, tmp_path):
    """The report's page of the same recording."""
    assert hw("report", "-o", tmp_path / "page.html", rounds[1]).returncode == 0
    return read_html(tmp_path / "page.html")


def test_the_saved_page_is_that_of_the_report(rounds, expected, tmp_path):
    (tmp_path / "saved.html").write_bytes(rounds[0].ask("/report.html")[2])
    saved = read_html(tmp_path / "saved.html")
    assert saved.slices.columns == expected.slices.columns
    assert saved.document["durations_series"] == expected.document["durations_series"]
    assert saved.handovers.series == expected.handovers.series
    assert saved.document["instances"]["allocation_calls"] == expected.document["instances"]["allocation_calls"]
