"""test_questions_of_threads.py - which threads free blocks of other threads, and which process allocated how much, with
known answers

Breaks if a block is counted for the wrong owner or freeing thread; or if a thread's own peak, its allocations after
the warm-up, the threads after the tenth, the starter of a process, or shares are wrong.
"""

import json
import re

import pytest

from waiting import HOLD

# docs/questions.md shows this program: change both together.

HANDED_ON = """
#include <pthread.h>
#include <stdlib.h>

static void *blocks[300], *small[50];

static void *first(void *unused)
{
  pthread_setname_np(pthread_self(), "first");
  for (int i = 0; i < 100; i++)
    free(blocks[i]);
  for (int i = 0; i < 50; i++)
    small[i] = malloc(10);
  return unused;
}

static void *second(void *unused)
{
  pthread_setname_np(pthread_self(), "second");
  for (int i = 100; i < 300; i++)
    free(blocks[i]);
  for (int i = 0; i < 50; i++)
    free(small[i]);
  return unused;
}

int main(void)
{
  pthread_t thread;
  pthread_setname_np(pthread_self(), "main");
  for (int i = 0; i < 300; i++)
    blocks[i] = malloc(100);
  pthread_create(&thread, NULL, first, NULL);
  pthread_join(thread, NULL);
  pthread_create(&thread, NULL, second, NULL);
  pthread_join(thread, NULL);
}
"""

POOL = """
#include <pthread.h>
#include <stdlib.h>

static void *blocks[14][100];

static void *work(void *number)
{
  long i = (long)number;
  for (int k = 0; k < 100; k++)
    blocks[i][k] = malloc(16);
  for (int k = 0; k < 100; k++)
    free(blocks[i ? i - 1 : 13][k]);  /* the neighbour's */
  return NULL;
}

int main(void)
{
  for (int k = 0; k < 100; k++)
    blocks[13][k] = malloc(16);
  for (long i = 0; i < 13; i++) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, (void *)i);
    pthread_join(thread, NULL);
  }
}
"""

CONTROL_LOOP = """
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static void *buffers[500], *volatile block;
static pthread_barrier_t warm, marked;

static void wait_for_mark(void)
{
  pthread_barrier_wait(&warm);
  pthread_barrier_wait(&marked);
}

__attribute__((noinline)) void *prepare(void)  { return block = malloc(64); }
__attribute__((noinline)) void *log_line(void) { return block = malloc(100); }
__attribute__((noinline)) void *draw(void)     { return block = malloc(1000); }

static void *control(void *unused)
{
  pthread_setname_np(pthread_self(), "control_loop");
  for (int i = 0; i < 500; i++)     /* the warm-up */
    buffers[i] = prepare();
  wait_for_mark();
  for (int tick = 0; tick < 3000; tick++)
    if (tick % 100 == 99)           /* forgotten there: a line for the log */
      free(log_line());
  return unused;
}

static void *display(void *unused)
{
  wait_for_mark();
  for (int frame = 0; frame < 1000; frame++)
    free(draw());
  return unused;
}

int main(void)
{
  pthread_t threads[2];
  pthread_barrier_init(&warm, NULL, 3);
  pthread_barrier_init(&marked, NULL, 3);
  pthread_create(&threads[0], NULL, control, NULL);
  pthread_create(&threads[1], NULL, display, NULL);
  pthread_barrier_wait(&warm);
  HOLD;
  pthread_barrier_wait(&marked);
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], NULL);
}
"""

PROCESSES = """
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile kept;

static void work(int blocks, size_t bytes)
{
  for (int i = 0; i < blocks; i++)
    kept = malloc(bytes);
}

int main(void)
{
  work(10, 1000);
  for (int i = 0; i < 2; i++) {
    if (fork() == 0) {
      work(20 + i * 30, 1000);
      exit(0);
    }
    wait(NULL);
  }
}
"""


def test_who_frees_whose(record, compile_c, hw):
    recording = record([compile_c(HANDED_ON, "-pthread")])
    report = recording.report
    pairs = {(pair["owner"], pair["freer"]): (pair["blocks"], pair["bytes"]) for pair in report["handovers"]}
    assert pairs == {("main", "first"): (100, 10000), ("main", "second"): (200, 20000), ("first", "second"): (50, 500)}
    threads = {thread["name"]: thread for thread in report["by_thread"]}
    tids = {pair["owner_tid"] for pair in report["handovers"]}
    assert tids == {threads["main"]["tid"], threads["first"]["tid"]}
    assert threads["first"]["own_peak_bytes"] == 500
    assert threads["first"]["peak_bytes"] == 0  # the run's peak is earlier
    text = hw("report", "--by", "thread", recording.trace).stdout
    assert [line.split()[-2] for line in text.splitlines() if line.startswith(("  1 ", "  2 ", "  3 "))] == ["main", "first", "second"]
    rows = [line.split() for line in text[text.index("Blocks that another thread freed"):].splitlines()]
    assert rows[1][:4] == ["allocated", "by", "second", "first"]
    assert rows[3][2:] == ["200", "100", "300", "30.0", "kB"], text
    assert rows[4][2:] == ["50", "50", "500", "B"], text


def test_one_pair_needs_no_matrix(record, compile_c, hw):
    program = HANDED_ON.replace("free(small[i]);", "").replace("int i = 100", "int i = 300")
    recording = record([compile_c(program, "-pthread")])
    assert len(recording.report["handovers"]) == 1
    assert "Blocks that another thread freed" not in hw("report", "--by", "thread", recording.trace).stdout


@pytest.mark.parametrize("columns", [80, 120, 200])
def test_a_large_matrix_is_cut(record, compile_c, hw, columns):
    trace = record([compile_c(POOL, "-pthread")]).trace
    text = hw("report", "--by", "thread", trace, env={"COLUMNS": str(columns), "PATH": "/bin"}).stdout
    matrix = text[text.index("Blocks that another thread freed"):text.index("Evidence")].strip().splitlines()
    assert max(map(len, matrix)) <= columns
    assert len(matrix) == 3 + 10 + 1
    assert matrix[-1].split()[:2] == ["3", "others"]
    shown = sum(1 for word in matrix[2].split() if word.startswith("("))
    assert f"{13 - shown} others" in matrix[1]
    assert sum(int(line.split()[-3]) for line in matrix[3:]) == 1300


def test_narrowed_there_is_no_matrix(record, compile_c, hw):
    trace = record([compile_c(HANDED_ON, "-pthread")]).trace
    done = hw("report", "--json", "--thread", "main", trace)
    assert "handovers" not in json.loads(done.stdout)
    assert "Blocks that another" not in hw("report", "--by", "thread", "--thread", "main", trace).stdout


def test_processes(record, compile_c):
    report = record([compile_c(PROCESSES)]).report_with("--children")
    processes = report["processes"]
    assert [process["allocated_bytes"] for process in processes] == [10000, 20000, 50000]
    assert [process["allocation_calls"] for process in processes] == [10, 20, 50]
    assert [process["peak_bytes"] for process in processes] == [10000, 20000, 50000]
    assert [process["share_ppm"] for process in processes] == [125000, 250000, 625000]
    assert "parent" not in processes[0]
    for process in processes[1:]:
        assert process["parent"] == 0
        assert process["ppid"] == processes[0]["pid"]
        assert processes[0]["from_ns"] == 0 < process["from_ns"] < process["to_ns"]
    assert report["peak_bytes"] == 60000  # of the sum over time: the first child ends before the second begins


# 100 kB each, one program after another in the same process; the last one spawns `true`.
CHAIN = r"""
#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile kept;

int main(int count, char **words)
{
  char number[] = {(char)(count > 1 ? *words[1] + 1 : '1'), 0};
  char *const command[] = {"true", NULL};
  pid_t child;
  kept = malloc(100000);
  if (*number < '5')
    execl("/proc/self/exe", words[0], number, (char *)NULL);
  return posix_spawn(&child, "/bin/true", NULL, NULL, command, environ) != 0 || wait(NULL) != child;
}
"""


def test_a_program_ends_where_exec_replaces_it(record, compile_c):
    report = record([compile_c(CHAIN)]).report_with("--children")
    chain = [process for process in report["processes"] if process["allocated_bytes"] >= 100000]
    assert len(chain) == 5 and len({process["pid"] for process in chain}) == 1
    for before, after in zip(chain, chain[1:]):
        assert before["to_ns"] <= after["from_ns"]
        assert report["processes"][after["parent"]] == before
    assert report["peak_bytes"] < 200000  # only one image's at a time
    assert [report["processes"][process["parent"]] for process in report["processes"] if process["command"] == "true"] == chain[-1:]
    images = [image for image in report["images"] if image["allocated_bytes"] >= 100000]
    assert all(sample["time_ns"] <= image["duration_ns"] for image in images for sample in image["rss"])


def test_processes_that_are_not_counted(record, compile_c):
    processes = record([compile_c(PROCESSES)]).report["processes"]
    assert [process["allocated_bytes"] for process in processes] == [10000, 20000, 50000]
    assert ["peak_bytes" in process for process in processes] == [False, False, True]


def test_a_control_loop_after_its_warm_up(record_with_marks, compile_c, hw, tmp_path):
    recording = record_with_marks(compile_c(CONTROL_LOOP.replace("HOLD", HOLD), "-pthread"), tmp_path / "control.hwt", "warm")
    options = ["--from", "warm", "--thread", "control*"]
    found = {stack["stack"][0]["function"]: stack for stack in recording.report_with(*options)["top"] if stack["calls"]}
    assert list(found) == ["log_line"]
    assert found["log_line"]["calls"] == found["log_line"]["temporary_calls"] == 30
    text = hw("report", *options, recording.trace).stdout
    top = text[text.index("Top stacks by allocations"):]
    assert re.search(r"\n  1 +30 +100.0 % +3,000 B\n +log_line ", top), text
    assert "prepare" not in top and "draw" not in top
    everybody = hw("report", "--from", "warm", recording.trace).stdout
    assert re.search(r"\n  1 +1,000 +97.1 % .*\n +draw ", everybody), everybody
