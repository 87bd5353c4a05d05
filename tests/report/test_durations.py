"""test_durations.py - durations of calls, compared with independent measurements

Breaks if a duration is shown for another call, includes the recorder's time, or is lost; if calls count twice, or
not at all; if counts differ from those without durations; or if a filter selects the wrong calls.
"""

import csv
import json
import os
import re
import statistics
import subprocess

import pytest

from allocators_library import build_allocator

# docs/questions.md shows this allocator, without its log, and this program: change both together.

SLOW_ALLOCATOR = """
#include <heapwright/allocator.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { CALLS_MAX = 100000 };

static struct { const char *call; size_t size; unsigned long ns; } calls[CALLS_MAX];
static unsigned call_count;
static void *(*next_memalign)(size_t, size_t);
static void (*next_free)(void *);
static size_t (*next_usable_size)(void *);

static unsigned long now(void)
{
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (unsigned long)time.tv_sec * 1000000000 + (unsigned long)time.tv_nsec;
}

static void note(const char *call, size_t size, unsigned long began)
{
  unsigned long ns = now() - began;
  if (call_count < CALLS_MAX) {
    calls[call_count].call = call;
    calls[call_count].size = size;
    calls[call_count++].ns = ns;
  }
}

static void init(void)
{
  *(void **)&next_memalign = dlsym(RTLD_NEXT, "memalign");
  *(void **)&next_free = dlsym(RTLD_NEXT, "free");
  *(void **)&next_usable_size = dlsym(RTLD_NEXT, "malloc_usable_size");
}

static void *slow_alloc(size_t size, size_t align)
{
  static unsigned pages;
  unsigned long began = now();
  if (size == 4096 && ++pages % 1000 == 0)
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
  void *block = next_memalign(align, size);
  note("alloc", size, began);
  return block;
}

static void slow_free(void *block)
{
  size_t size = next_usable_size(block);
  unsigned long began = now();
  next_free(block);
  note("dealloc", size, began);
}

static size_t usable_size(void *block)
{
  return next_usable_size(block);
}

__attribute__((destructor)) static void print(void)
{
  const char *name = getenv("SLOW_OUTPUT");
  int out = name ? open(name, O_WRONLY | O_CREAT, 0600) : -1;
  char line[100];
  for (unsigned i = 0; out >= 0 && i < call_count; i++) {
    int bytes = snprintf(line, sizeof line, "%s %zu %lu\\n", calls[i].call, calls[i].size, calls[i].ns);
    if (write(out, line, (size_t)bytes) != bytes)
      return;
  }
}

HEAPWRIGHT_ALLOCATOR(.alloc = slow_alloc, .free = slow_free, .usable_size = usable_size, .init = init);
"""

PAGES = """
#include <stdlib.h>

static void *volatile block;

__attribute__((noinline)) void *page(void) { return block = malloc(4096); }
__attribute__((noinline)) void *node(void) { return block = malloc(64); }

int main(void)
{
  for (int i = 0; i < 3500; i++) {
    free(node());
    free(page());
  }
}
"""

SLOW_NS = 2_000_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("durations")


@pytest.fixture(scope="module")
def slow(folder, build):
    """The program on the allocator, recorded. Returns (trace, the allocator's own log)."""
    allocator, log, trace = build_allocator(folder, SLOW_ALLOCATOR), folder / "log", folder / "pages.hwt"
    source = folder / "pages.c"
    source.write_text(PAGES)
    subprocess.run(["gcc", "-O1", "-g", source, "-o", folder / "pages"], check=True)
    subprocess.run([build / "bin/heapwright", "record", "-q", "--durations", "--allocator", allocator, "-o", trace, folder / "pages"],
                   check=True, env={**os.environ, "SLOW_OUTPUT": str(log)})
    own = [(call, int(size), int(ns)) for call, size, ns in (line.split() for line in log.read_text().splitlines())]
    return trace, own


@pytest.fixture
def durations(hw):
    """durations(trace, *options): the report on them as JSON."""

    def run(trace, *options):
        done = hw("report", "--durations", "--json", *options, trace)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def by_entry(report):
    return {row["entry"]: row for row in report["durations"]}


def test_the_slow_calls_of_an_allocator_are_found(slow, durations):
    report = durations(slow[0])
    rows = by_entry(report)
    assert rows["malloc"]["calls"] == report["allocation_calls"] == 7000
    assert rows["free"]["calls"] == report["free_calls"] == 7000
    assert rows["malloc"]["max_ns"] >= SLOW_NS and rows["malloc"]["p99_99_ns"] >= SLOW_NS
    assert rows["malloc"]["total_ns"] >= 3 * SLOW_NS
    slowest = report["slowest_calls"]
    assert len(slowest) == 100 and [call["took_ns"] for call in slowest] == sorted((call["took_ns"] for call in slowest), reverse=True)
    assert slowest[0]["took_ns"] == max(row["max_ns"] for row in rows.values())
    pages = [call for call in slowest if call["took_ns"] >= SLOW_NS and call["size"] == 4096 and call["entry"] == "malloc"]
    assert len(pages) >= 3  # more, if another process had the CPU for so long
    for call in pages:
        assert [frame["function"] for frame in call["stack"]][:2] == ["page", "main"] and call["stack_of"] == "call"


def test_each_duration_is_what_the_allocator_measured_and_little_more(slow, hw, folder):
    """Call by call: the recorder's clock readings enclose the allocator's own."""
    trace, own = slow
    log = folder / "pages.heaplog"
    assert hw("export", trace, "-o", log).returncode == 0
    lines = [line.split(", ") for line in log.read_text().splitlines()]
    for call, sizes in (("alloc", (64, 4096)), ("dealloc", None)):
        measured = [ns for kind, size, ns in own if kind == call and (sizes is None or size in sizes)]
        recorded = [int(line[-1]) for line in lines if line[0] == call and (sizes is None or int(line[1]) in sizes)]
        assert len(recorded) == len(measured) == 7000
        # Both clocks count the same seconds; their rates are known to one part in 10^5, and each reading to a
        # nanosecond.
        assert all(theirs >= ours - ours / 10_000 - 2 for theirs, ours in zip(recorded, measured))
        assert statistics.median(theirs - ours for theirs, ours in zip(recorded, measured)) < 20_000


def test_an_allocator_without_slow_calls_is_faster(slow, hw, folder):
    libc = folder / "libc.hwt"
    assert hw("record", "-q", "--durations", "-o", libc, folder / "pages").returncode == 0
    rows = {row["entry"]: row for row in json.loads(hw("diff", "--durations", "--json", slow[0], libc).stdout)["durations"]}
    assert rows["malloc"]["change"]["calls"] == rows["free"]["change"]["calls"] == 0
    assert rows["malloc"]["old"]["p99_99_ns"] >= SLOW_NS and rows["malloc"]["old"]["total_ns"] >= 3 * SLOW_NS
    assert rows["malloc"]["change"]["total_ns"] == rows["malloc"]["new"]["total_ns"] - rows["malloc"]["old"]["total_ns"]


def test_histograms_hold_every_call(slow, durations):
    report = durations(slow[0])
    for row in report["durations"] + [report["durations_of_all"]]:
        assert sum(calls for _, _, calls in row["histogram"]) == row["calls"]
        assert sum(calls * low for low, _, calls in row["histogram"]) <= row["total_ns"]
        assert sum(calls * high for _, high, calls in row["histogram"]) >= row["total_ns"]
        assert row["histogram"][-1][0] <= row["max_ns"] <= row["histogram"][-1][1]
        assert all((high - low) * 128 <= low for low, high, _ in row["histogram"])
        assert row["p50_ns"] <= row["p90_ns"] <= row["p99_ns"] <= row["p99_9_ns"] <= row["p99_99_ns"] <= row["max_ns"]
    assert report["durations_of_all"]["calls"] == 14000
    assert 0 < report["clock_cost_ns"] <= report["durations_of_all"]["p50_ns"]


@pytest.mark.parametrize("columns", [80, 200])
def test_text(slow, hw, columns):
    done = hw("report", "--durations", "--top", "50", slow[0], env={**os.environ, "COLUMNS": str(columns)})
    assert done.returncode == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= columns
    shown = re.sub(r"\s+", " ", done.stdout)
    assert re.search(r"How long calls took calls mean p50 p99 p99\.9 p99\.99 max", shown)
    for name in ("malloc", "free"):
        assert re.search(rf" 7,000( [\d.]+ (ns|us|ms)){{6,7}} {name} ", shown)
    assert re.search(r" 14,000( [\d.]+ (ns|us|ms)){6,7} all calls ", shown)
    calls = re.findall(r" [\d.]+ ms malloc of 4,096 B at [\d.]+ m?s, thread pages \(\d+\) page [^ ]*pages\.c:6( pages)? main [^ ]*pages\.c:", shown)
    assert len(calls) >= 3


def test_the_slowest_free_says_where_its_block_came_from(slow, durations):
    report = durations(slow[0], "--top", "0")
    assert len(report["slowest_calls"]) == 14000
    frees = [call for call in report["slowest_calls"] if call["entry"] == "free"]
    assert {call["stack_of"] for call in frees} == {"block"}
    assert {(call["size"], call["stack"][0]["function"]) for call in frees} == {(64, "node"), (4096, "page")}


def test_choices(slow, durations):
    trace = slow[0]
    assert durations(trace, "--only", "func=node")["durations_of_all"]["calls"] == 7000
    small = by_entry(durations(trace, "--only", "size=..100"))
    assert small["malloc"]["calls"] == small["free"]["calls"] == 3500
    rest = by_entry(durations(trace, "--ignore", "func=node"))
    assert rest["malloc"]["calls"] == 3500 and rest["malloc"]["total_ns"] >= 3 * SLOW_NS
    assert durations(trace, "--thread", "nobody")["durations"] == []
    whole = durations(trace)
    middle = whole["slowest_calls"][50]["time_ns"]
    parts = [by_entry(durations(trace, option, f"{middle}ns")) for option in ("--to", "--from")]
    for entry, row in by_entry(whole).items():
        assert sum(part[entry]["calls"] for part in parts) == row["calls"]
        assert sum(part[entry]["total_ns"] for part in parts) == row["total_ns"]


def test_exports(slow, hw, durations, folder):
    trace, _ = slow
    rows = {}
    for table in ("durations", "slow_calls"):
        output = folder / f"{table}.csv"
        assert hw("export", trace, "-o", output, "--table", table).returncode == 0
        rows[table] = list(csv.DictReader(output.read_text().splitlines()))
    report = durations(trace)
    assert {row["entry"]: int(row["max_ns"]) for row in rows["durations"]} == {name: row["max_ns"] for name, row in by_entry(report).items()}
    assert [int(row["took_ns"]) for row in rows["slow_calls"]] == [call["took_ns"] for call in report["slowest_calls"]]
    database = folder / "pages.sqlite"
    assert hw("export", trace, "-o", database).returncode == 0
    assert hw("export", trace, "-o", folder / "pages.trace.json", "--events", "9").returncode == 0
    slices = [event for event in json.loads((folder / "pages.trace.json").read_text())["traceEvents"] if event["ph"] == "X"]
    assert len(slices) == 7000 and sum(event["dur"] * 1000 >= SLOW_NS for event in slices) >= 3


# --- which calls are timed ---

def totals(report):
    return {name: report[name] for name in ("allocation_calls", "free_calls", "failed_calls", "allocated_bytes", "live_blocks_at_end",
                                            "peak_bytes", "temporary_calls")}


EVERY_CALL = """
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>

int main(void)
{
  void *volatile block, *aligned;
  for (int i = 0; i < 100; i++) {
    free(block = malloc(10));
    free(block = calloc(10, 10));
    block = realloc(NULL, 10);
    block = realloc(block, 100000);
    block = realloc(block, 5);
    block = realloc(block, 0);
    free(block = reallocarray(NULL, 7, 7));
    free(posix_memalign(&aligned, 64, 100) ? NULL : aligned);
    free(block = aligned_alloc(64, 128));
    free(block = memalign(256, 10));
    free(block = valloc(10));
    free(block = pvalloc(10));
    block = malloc(PTRDIFF_MAX);
    block = calloc(SIZE_MAX / 2, 3);
  }
}
"""

CALLS_OF_EVERY_CALL = {"malloc": 200, "calloc": 200, "realloc": 400, "reallocarray": 100, "posix_memalign": 100, "aligned_alloc": 100,
                       "memalign": 100, "valloc": 100, "pvalloc": 100, "free": 800}


@pytest.mark.parametrize("allocator", [None, "tlsf"])
@pytest.mark.parametrize("way", ["packed", "raw", "preload", "children off"])
def test_every_entry_point_is_timed(record, preload, compile_c, durations, allocator, way):
    program = compile_c(EVERY_CALL, "-w", "-fno-builtin")
    chosen = ["--allocator", allocator] if allocator else []
    if way == "preload":
        if allocator:
            pytest.skip("the same as without a chosen allocator")
        recording = preload([program], env={"HEAPWRIGHT_DURATIONS": "1"})
    else:
        more = {"raw": ["--no-pack"], "children off": ["--no-children", "--no-usable"]}.get(way, [])
        recording = record([program], "--durations", *chosen, *more)
    report = durations(recording.trace)
    assert {name: row["calls"] for name, row in by_entry(report).items()} == CALLS_OF_EVERY_CALL
    assert {row["untimed_calls"] for row in report["durations"]} == {0}
    assert totals(report) == totals(record([program], *chosen).report)


OPERATORS = """
#include <cstdlib>
#include <new>
#include <thread>

struct alignas(64) wide { char bytes[64]; };

static void work()
{
  for (int i = 0; i < 1000; i++) {
    delete new int;
    delete[] new int[10];
    delete new wide;
    delete[] new wide[3];
    operator delete(operator new(30, std::nothrow), std::nothrow);
    operator delete(operator new(40));
  }
}

int main()
{
  std::thread threads[] = {std::thread(work), std::thread(work), std::thread(work)};
  for (std::thread &thread : threads)
    thread.join();
}
"""


def test_operators_of_several_threads(record, compile_cxx, durations):
    program = compile_cxx(OPERATORS, "-pthread", "-fno-builtin", "-fno-omit-frame-pointer", "-O0")
    recording = record([program], "--durations")
    rows = {name: row["calls"] for name, row in by_entry(durations(recording.trace)).items() if name.startswith("operator") and row["calls"] > 10}
    assert rows == {"operator new": 6003, "operator new[]": 3000, "operator new(align)": 3000, "operator new[](align)": 3000,
                    "operator new(nothrow)": 3000, "operator delete(size)": 3003, "operator delete[]": 3000,
                    "operator delete(size, align)": 3000, "operator delete[](align)": 3000, "operator delete(nothrow)": 3000,
                    "operator delete": 3000}
    threads = {call["tid"] for call in durations(recording.trace, "--top", "0")["slowest_calls"]}
    assert len(threads) == 4
    one = durations(recording.trace, "--thread", str(max(threads)))
    assert by_entry(one)["operator new"]["calls"] == by_entry(one)["operator delete(nothrow)"]["calls"] * 2 == 2000


# A free that calls malloc and free by name, as a library's thread-specific data might.
NESTING = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

static void *(*next_malloc)(size_t);
static void (*next_free)(void *), (*volatile named_free)(void *);
static __thread int depth;

static void find(void)
{
  if (!next_free) {
    *(void **)&next_malloc = dlsym(RTLD_NEXT, "malloc");
    *(void **)&next_free = dlsym(RTLD_NEXT, "free");
    named_free = (void (*)(void *))dlsym(RTLD_DEFAULT, "free");
  }
}

void *malloc(size_t size)
{
  find();
  return next_malloc(size);
}

void free(void *block)
{
  find();
  if (block && !depth++)
    named_free(malloc(48));
  depth -= block != NULL;
  next_free(block);
}
"""


def test_calls_within_a_free_keep_their_order(record, compile_c, durations):
    """They come before the end of the free that contains them. That free is then not timed, but reported all the
    same."""
    library = compile_c(NESTING, "-shared", "-fPIC", "-O1", "-fno-builtin", name="libnesting.so")
    program = compile_c("#include <stdlib.h>\nint main(void)\n{\n  void *volatile block;\n  for (int i = 0; i < 500; i++)\n"
                        "    free(block = malloc(64));\n}\n", "-fno-builtin")
    timed, plain = (record([program], *options, env={"LD_PRELOAD": str(library)}) for options in (["--durations"], []))
    report = durations(timed.trace)
    assert totals(report) == totals(plain.report)
    assert report["unmatched_frees"] == 0 and report["allocation_calls"] >= 1000
    rows = by_entry(report)
    assert rows["malloc"]["untimed_calls"] == 0 and rows["malloc"]["calls"] == report["allocation_calls"]
    assert rows["free"]["calls"] == rows["free"]["untimed_calls"] == 500


def test_processes(record, compile_c, durations):
    program = compile_c("#include <stdlib.h>\n#include <sys/wait.h>\n#include <unistd.h>\nint main(void)\n{\n  void *volatile block;\n"
                        "  for (int i = 0; i < 100; i++)\n    free(block = malloc(64));\n  if (!fork())\n"
                        "    for (int i = 0; i < 300; i++)\n      free(block = malloc(65));\n  wait(NULL);\n}\n", "-fno-builtin")
    trace = record([program], "--durations").trace
    assert by_entry(durations(trace, "--children"))["malloc"]["calls"] == 400
    assert by_entry(durations(trace))["free"]["calls"] == 300


# --- recordings without durations ---

def test_a_recording_without_durations(record, hw):
    recording = record(["/bin/true"])
    assert recording.header.fields == 1
    for options in (["--durations"], ["--durations", "--json"]):
        done = hw("report", *options, recording.trace)
        assert done.returncode == 2 and done.stdout == ""
        assert "has no durations of calls; record them with: heapwright record --durations" in done.stderr
    assert "durations" not in recording.report
    log = recording.trace.with_suffix(".heaplog")
    assert hw("export", recording.trace, "-o", log).returncode == 0
    assert {line.split(", ")[-1] for line in log.read_text().splitlines()} <= {"0"}


@pytest.mark.parametrize("options", [["--leaks"], ["--lifetimes"], ["--resizes"], ["--by", "size"], ["--tree"], ["--cost", "calls"],
                                     ["--min-calls", "2"], ["--at", "1ms"]])
def test_what_cannot_be_asked_together(hw, options):
    done = hw("report", "--durations", *options, "nothing.hwt")
    assert done.returncode == 2 and options[0] in done.stderr
