"""test_size.py - a page is below 3 MB whatever the recording holds, and still adds up

Breaks if the part that is cut is lost instead of summed; if the largest stacks are not the ones that are kept; or if
a recording with many stacks makes a page that no browser opens.
"""

import json

import pytest
from page_document import PLACE, Page, live_at, read_html, read_page, unpack_durations, within

BYTES_MAX = 3_000_000
# A tree of calls, two calls at each step: 2^LEVELS stacks, and one that matters more than all of them.
PROGRAM = """
#include <stdlib.h>

enum { LEVELS = 16 };
static void *kept[1 << LEVELS];
static unsigned count;

__attribute__((noinline)) static void left(int level);
__attribute__((noinline)) static void right(int level);

static inline void step(int level)
{
  if (level == LEVELS) {
    kept[count++] = malloc(16 + count % 3000);
    if (count % 3 == 0)
      free(kept[count / 2]), kept[count / 2] = NULL;
    return;
  }
  left(level + 1);
  right(level + 1);
}
static void left(int level) { step(level); __asm__(""); }
static void right(int level) { step(level); __asm__(""); }

__attribute__((noinline)) static void *large(size_t bytes) { return malloc(bytes); }

int main(void)
{
  step(0);
  return large(123456789) == NULL;
}
"""

# 2^LEVELS stacks, each active in every slice of time.
BUSY = """
#include <stdlib.h>

enum { LEVELS = 12, ROUNDS = 150 };
static void *kept[1 << LEVELS];
static unsigned at;

__attribute__((noinline)) static void left(int level);
__attribute__((noinline)) static void right(int level);

static inline void step(int level)
{
  if (level == LEVELS) {
    free(kept[at]);
    kept[at] = malloc(16 + at % 300);
    at = (at + 1) % (1 << LEVELS);
    return;
  }
  left(level + 1);
  right(level + 1);
}
static void left(int level) { step(level); __asm__(""); }
static void right(int level) { step(level); __asm__(""); }

int main(void)
{
  for (int round = 0; round < ROUNDS; round++)
    step(0);
  return 0;
}
"""

# Each thread frees blocks of each other one: more pairs than are followed over time. PROCESSES do so, ROUNDS times.
CROWD = """
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 20, MOST = 7 };
static void *handed[THREADS][THREADS][MOST];
static pthread_barrier_t met;

static void *work(void *argument)
{
  int own = (int)(long)argument;
  for (int round = 0; round < ROUNDS; round++) {
    for (int other = 0; other < THREADS; other++)
      for (int i = 0; i < 1 + (own * THREADS + other) % MOST; i++)
        handed[own][other][i] = malloc(24 + (size_t)(round * own * other) % 4000);
    pthread_barrier_wait(&met);
    for (int other = 0; other < THREADS; other++)
      for (int i = 0; i < MOST; i++)
        free(handed[other][own][i]);
    pthread_barrier_wait(&met);
    usleep(1000);
  }
  return NULL;
}

int main(void)
{
  pthread_t threads[THREADS];
  for (int i = 1; i < PROCESSES && fork() != 0; i++)
    ;
  pthread_barrier_init(&met, NULL, THREADS);
  for (long i = 0; i < THREADS; i++)
    pthread_create(&threads[i], NULL, work, (void *)i);
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  while (wait(NULL) > 0)
    ;
  return 0;
}
"""


@pytest.fixture
def recording(record, compile_c):
    return record([compile_c(PROGRAM, "-fno-builtin", "-fno-optimize-sibling-calls")])


def test_many_stacks(recording, hw, tmp_path):
    for suffix in ("html", "page.json"):
        done = hw("report", "-o", tmp_path / f"run.{suffix}", recording.trace)
        assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "run.html").stat().st_size < BYTES_MAX
    page, run = read_page(tmp_path / "run.page.json"), recording.report_with("--top", "1")
    assert read_html(tmp_path / "run.html").document == page.document
    kept = page.document["stacks"]["kept"]
    assert page.document["stacks"]["recorded"] > 1 << 16 and 0 < kept < 1 << 15
    assert page.stacks.sum("cut") + kept == page.document["stacks"]["recorded"]
    assert page.stacks.sum("calls") == run["allocation_calls"] and page.stacks.sum("bytes") == run["allocated_bytes"]
    assert page.stacks.sum("peak_bytes") == run["peak_bytes"]
    assert page.stacks.sum("live_bytes") == run["live_bytes_at_end"] and page.stacks.sum("live_blocks") == run["live_blocks_at_end"]
    large = page.stacks["largest"].index(123456789)
    assert page.stacks["cut"][large] == 0 and page.frames_of(page.stacks["node"][large])[0][0] == "large"
    end = page.slices.count - 1
    for row, entries in enumerate(page.stacks.series):
        assert within(entries, 0, end) == (page.stacks["calls"][row], page.stacks["bytes"][row])
        assert live_at(entries, end) == (page.stacks["live_blocks"][row], page.stacks["live_bytes"][row])
    assert page.sizes.sum("calls") == run["allocation_calls"] and page.sizes.count < 1100
    assert page.size_series.count < 200
    for last in (end // 3, end - 1):
        live = sum(live_at(entries, last)[1] for entries in page.stacks.series)
        assert live == page.slices["live_bytes"][last] == sum(live_at(entries, last)[1] for entries in page.size_series.series)
        at = recording.report_with("--at", f"{page.slices['from_ns'][last + 1] - 1}ns", "--top", "1")
        assert at["live_bytes_at_end"] == live


def test_two_runs_of_many_stacks(recording, hw, tmp_path):
    """Each gets half of the room."""
    done = hw("diff", "-o", tmp_path / "both.html", recording.trace, recording.trace)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "both.html").stat().st_size < BYTES_MAX
    document = json.loads(PLACE.findall((tmp_path / "both.html").read_text())[0])
    assert document["old"] == document["new"]
    page, run = Page(document["new"]), recording.report_with("--top", "1")
    assert 0 < page.document["stacks"]["kept"] < page.document["stacks"]["recorded"]
    assert page.stacks.sum("calls") == run["allocation_calls"] and page.stacks.sum("peak_bytes") == run["peak_bytes"]


def test_stacks_that_are_always_active(record, compile_c, hw, tmp_path):
    """Slices of time are merged before most stacks are cut, and are as exact as ever."""
    recording = record([compile_c(BUSY, "-fno-builtin", "-fno-optimize-sibling-calls")], "--durations")
    done = hw("report", "-o", tmp_path / "run.page.json", recording.trace)
    assert (done.returncode, done.stderr) == (0, "")
    page, run = read_page(tmp_path / "run.page.json"), recording.report_with("--top", "1")
    recorded, kept = (page.document["stacks"][key] for key in ("recorded", "kept"))
    slices, end = page.slices, page.slices.count - 1
    assert recorded >= 1 << 12 and kept > 1 << 10
    assert (tmp_path / "run.page.json").stat().st_size > BYTES_MAX * 0.6  # the cut part makes room for other data
    assert slices.count > 30  # their number depends on how often the stacks were active, and so on the machine
    for first, last in ((0, end), (1, 1), (end // 3, end // 2)):
        sums = [within(entries, first, last) for entries in page.stacks.series]
        assert (sum(calls for calls, _ in sums), sum(size for _, size in sums)) == (
            sum(slices["allocation_calls"][first : last + 1]), sum(slices["allocated_bytes"][first : last + 1]))
        for table in (page.stacks, page.size_series, page.threads):
            assert sum(live_at(entries, last)[1] for entries in table.series) == slices["live_bytes"][last]
    assert sum(slices["allocation_calls"]) == run["allocation_calls"] and sum(slices["free_calls"]) == run["free_calls"]
    assert max(slices["max_bytes"]) == run["peak_bytes"] == slices["live_bytes"][page.document["slices"]["peak_slice"]]
    within_span = recording.report_with("--from", f"{slices['from_ns'][1]}ns", "--to", f"{slices['from_ns'][3]}ns", "--top", "1")
    assert within_span["allocation_calls"] == sum(slices["allocation_calls"][1:3])
    durations = page.document["durations"]
    for row, parts in zip(durations, unpack_durations(page.document["durations_series"], len(durations))):
        assert [part[0] for part in parts] == sorted({part[0] for part in parts})
        assert sum(sum(part[4].values()) for part in parts) == row["calls"]
        assert (sum(part[2] for part in parts), max(part[3] for part in parts)) == (row["total_ns"], row["max_ns"])


def test_many_pairs_of_threads(record, compile_c, hw, tmp_path):
    """For the largest pairs, the figures over time are there; for the others, only the totals."""
    recording = record([compile_c(CROWD, "-pthread", "-fno-builtin", "-DPROCESSES=1", "-DROUNDS=1")])
    assert hw("report", "-o", tmp_path / "run.page.json", recording.trace).returncode == 0
    page = read_page(tmp_path / "run.page.json")
    blocks, series = page.handovers["blocks"], page.handovers.series
    assert page.handovers.count >= 20 * 19 and page.handovers.sum("blocks") == page.threads.sum("foreign_frees")
    followed = [row for row, entries in enumerate(series) if entries]
    assert len(followed) == 256
    for row in followed:
        assert within(series[row], 0, page.slices.count - 1) == (blocks[row], page.handovers["bytes"][row])
    assert min(blocks[row] for row in followed) >= max(blocks[row] for row in range(len(blocks)) if row not in followed)


@pytest.mark.parametrize("options", [[], ["--children"]])
def test_many_threads_of_several_processes(record, compile_c, hw, tmp_path, options):
    """Where the data of each thread is too much, it is left out; the totals still add up."""
    program = compile_c(CROWD, "-pthread", "-fno-builtin", "-DPROCESSES=8", "-DROUNDS=60")
    recording = record([program], "--durations")
    for suffix in ("html", "page.json"):
        assert hw("report", *options, "-o", tmp_path / f"run.{suffix}", recording.trace).returncode == 0
    assert (tmp_path / "run.html").stat().st_size < BYTES_MAX
    page = read_page(tmp_path / "run.page.json")
    others = page.document["others"]
    assert len(others) >= 3 and not all("durations_series" in other for other in others)
    for each in (page, *map(Page, others)):
        has = [each.handovers.series is not None, *(key in each.document for key in ("durations_series", "stack_threads", "size_threads"))]
        assert has == sorted(has), "optional parts are left out in a fixed order"
        assert ("durations_by_thread" in each.document) == ("stack_threads" in each.document)
        assert each.stacks.sum("calls") == each.threads.sum("allocation_calls") == each.run["allocation_calls"]
        assert each.handovers.sum("blocks") == each.threads.sum("foreign_frees")
        for table in (each.stacks, each.size_series, each.threads):
            assert sum(sum(entry.calls for entry in entries) for entries in table.series) == each.run["allocation_calls"]


def test_what_the_page_cannot_be_narrowed_to(record, hw, tmp_path):
    recording = record(["/bin/true"])
    for option in (["--cost", "live"], ["--only", "func=main"], ["--from", "0s"], ["--leaks"], ["--top", "3"], ["--tree"]):
        done = hw("report", *option, "-o", tmp_path / "run.html", recording.trace)
        assert done.returncode == 2 and f"leave {option[0]} out" in done.stderr
        assert not (tmp_path / "run.html").exists()
    assert hw("report", "--pid", recording.header.pid, "--format", "page", recording.trace).stdout.startswith('{"schema":"heapwright-page/1"')
