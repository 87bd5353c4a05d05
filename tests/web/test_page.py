"""The page in a real Chromium: its figures, its brush, search, zoom, keys and themes, and hostile names.

Each check is described in the .mjs file of its name in this folder.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from heap_listing import build_program, crash_of
from page_document import read_html

HERE = Path(__file__).parent
CHROMIUM = shutil.which("chromium")
SECONDS = 240

pytestmark = pytest.mark.skipif(
    CHROMIUM is None or shutil.which("node") is None or not (HERE.parents[1] / "web/node_modules/playwright-core").exists(),
    reason="no chromium, no node, or web/node_modules is not installed (tools/setup.sh web; tools/build_page.sh --install)",
)

# Four threads that keep some blocks, free others at once, and free each other's blocks.
PROGRAM = r"""
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
enum { THREADS = 4, STEPS = 300, KEPT = 40 };
static void *handed[THREADS][STEPS];
static void *kept[THREADS][KEPT];
__attribute__((noinline)) static void *make(size_t size) { return malloc(size); }
__attribute__((noinline)) static void churn(int step) { free(make(16 + (size_t)step % 100)); }
__attribute__((noinline)) static void keep(long thread, int step) { kept[thread][step] = make(1000 + 10 * (size_t)thread); }
static void *work(void *argument)
{
  long thread = (long)argument;
  for (int step = 0; step < STEPS; step++) {
    churn(step);
    handed[thread][step] = make(256);
    if (step < KEPT)
      keep(thread, step);
    if (step % 10 == 0)
      usleep(1000);
  }
  return NULL;
}
int main(void)
{
  pthread_t threads[THREADS];
  for (long i = 0; i < THREADS; i++)
    pthread_create(&threads[i], NULL, work, (void *)i);
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  for (int i = 0; i < THREADS; i++)
    for (int step = 0; step < STEPS; step++)
      free(handed[i][step]);
  return 0;
}
"""

# Two named threads allocate from the same stack, and one of them keeps its blocks; a third one frees the others'
# blocks.
NAMED = r"""
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void *volatile kept[100];
__attribute__((noinline)) static void *make(size_t size) { void *volatile block = malloc(size); return block; }
__attribute__((noinline)) static void keep(int i) { kept[i] = make(1000); }
__attribute__((noinline)) static void drop(int i) { free(make(100 + (size_t)i % 3)); }
static void *work(void *name)
{
  pthread_setname_np(pthread_self(), name);
  for (int i = 0; i < 100; i++) {
    void *block = make(64);
    if (strcmp(name, "keeper") == 0 && i % 4 == 0)
      keep(i);
    else if (strcmp(name, "dropper") == 0)
      drop(i);
    free(block);
    if (i % 10 == 0)
      usleep(1000);
  }
  return NULL;
}
static void *release(void *block)
{
  pthread_setname_np(pthread_self(), "freer");
  free(block);
  return NULL;
}
int main(void)
{
  pthread_t threads[3];
  pthread_create(&threads[0], NULL, work, "keeper");
  pthread_create(&threads[1], NULL, work, "dropper");
  pthread_create(&threads[2], NULL, release, make(10));
  for (int i = 0; i < 3; i++)
    pthread_join(threads[i], NULL);
  return 0;
}
"""

# Two stacks that differ only in a line, two that differ in a caller far outward, and four that differ in two lines,
# where no single line distinguishes any of them from all others.
TWINS = r"""
#include <stdlib.h>
static void *volatile kept[8];
__attribute__((noinline)) static void *make(size_t size) { void *volatile block = malloc(size); return block; }
__attribute__((noinline)) static void twice(void)
{
  kept[0] = make(100000);
  kept[1] = make(200000);
}
__attribute__((noinline)) static void *fill(size_t size) { void *volatile block = malloc(size); return block; }
__attribute__((noinline)) static void near(int i) { kept[i] = fill(30000 + (size_t)i); }
__attribute__((noinline)) static void middle(int i) { near(i); }
__attribute__((noinline)) static void far(int i) { middle(i); }
__attribute__((noinline)) static void left_caller(void) { far(2); }
__attribute__((noinline)) static void right_caller(void) { far(3); }
__attribute__((noinline)) static void *give(size_t size) { void *volatile block = malloc(size); return block; }
__attribute__((noinline)) static void inner(int i)
{
  kept[i] = give(9000 + (size_t)i);
  kept[i + 1] = give(9000 + (size_t)i);
}
__attribute__((noinline)) static void outer(void)
{
  inner(4);
  inner(6);
}
int main(void) { twice(); left_caller(); right_caller(); outer(); return 0; }
"""

# Many blocks of one size, a few of another at the start, and one that is live while nothing is allocated, then freed.
SIZES = r"""
#include <stdlib.h>
#include <unistd.h>
static void *volatile kept[300];
int main(void)
{
  free(kept[0] = malloc(48));
  void *volatile held = malloc(5000);
  for (int i = 0; i < 300; i++) {
    kept[i] = malloc(24);
    if (i % 10 == 0)
      usleep(1000);
  }
  usleep(100000);
  free(held);
  return 0;
}
"""

# Phases between sleeps, each with different lifetimes.
LIVES = r"""
#include <stdlib.h>
#include <unistd.h>
static void *volatile kept[20];
__attribute__((noinline)) static void *hold(void) { void *volatile block = malloc(100); return block; }
__attribute__((noinline)) static void churn(void) { for (int i = 0; i < 30; i++) free(kept[0] = malloc(24)); }
__attribute__((noinline)) static void crossed(void)
{
  kept[0] = malloc(48);
  kept[1] = malloc(48);
  free(kept[0]);
  free(kept[1]);
}
int main(void)
{
  for (int i = 2; i < 20; i++)
    kept[i] = hold();
  usleep(200000);
  churn();
  for (int i = 2; i < 12; i++)
    free(kept[i]);
  usleep(200000);
  crossed();
  return 0;
}
"""

# Containers that grow step by step, in more than the 10,000 calls that a finding needs.
GROWING = r"""
#include <vector>
__attribute__((noinline)) static void grow(std::vector<int> &numbers) { for (int i = 0; i < 100; i++) numbers.push_back(i); }
int main()
{
  for (int i = 0; i < 3000; i++) {
    std::vector<int> numbers;
    grow(numbers);
  }
}
"""

# The assembler accepts any name in quotes.
EVIL = r"""
#include <stdlib.h>
#define EVIL(function, name) \
  void *function(size_t size) __asm__("\"" name "\""); \
  __attribute__((noinline)) void *function(size_t size) { char *volatile block = malloc(size); return block; }
EVIL(script, "<script>window.ran_from_a_name=true</script>")
EVIL(image, "<img src=x onerror='window.ran_from_a_name=true'>")
EVIL(close, "</script><b title=evil>&amp; -->")
EVIL(emoji, "crab \360\237\246\200 =1+1")
EVIL(lengthy, "LONG")
int main(void)
{
  void *volatile kept[] = {script(1000), image(2000), close(3000), emoji(4000), lengthy(5000)};
  return kept[0] == NULL;
}
"""

# Its counts differ between two runs.
KEEPING = r"""
#include <stdlib.h>
#define KEEPS(name) __attribute__((noinline)) static void name(int n) { while (n-- > 0) { void *volatile b = malloc(100); (void)b; } }
KEEPS(keep)
KEEPS(keep_more)
KEEPS(same)
int main(void) { keep(KEPT); same(7); keep_more(MORE); return 0; }
"""


# Frames with steps, of which one allocates much and only the first ones and one later check; a thread with requests.
SCOPES = r"""
#include <heapwright/monitor.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void *volatile kept[3];
static void step(int i)
{
  HW_SCOPE("step");
  free(kept[0] = malloc(i == 7 ? 20 : 24));
  if (i == 50)
    kept[0] = malloc(5000);
}
static void check(int i)
{
  HW_SCOPE("check");
  if (i < 3 || i == 80)
    free(kept[1] = malloc(32));
}
static void *work(void *name)
{
  hw_thread_name(name);
  for (int i = 0; i < 50; i++) {
    char text[32];
    snprintf(text, sizeof text, "/item <%d>", i);
    HW_SCOPE_TEXT("request", text);
    HW_COUNTER("queue", i - 10);
    HW_COUNTER("limit", 40);
    HW_SCOPE("parse");
    kept[2] = malloc(1000 + (size_t)i);
    usleep(100);
  }
  return NULL;
}
int main(void)
{
  pthread_t worker;
  pthread_create(&worker, NULL, work, "worker");
  for (int i = 0; i < 100; i++) {
    HW_SCOPE_NUMBER("frame", 1000 + i);
    step(i);
    check(i);
    usleep(200);
  }
  pthread_join(worker, NULL);
  HW_SCOPE("a_name_so_long_that_it_does_not_fit_into_the_heading_of_an_instance_which_is_between_the_list_and_the_edge");
  free(kept[2]);
  return 0;
}
"""


def check_page(name, page, report):
    """Runs NAME.mjs on a page."""
    environment = {**os.environ, "HW_CHROMIUM": CHROMIUM, "HOME": str(page.parent)}
    command = ["node", HERE / f"{name}.mjs", page, report]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr


def run_check(name, hw, recording, tmp_path, *options, of_page=()):
    """The same on the page of a recording."""
    page, report = tmp_path / "run.html", tmp_path / "report.json"
    written = hw("report", *of_page, "-o", page, recording.trace)
    assert written.returncode == 0, written.stderr
    leaks = recording.report_with("--leaks")
    report.write_text(json.dumps({**recording.report_with(*options), "runtime_blocks": leaks.get("runtime_blocks")}))
    check_page(name, page, report)


@pytest.mark.parametrize("name", ["figures", "brush", "flame", "find", "ignore", "keys", "prepared"])
def test_page(name, hw, record, compile_c, tmp_path):
    run_check(name, hw, record([compile_c(PROGRAM, "-pthread")]), tmp_path)


def test_no_figure_is_cut(hw, record, compile_c, tmp_path):
    run_check("cut", hw, record([compile_c(PROGRAM, "-pthread")], "--durations"), tmp_path)


# Keeps an arena large by a small block, and waits.
PINNED = r"""
#include <stdlib.h>
#include <stdio.h>
#include <unistd.h>
static char *volatile kept[201];
int main(void)
{
  for (int i = 0; i < 200; i++)
    kept[i] = malloc(100000);
  kept[200] = malloc(48);
  for (int i = 1; i < 200; i++)
    free(kept[i]);
  puts("ready");
  fflush(stdout);
  return read(STDIN_FILENO, &(char){0}, 1) != 1; /* allocates nothing, between the answers */
}
"""


def test_a_heap_that_was_not_recorded(hw, compile_c, tmp_path):
    page, report = tmp_path / "now.html", tmp_path / "now.json"
    with subprocess.Popen([compile_c(PINNED)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        for answer in page, report:
            done = hw("core", str(process.pid), "-o", answer)
            assert done.returncode == 0, done.stderr
        process.communicate("\n")
    check_page("memory", page, report)


@pytest.mark.parametrize("kind", ["read", "check", "stack", "abort"])
def test_a_crash(hw, tmp_path, kind):
    """By a null pointer, by the C library, by a recursion of many frames, and without an address that explains it."""
    program = build_program(tmp_path, "kinds.c", "kinds", "-w", "-fno-optimize-sibling-calls")
    core, _ = crash_of([program, kind], tmp_path)
    page, report = tmp_path / "crash.html", tmp_path / "crash.json"
    for answer in page, report:
        done = hw("core", program, core, "-o", answer)
        assert done.returncode == 0, done.stderr
    check_page("crash", page, report)


def run_check_of_parts(name, hw, recording, tmp_path, *options, around_ns=None):
    """The same, with reports of two parts of the run: `within` the interval from `first` to `last`, and `until`
    `last`. The interval is the half in the middle, or has this moment and 50 ms on each side."""
    page, report = tmp_path / "run.html", tmp_path / "report.json"
    assert hw("report", "-o", page, recording.trace).returncode == 0
    edges = read_html(page).slices["from_ns"]
    first, last = edges[len(edges) // 4], edges[len(edges) * 3 // 4]
    if around_ns:
        first = max(edge for edge in edges if edge <= around_ns - 50_000_000)
        last = min(edge for edge in edges if edge >= around_ns + 50_000_000)
    parts = {"within": ("--from", f"{first}ns", "--to", f"{last}ns"), "until": ("--to", f"{last}ns")}
    reports = {part: recording.report_with(*options, *span) for part, span in parts.items()}
    report.write_text(json.dumps({**recording.report_with(*options), "first": first, "last": last, **reports}))
    check_page(name, page, report)
    return reports


def test_lifetimes(hw, record, compile_c, tmp_path):
    recording = record([compile_c(LIVES)])
    churn = next(place for place in recording.report_with()["top"] if place["largest"] == 24)
    parts = run_check_of_parts("lifetimes", hw, recording, tmp_path, around_ns=churn["last_ns"])
    lifetimes = parts["within"]["lifetimes"]
    assert lifetimes == {**lifetimes, "temporary": 30, "below_1s": 10, "until_end": 8}


def test_overview(hw, record, compile_c, tmp_path):
    run_check_of_parts("overview", hw, record([compile_c(PROGRAM, "-pthread")]), tmp_path)


def test_thread(hw, record, compile_c, tmp_path):
    recording = record([compile_c(NAMED, "-pthread", "-fno-optimize-sibling-calls")], "--durations")
    page, report = tmp_path / "run.html", tmp_path / "report.json"
    assert hw("report", "-o", page, recording.trace).returncode == 0
    of_thread = recording.report_with("--thread", "keeper", "--durations")
    report.write_text(json.dumps({**recording.report, "of_thread": of_thread}))
    check_page("thread", page, report)


def test_errors_of_estimates(hw, record, compile_c, tmp_path):
    recording = record([compile_c(NAMED, "-pthread", "-fno-optimize-sibling-calls")], "--sample=512")
    page, report = tmp_path / "run.html", tmp_path / "report.json"
    assert hw("report", "-o", page, recording.trace).returncode == 0
    slices = read_html(page).document["slices"]["from_ns"]
    part = recording.report_with("--from", f"{slices[30]}ns", "--to", f"{slices[90]}ns")
    thread = next(thread for thread in recording.report["by_thread"] if thread["name"] == "keeper")
    of_thread = {**thread, "selected": recording.report_with("--thread", "keeper")["selected"]}
    report.write_text(json.dumps({**recording.report, "of_part": part, "of_thread": of_thread}))
    check_page("sampled", page, report)


def test_exact_figures_have_no_errors(hw, record, compile_c, tmp_path):
    run_check("sampled", hw, record([compile_c(NAMED, "-pthread")]), tmp_path)


def test_no_figure_of_a_sample_is_cut(hw, record, compile_c, tmp_path):
    run_check("cut", hw, record([compile_c(PROGRAM, "-pthread")], "--sample=4K"), tmp_path)


def test_dropped_events(hw, record, compile_c, tmp_path):
    program = compile_c(HERE.parent / "launch/programs/long_run.c", "-O1", "-g", "-pthread", name="long_run")
    run_check("dropped", hw, record([program, tmp_path / "counts", "1200000", "1", "0"], "--keep", "1M"), tmp_path)


def test_labels(hw, record, compile_c, tmp_path):
    run_check("labels", hw, record([compile_c(TWINS, "-g", "-fno-optimize-sibling-calls", "-fno-inline")]), tmp_path)


def test_findings(hw, record, compile_cxx, tmp_path):
    run_check("findings", hw, record([compile_cxx(GROWING)]), tmp_path)


def test_sizes(hw, record, compile_c, tmp_path):
    run_check("sizes", hw, record([compile_c(SIZES)]), tmp_path)


def test_figures_of_a_real_program(hw, record, tmp_path):
    run_check("figures", hw, record(["/usr/bin/python3", "-c", "import json; [json.dumps({'a': i}) for i in range(3000)]"]), tmp_path)


def test_durations(hw, record, compile_c, tmp_path):
    run_check_of_parts("durations", hw, record([compile_c(PROGRAM, "-pthread")], "--durations"), tmp_path, "--durations")


@pytest.mark.parametrize("options", [(), ("--children",)])
def test_processes(options, hw, record, tmp_path):
    script = "for i in 1 2 3; do /usr/bin/python3 -c 'print(1)'; done; /usr/bin/python3 -c '[i for i in range(300000)]'"
    run_check("processes", hw, record(["/bin/sh", "-c", script]), tmp_path, *options, of_page=options)


def test_a_program_that_allocates_nothing(hw, record, compile_c, tmp_path):
    run_check("empty", hw, record([compile_c("int main(void) { return 0; }\n")]), tmp_path)


def test_scopes(hw, record, compile_c, tmp_path):
    program = compile_c(SCOPES, "-pthread", "-fno-builtin", f"-I{HERE.parents[1] / 'include'}")
    run_check("scopes", hw, record([program]), tmp_path, "--instances", "--cost", "bytes")


def test_no_figure_of_scopes_is_cut(hw, record, compile_c, tmp_path):
    run_check("cut", hw, record([compile_c(SCOPES, "-pthread", "-fno-builtin", f"-I{HERE.parents[1] / 'include'}")]), tmp_path)


def test_names_are_text(hw, record, compile_c, tmp_path):
    program = compile_c(EVIL.replace("LONG", "std::map<int, " * 800 + "end"), "-g0")
    run_check("names", hw, record([program]), tmp_path)


def check_difference(name, hw, record, compile_c, tmp_path, options=()):
    """Runs NAME.mjs on the comparison of two runs of KEEPING, recorded and reported with `options`."""
    (tmp_path / "old").mkdir()
    old = record([compile_c(KEEPING, "-DKEPT=100", "-DMORE=0").rename(tmp_path / "old/program")], *options)
    now = record([compile_c(KEEPING, "-DKEPT=120", "-DMORE=50")], *options)
    page, report = tmp_path / "run.html", tmp_path / "report.json"
    written = hw("diff", "-o", page, old.trace, now.trace)
    assert written.returncode == 0, written.stderr
    report.write_text(json.dumps({"old": old.report_with(*options), "now": now.report_with(*options)}))
    check_page(name, page, report)


def test_difference(hw, record, compile_c, tmp_path):
    check_difference("difference", hw, record, compile_c, tmp_path)


def test_errors_of_a_difference(hw, record, compile_c, tmp_path):
    (tmp_path / "old").mkdir()
    old = record([compile_c(KEEPING, "-DKEPT=5000", "-DMORE=0").rename(tmp_path / "old/program")])
    now = record([compile_c(KEEPING, "-DKEPT=8000", "-DMORE=5000")], "--sample=512")
    page, report = tmp_path / "run.html", tmp_path / "report.json"
    assert hw("diff", "-o", page, old.trace, now.trace).returncode == 0
    change = json.loads(hw("diff", "--json", old.trace, now.trace).stdout)["change"]
    report.write_text(json.dumps({"change": change, "now": now.report}))
    check_page("sampled_difference", page, report)


def test_no_figure_of_a_difference_is_cut(hw, record, compile_c, tmp_path):
    check_difference("cut", hw, record, compile_c, tmp_path, ["--durations"])


def test_durations_of_a_difference(hw, record, compile_c, tmp_path):
    check_difference("difference_durations", hw, record, compile_c, tmp_path, ["--durations"])
