"""test_questions.py - the questions of docs/questions.md, asked about programs whose answers are known

Breaks if a figure is wrong for a program that does one thing a known number of times. Times are waited for, never
measured: blocks that were held across a sleep lived at least that long.
"""

import os
import re

import pytest

from waiting import HOLD, held_look, is_looked_at

# docs/questions.md shows these programs: change both together.

LIFETIMES = """
#include <stdlib.h>
#include <unistd.h>

__attribute__((noinline)) void *at_once(void) { return malloc(100); }
__attribute__((noinline)) void *for_a_moment(void) { return malloc(200); }
__attribute__((noinline)) void *for_ever(void) { return malloc(300); }

static void *kept[40];

int main(void)
{
  for (int i = 0; i < 1000; i++)
    free(at_once());
  for (int i = 0; i < 40; i++)
    kept[i] = for_a_moment();
  for (int i = 0; i < 7; i++)
    *(void *volatile *)&kept[i] = (free(kept[i]), for_ever());
  usleep(20000);
  for (int i = 7; i < 40; i++)
    free(kept[i]);
}
"""

GROWTH = """
#include <stdlib.h>
#include <unistd.h>

__attribute__((noinline)) void *leak(void) { return malloc(50); }
__attribute__((noinline)) void *sawtooth(void) { return malloc(10000); }
__attribute__((noinline)) void *cache(void) { return malloc(1000); }

int main(void)
{
  static void *teeth[25], *volatile kept;
  for (int i = 0; i < 500; i++) {  // 12 s: 25 kB leak, 250 kB come and go every 0.6 s
    kept = leak();
    teeth[i % 25] = sawtooth();
    if (i % 25 == 24)
      for (int k = 0; k < 25; k++)
        free(teeth[k]);
    if (i < 200)
      kept = cache();
    usleep(24000);
  }
}
"""


def stack_of(report, function):
    """Returns the stack in which `function` requested memory; there must be one."""
    found = [stack for stack in report["top"] if function in [frame["function"] for frame in stack["stack"][:2]]]
    assert len(found) == 1, found
    return found[0]


def test_lifetimes(record, compile_c, hw):
    recording = record([compile_c(LIFETIMES)])
    report = recording.report
    assert stack_of(report, "at_once")["lifetimes"]["temporary"] == 1000
    moment = stack_of(report, "for_a_moment")["lifetimes"]
    assert moment["temporary"] == moment["until_end"] == 0
    assert moment["below_1s"] + moment["below_1min"] >= 33  # held across the sleep
    assert sum(moment.values()) == 40
    assert stack_of(report, "for_ever")["lifetimes"] == {
        "temporary": 0, "below_1ms": 0, "below_1s": 0, "below_1min": 0, "1min_or_longer": 0, "until_end": 7}
    for stack in report["top"]:
        assert sum(stack["lifetimes"].values()) == stack["calls"]
        assert stack["lifetimes"]["temporary"] == stack["temporary_calls"]
    text = hw("report", "--lifetimes", "--cost", "calls", recording.trace).stdout
    row = next(line for line in text.splitlines() if "at_once" in line)
    assert row.split()[:4] == ["1", "1,000", "100.0", "%"]


def test_lifetimes_are_of_whole_stacks(record, compile_c, hw):
    trace = record([compile_c(LIFETIMES)]).trace
    for option in ("--thread=main", "--by=size"):
        done = hw("report", "--lifetimes", option, trace)
        assert done.returncode == 2
        assert option.partition("=")[0] in done.stderr


def test_growth(record, compile_c, hw):
    recording = record([compile_c(GROWTH)])
    growing = recording.report["growing"]
    assert [stack["stack"][0]["function"] for stack in growing] == ["leak"]
    leak = growing[0]
    assert leak["live_bytes"] == 25000
    assert leak["to_bytes"] % 50 == leak["from_bytes"] % 50 == 0
    gained, took = leak["to_bytes"] - leak["from_bytes"], leak["to_ns"] - leak["from_ns"]
    assert leak["bytes_per_hour"] == pytest.approx(gained / took * 3600e9, rel=1e-6)
    assert leak["first_ns"] < leak["from_ns"] + took / 6 < leak["last_ns"]
    text = hw("report", recording.trace).stdout
    assert re.search(r"grows +leak \(program.c:5\), \+[0-9,.]+ k?B/s from .* on, 25.0 kB never freed", text), text
    assert text.count("grows ") == 1


def test_a_short_run_is_all_start(record, compile_c, hw):
    """5 s, and some more if the machine is busy. The machine must not stop the program for a tenth of the run: 10 s
    are none."""
    recording = record([compile_c(GROWTH.replace("usleep(24000)", "if (i % 5 == 4) usleep(50000)"))])
    assert [stack["stack"][0]["function"] for stack in recording.report["growing"]] == ["leak"]
    assert "grows " not in hw("report", recording.trace).stdout


STANDS_OUT = """
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *blocks[30000];

__attribute__((noinline)) void *giant(void) { return malloc(50000000); }
__attribute__((noinline)) void *tiny(void) { return malloc(24); }
__attribute__((noinline)) void *message(void) { return malloc(500); }

void *consumer(void *unused)
{
  pthread_setname_np(pthread_self(), "consumer");
  for (int i = 0; i < 30000; i++)
    free(blocks[i]);
  return unused;
}

int main(void)
{
  void *volatile large = giant();
  for (int i = 0; i < 40000; i++)
    free(tiny());
  for (int i = 0; i < 30000; i++)
    blocks[i] = message();
  pthread_t thread;
  pthread_create(&thread, NULL, consumer, NULL);
  pthread_join(thread, NULL);
  return large == NULL;
}
"""

REAL_TIME = """
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

void *control(void *unused)
{
  void *volatile block;
  struct sched_param priority = {.sched_priority = 10};
  pthread_setname_np(pthread_self(), "control");
  if (sched_setscheduler(0, SCHED_FIFO, &priority) < 0)
    exit(77);  // not permitted here
  for (int i = 0; i < 500; i++)
    free(block = malloc(10));
  usleep(1200000);
  for (int i = 0; i < 300; i++)
    free(block = malloc(10));
  return unused;
}

int main(void)
{
  pthread_t thread;
  pthread_create(&thread, NULL, control, NULL);
  pthread_join(thread, NULL);
}
"""


def test_what_stands_out(record, compile_c, hw):
    recording = record([compile_c(STANDS_OUT, "-pthread")])
    findings = {finding["kind"]: finding for finding in recording.report["findings"]}
    assert sorted(findings) == ["arena", "churn", "foreign_frees", "giant", "inline_buffer"]
    assert findings["giant"]["bytes"] == 50000000
    assert findings["giant"]["stack"][0]["function"] == "giant"
    assert findings["churn"]["stack_temporary_calls"] == 40000
    assert findings["foreign_frees"]["foreign_frees"] == findings["foreign_frees"]["all_foreign_frees"] == 30000
    assert findings["foreign_frees"]["thread"] == "consumer"
    assert findings["inline_buffer"]["saved_calls"] == 40000
    assert findings["inline_buffer"]["largest"] == 24
    assert (findings["arena"]["blocks"], findings["arena"]["generations"]) == (30000, 1)
    text = hw("report", recording.trace, env={"COLUMNS": "200", "PATH": "/bin"}).stdout
    assert "advice     an inline buffer of 24 B saves 40,000 calls" in text, text


def test_giants_of_one_stack(record, compile_c):
    """Two blocks from one place do not count as small blocks; three small blocks, and a large one that is freed by
    then, are no finding."""
    source = """
#include <stdlib.h>
static void *volatile kept[8];
__attribute__((noinline)) void *image(size_t bytes) { return malloc(bytes); }
int main(void)
{
  free(image(60000000));
  kept[0] = image(40000000);
  kept[1] = image(40000000);
  for (int i = 2; i < 5; i++)
    kept[i] = malloc(3000000);
}
"""
    [giant] = [finding for finding in record([compile_c(source)]).report["findings"] if finding["kind"] == "giant"]
    assert (giant["bytes"], giant["stack"][0]["function"]) == (40000000, "image")


def test_nothing_stands_out(record, compile_c, hw):
    recording = record([compile_c(LIFETIMES)])
    assert recording.report["findings"] == []
    assert "What stands out" not in hw("report", recording.trace).stdout


def test_real_time(record, compile_c):
    recording = record([compile_c(REAL_TIME, "-pthread")])
    if recording.process.returncode == 77:
        pytest.skip("no real-time policies here")
    thread = next(thread for thread in recording.report["by_thread"] if thread["name"] == "control")
    assert (thread["late_allocation_calls"], thread["late_free_calls"]) == (300, 300)
    finding = next(finding for finding in recording.report["findings"] if finding["kind"] == "real_time")
    assert (finding["thread"], finding["late_allocation_calls"]) == ("control", 300)


FRAGMENTED = """
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCKS = 40000, BYTES = 1000 };
static char *blocks[BLOCKS];

int main(void)
{
  for (int i = 0; i < BLOCKS; i++)
    memset(blocks[i] = malloc(BYTES), 1, BYTES);
  for (int i = 0; i < BLOCKS; i++)  // every fifth stays, so that no page becomes empty
    if (i % 5)
      free(blocks[i]);
  HOLD;
  return blocks[0][0] != 1;
}
"""

UNTOUCHED = """
#include <stdlib.h>
#include <unistd.h>

int main(void)
{
  char *volatile block = calloc(1 << 30, 1);
  HOLD;
  return block[1 << 20];
}
"""

STACKS = """
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static pthread_barrier_t full, looked;

void *deep(void *unused)
{
  char volatile frames[200000];
  memset((char *)frames, 1, sizeof frames);
  pthread_barrier_wait(&full);
  pthread_barrier_wait(&looked);
  return frames[1] == 1 ? NULL : unused;
}

int main(void)
{
  pthread_t threads[100];
  prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);  // before Linux 6.7, stacks may be in huge pages
  pthread_barrier_init(&full, NULL, 101);
  pthread_barrier_init(&looked, NULL, 101);
  for (int i = 0; i < 100; i++)
    pthread_create(&threads[i], NULL, deep, NULL);
  pthread_barrier_wait(&full);
  HOLD;
  pthread_barrier_wait(&looked);
  for (int i = 0; i < 100; i++)
    pthread_join(threads[i], NULL);
}
"""


def lag_of_kernel(threads):
    """How much the kernel's own figure of the resident set may lack: before Linux 6.2, a thread adds its pages to it 64 at a time."""
    release = tuple(int(number) for number in re.findall(r"\d+", os.uname().release)[:2])
    return threads * 64 * os.sysconf("SC_PAGE_SIZE") if release < (6, 2) else 0


@pytest.fixture
def record_held(record_with_marks, compile_c, tmp_path):
    """record_held(source): a program's recording, and the sample of its resident set while it waits, checked against
    the whole."""

    def run(source, *flags, threads=1):
        recording = record_with_marks(compile_c(source.replace("HOLD", HOLD), *flags), tmp_path / "held.hwt", "held", until=is_looked_at)
        sample = held_look(recording.report)
        whole = pytest.approx(sample["rss_bytes"], rel=0.02, abs=lag_of_kernel(threads))
        assert sample["mapped_bytes"] == whole
        parts = sum(sample[part] for part in ("asked_bytes", "rounding_bytes", "free_bytes", "own_mapped_bytes", "code_bytes", "other_bytes",
                                              "stack_bytes", "recorder_bytes"))
        assert parts - sample["untouched_bytes"] == whole
        return recording, sample

    return run


def test_rss_of_a_fragmented_heap(record_held):
    _, sample = record_held(FRAGMENTED)
    assert sample["asked_bytes"] == pytest.approx(8000 * 1000, rel=0.02)
    assert sample["free_bytes"] == pytest.approx(32000 * 1008, rel=0.1)
    assert sample["untouched_bytes"] < 1000000


def test_rss_of_an_untouched_block(record_held, hw):
    recording, sample = record_held(UNTOUCHED)
    assert sample["asked_bytes"] == pytest.approx(1 << 30, rel=0.001)
    assert sample["untouched_bytes"] == pytest.approx(1 << 30, rel=0.001)
    assert sample["rss_bytes"] < 50000000
    assert re.search(r"RSS at the peak: .* asked for .*- 1.1 GB never touched", hw("report", recording.trace).stdout)


TOUCHED = """
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(void)
{
  static char *volatile blocks[100];
  for (int i = 0; i < 100; i++)
    memset(blocks[i] = malloc(200000), 1, 200000);
  HOLD;
}
"""


def test_rss_of_touched_blocks(record_held):
    """The recorder's own tables, a megabyte mapped ahead, used to be taken for blocks that were never touched, and
    for as much free memory."""
    _, sample = record_held(TOUCHED)
    assert sample["asked_bytes"] == pytest.approx(100 * 200000, rel=0.02)
    assert sample["untouched_bytes"] < 300000 and sample["free_bytes"] < 600000


def test_rss_of_thread_stacks(record_held):
    _, sample = record_held(STACKS, "-pthread", threads=101)
    assert sample["stack_bytes"] == pytest.approx(100 * 200000, rel=0.1)
