"""test_runs.py - pages of runs other than a single thread from start to end: many threads, several processes, marks,
half a run

Breaks if blocks of threads without their own row are lost, or counted on after their process ended; if a mark within
a slice is wrong; or if a page of a recording that grows while it is read twice is.
"""

import json
import subprocess

import pytest
from page_document import Page, Table, lifetimes_within, live_at, read_page, within

FLAGS = ("-fno-builtin", "-fno-optimize-sibling-calls", "-pthread")
THREADS = """
#include <pthread.h>
#include <stdlib.h>

static void *work(void *number)
{
  for (int i = 0; i < 10; i++)
    free(malloc(10 + (size_t)number));
  return malloc((size_t)number + 1);
}

int main(void)
{
  pthread_t threads[150];
  void *block;
  for (size_t i = 0; i < 150; i++)
    pthread_create(&threads[i], NULL, work, (void *)i);
  for (int i = 0; i < 150; i++) {
    pthread_join(threads[i], &block);
    free(block);
  }
  return 0;
}
"""
PROCESSES = """
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
  for (int i = 0; i < 5; i++) {
    if (fork() == 0) {
      void *block = malloc(100000 * ((size_t)i + 1));
      usleep(400000);
      _exit(block == NULL);
    }
  }
  while (wait(NULL) > 0)
    ;
  return malloc(77) == NULL;
}
"""
# Blocks that are live when their processes end, and inherited ones, some of which are freed.
LEAVING = """
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile kept[70];

int main(void)
{
  for (int i = 50; i < 70; i++)
    kept[i] = malloc(1000);
  for (int child = 0; child < 4; child++) {
    if (fork() == 0) {
      for (int i = 0; i < 50; i++) {
        kept[i] = malloc(64);
        usleep(500);
      }
      for (int i = 0; i < 20; i++)
        free(kept[i]);
      for (int i = 50; i < 60; i++)
        free(kept[i]);
      usleep(10000);
      _exit(0);
    }
    usleep(30000);
  }
  while (wait(NULL) > 0)
    ;
  for (int i = 50; i < 70; i++)
    free(kept[i]);
  usleep(20000);
  return malloc(5) == NULL;
}
"""
MANY_PROCESSES = """
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
  for (size_t i = 1; i <= 230; i++) {
    if (fork() == 0)
      _exit(malloc(1000 * i) == NULL);
    while (wait(NULL) > 0)
      ;
  }
  return malloc(1) == NULL;
}
"""
STEPS = """
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
  for (int i = 1; getchar() == '\\n'; i++) {
    if (malloc(1000 * (size_t)i) == NULL)
      return 1;
    printf("step %d\\n", i);
    fflush(stdout);
  }
  return 0;
}
"""


@pytest.fixture
def page_of(hw, tmp_path):
    """page_of(trace, "--children"): returns its page's document."""

    def run(trace, *options):
        done = hw("report", *options, "-o", tmp_path / "run.page.json", trace)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        return read_page(tmp_path / "run.page.json")

    return run


def assert_live_adds_up(page):
    for i in range(page.slices.count):
        for table in (page.stacks, page.threads, page.size_series):
            assert sum(live_at(entries, i)[1] for entries in table.series) == page.slices["live_bytes"][i]


def test_more_threads_than_rows(record, compile_c, page_of):
    recording = record([compile_c(THREADS, *FLAGS)])
    page, report = page_of(recording.trace), recording.report
    assert page.threads.count == 65 and page.threads["cut"] == [0] * 64 + [151 - 64]
    for name in ("allocation_calls", "free_calls", "live_bytes", "peak_bytes", "foreign_frees"):
        assert page.threads.sum(name) == sum(thread[name] for thread in report["by_thread"])
    assert page.threads.sum("foreign_frees") == sum(page.document["handovers"]["blocks"]) >= 150
    for row, entries in enumerate(page.threads.series):
        calls = within(entries, 0, page.slices.count - 1)
        assert calls == (page.threads["allocation_calls"][row], page.threads["allocated_bytes"][row])
    assert_live_adds_up(page)
    shares = Table(page.document["stack_threads"], page.document["stack_threads"]["count"])
    by_row = [0] * page.stacks.count
    by_thread = [0] * page.threads.count
    row = 0
    for step, thread, calls in zip(shares["row"], shares["thread"], shares["calls"]):
        row += step
        by_row[row] += calls
        by_thread[thread] += calls
    assert by_row == page.stacks["calls"] and by_thread == page.threads["allocation_calls"]


def resident(report, ns):
    """Returns the sum of the latest samples of the processes that run at that time, or of their first ones."""
    found = 0
    for process, image in zip(report["processes"], report["images"]):
        until = [point["rss_bytes"] for point in image["rss"] if process["from_ns"] + point["time_ns"] <= ns]
        if image["rss"] and process["from_ns"] <= ns <= process["to_ns"]:
            found += until[-1] if until else image["rss"][0]["rss_bytes"]
    return found


def test_processes(record, compile_c, page_of):
    recording = record([compile_c(PROCESSES, *FLAGS)])
    page, report = page_of(recording.trace, "--children"), recording.report_with("--children")
    assert len(page.document["processes"]) == 6 and page.document["processes"] == report["processes"]
    for name in ("allocation_calls", "free_calls", "allocated_bytes"):
        assert page.slices.sum(name) == report[name]
    assert max(page.slices["max_bytes"]) == report["peak_bytes"] == page.stacks.sum("peak_bytes")
    assert page.stacks.sum("live_bytes") == report["live_bytes_at_end"] >= 1500000
    assert 77 <= page.slices["live_bytes"][-1] < 100000, "the blocks of a process are not live after its end"
    assert_live_adds_up(page)
    rss = page.document["rss"]
    assert len(rss["time_ns"]) > 100 and rss["time_ns"][0] == 0 and rss["rss_bytes"] == [resident(report, ns) for ns in rss["time_ns"]]
    assert max(filter(None, page.slices["rss_max_bytes"])) == max(rss["rss_bytes"])


def test_lifetimes_of_processes(record, compile_c, page_of):
    """Blocks that were live when their process ended were not freed, as in the report of any interval."""
    recording = record([compile_c(LEAVING, *FLAGS)])
    page = page_of(recording.trace, "--children")
    begins, count = page.slices["from_ns"], page.slices.count
    assert sum(entry.ended["left"] for entries in page.stacks.series for entry in entries) >= 4 * 30
    for first, last in ((0, count // 2), (count // 4, count // 2), (count // 2, count - 2)):
        report = recording.report_with("--children", "--from", f"{begins[first]}ns", "--to", f"{begins[last + 1]}ns")
        lifetimes = [lifetimes_within(entries, first, last) for entries in page.stacks.series]
        found = {step: sum(each[step] for each in lifetimes) for step in report["lifetimes"]}
        assert sum(found.values()) == sum(report["lifetimes"].values()) > 0
        for step, blocks in report["lifetimes"].items():
            assert abs(found[step] - blocks) <= (page.threads.count if step != "until_end" else 0), step


def test_other_processes_are_in_the_page(record, compile_c, page_of):
    """Each as `--pid` shows it, the largest first. A page of `--pid` has no others; with `--children` all of them
    are included."""
    run = record([compile_c(PROCESSES, *FLAGS)])
    page = page_of(run.trace)
    assert len(page.document["others"]) == 5
    sizes = [other["run"]["allocated_bytes"] for other in page.document["others"]]
    assert sizes == sorted(sizes, reverse=True) and sizes[0] <= page.run["allocated_bytes"]
    for other in map(Page, page.document["others"]):
        alone = page_of(run.trace, "--pid", str(other.run["pid"]))
        assert "others" not in alone.document and "others" not in other.document
        assert (other.run, other.stacks.columns) == (alone.run, alone.stacks.columns)
    together = page_of(run.trace, "--children").document["others"]
    assert sorted(other["run"]["pid"] for other in together) == sorted([page.run["pid"]] + [other["run"]["pid"] for other in page.document["others"]])


def test_more_processes_than_rows(record, compile_c, page_of):
    """The largest are listed, in the order in which they began; a parent that is not listed is left out."""
    recording = record([compile_c(MANY_PROCESSES, *FLAGS)])
    page, report = page_of(recording.trace, "--children"), recording.report_with("--children")
    sizes = sorted(process["allocated_bytes"] for process in report["processes"])
    assert len(sizes) == 231 and page.document["processes_left_out"] == 31
    assert sorted(process["allocated_bytes"] for process in page.document["processes"]) == sizes[31:]
    begins = [process["from_ns"] for process in page.document["processes"]]
    assert begins == sorted(begins) and all("parent" not in process for process in page.document["processes"])
    assert page.stacks.sum("bytes") == page.run["allocated_bytes"] == sum(sizes)


def test_processes_with_long_commands(record, page_of):
    """Commands take their room once, and little of it: the largest others are there all the same."""
    script = "for i in $(seq 60); do /bin/true $i $(printf %015000d 0); done"
    recording = record(["/bin/bash", "-c", script])
    for options in ((), ("--children",)):
        page = page_of(recording.trace, *options)
        assert len(page.document["others"]) == 7 and len(page.document["processes"]) >= 61
        assert max(len(process["command"]) for process in page.document["processes"]) <= 1000
        for other in page.document["others"]:
            assert {process["pid"] for process in other["processes"]} == {other["run"]["pid"]}
            assert "processes_left_out" not in other


def test_the_resident_set(record, page_of):
    recording = record(["/usr/bin/python3", "-c", "import json, email"])
    page, points = page_of(recording.trace), recording.report["images"][0]["rss"]
    assert len(points) < 400
    for name in ("time_ns", "rss_bytes", "anonymous_bytes", "file_bytes", "stack_bytes", "recorder_bytes"):
        assert page.document["rss"][name] == [point[name] for point in points]
    for i, begin in enumerate(page.slices["from_ns"]):
        end = page.slices["from_ns"][i + 1] if i + 1 < page.slices.count else float("inf")
        within_slice = [point["rss_bytes"] for point in points if begin <= point["time_ns"] < end]
        assert page.slices["rss_min_bytes"][i] == min(within_slice, default=None)
        assert page.slices["rss_max_bytes"][i] == max(within_slice, default=None)


def test_marks_and_half_a_run(build, hw, compile_c, page_of, tmp_path):
    trace = tmp_path / "steps.hwt"
    words = [build / "bin/heapwright", "record", "-q", "-o", trace, "--", compile_c(STEPS, *FLAGS)]
    process = subprocess.Popen(list(map(str, words)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    for i in (1, 2, 3):
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == f"step {i}\n"
        assert hw("control", trace, "mark", f"after {i}").returncode == 0
        if i == 2:
            half = page_of(trace)
    process.communicate("", timeout=60)
    assert process.returncode == 0
    assert half.document["process"]["being_written"] and half.stacks.sum("bytes") == half.run["allocated_bytes"] >= 3000
    page = page_of(trace)
    marks = {mark["text"]: mark["time_ns"] for mark in page.document["marks"]}
    assert list(marks) == ["after 1", "after 2", "after 3"]
    done = hw("report", "--json", trace)
    sizes = {stack["largest"]: stack["calls"] for stack in json.loads(done.stdout)["top"]}
    assert sizes[3000] == 3
    (row,) = [row for row in range(page.stacks.count) if page.stacks["largest"][row] == 3000]
    for i in (1, 2, 3):
        slice_after = page.slices["from_ns"].index(marks[f"after {i}"])
        assert live_at(page.stacks.series[row], slice_after - 1) == (i, sum(1000 * step for step in range(1, i + 1)))
