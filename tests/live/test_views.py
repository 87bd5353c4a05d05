"""test_views.py - the live page has all that the report's page has: durations of calls, instances of scopes, handovers

Breaks if calls, instances or handovers are lost or counted twice while slices are joined, or while a recording is followed.
"""

from collections import Counter

import pytest
from conftest import ROOT
from live_browser import NEEDS_BROWSER, Browser
from page_document import Page, read_html, read_instances, unpack_durations
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
ROUND_COUNT = 8


@pytest.fixture
def begun(begin, compile_c):
    """A recording of the program: its process and its trace."""
    return begin(compile_c(ROUNDS, "-pthread", "-fno-builtin", f"-I{ROOT}/include"), options=("--durations",))


def do_round(process):
    process.stdin.write(b"\n")
    process.stdin.flush()


@pytest.fixture
def rounds(begun, view):
    """A recording that was followed from its begin to its end: its viewer and its trace."""
    process, trace = begun
    viewer = view(trace)
    calls = 0
    for _ in range(ROUND_COUNT):
        do_round(process)
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


@pytest.fixture
def live(rounds):
    return Page(rounds[0].json("/document"))


@pytest.fixture
def later(rounds, view):
    """Of a viewer that was started after the end. Times are exact: the rate of the clock is known."""
    viewer = view(rounds[1])
    wait_until(lambda: viewer.ask("/document")[1]["Heapwright-State"] == "over")
    return Page(viewer.json("/document"))


def sums_of(parts):
    """Of an entry point's durations along time: untimed calls, total_ns, max_ns and the calls of each band."""
    bands = sum((Counter(part[4]) for part in parts), Counter())
    return sum(part[1] for part in parts), sum(part[2] for part in parts), max(part[3] for part in parts), bands


def calls_along(page):
    rows = page.document["durations"]
    parts = unpack_durations(page.document["durations_series"], len(rows))
    return {row["entry"]: sum(sum(part[4].values()) for part in of_row) for row, of_row in zip(rows, parts)}


def calls_of(durations):
    return {row["entry"]: row["calls"] for row in durations}


def test_durations(live, later, expected):
    for key in ("clock_cost_ns", "durations", "durations_of_all", "durations_by_thread", "slowest_calls"):
        assert later.document[key] == expected.document[key], key
    pages = [unpack_durations(page.document["durations_series"], len(page.document["durations"])) for page in (later, expected)]
    assert [sums_of(parts) for parts in pages[0]] == [sums_of(parts) for parts in pages[1]]
    calls = calls_of(expected.document["durations"])
    assert calls_of(live.document["durations"]) == calls_along(live) == calls
    for found, told in zip(live.document["durations_by_thread"], expected.document["durations_by_thread"], strict=True):
        assert calls_of(found["durations"]) == calls_of(told["durations"])
    assert len(live.document["slowest_calls"]) == 100


def test_instances_of_scopes(live, later, expected):
    instances = read_instances(expected.document)
    assert len(instances) == expected.document["instances"]["recorded"] == ROUND_COUNT * (1 + 100 + 1 + 100)
    assert read_instances(later.document) == instances
    times = dict.fromkeys(("begin_ns", "duration_ns"))
    assert [found | times for found in read_instances(live.document)] == [told | times for told in instances]


def test_handovers_along_time(live, later, expected):
    blocks = expected.handovers["blocks"]
    assert blocks == [ROUND_COUNT * 100]
    for page in live, later, expected:
        assert [sum(entry.calls for entry in row) for row in page.handovers.series] == blocks
        assert [sum(entry.bytes for entry in row) for row in page.handovers.series] == expected.handovers["bytes"]
    assert len(live.handovers.series[0]) > 1


def test_the_saved_page_has_the_same(rounds, live, expected, tmp_path):
    (tmp_path / "saved.html").write_bytes(rounds[0].ask("/report.html")[2])
    saved = read_html(tmp_path / "saved.html").document
    assert saved == live.document
    assert saved.keys() == expected.document.keys()


@NEEDS_BROWSER
def test_the_views_move(begun, view):
    process, trace = begun
    Browser("views.mjs", view(trace).url).obey(lambda _: do_round(process))
