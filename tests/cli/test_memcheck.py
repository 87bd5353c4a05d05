"""test_memcheck.py - every subcommand under valgrind: no invalid access, no decision that depends on uninitialised
memory, no leak

Sanitizers check the unit tests; this checks whole commands, including system calls, as users run them. Only the tool
runs under valgrind, not the program that it records.
"""

import shutil
import subprocess
import sys

import pytest

from trace_header import is_begun
from waiting import wait_until

FOUND = 99  # valgrind's exit status when it reports an error; ours are 0, 1, 2 and those of commands
VALGRIND = ["valgrind", "-q", f"--error-exitcode={FOUND}", "--leak-check=full",
            "--show-leak-kinds=definite,indirect,possible", "--errors-for-leak-kinds=definite,indirect,possible",
            "--num-callers=25", "--read-inline-info=no"]  # reading these makes each start slower
THREADS_AND_CHILDREN = """
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void *volatile kept;
static void *work(void *argument)
{
  for (int i = 0; i < 3000; i++) {
    void *block = malloc((size_t)(i % 300));
    if (i % 10)
      free(block);
    else
      kept = realloc(block, 1000);
  }
  return argument;
}
int main(void)
{
  pthread_t ids[2];
  for (int i = 0; i < 2; i++)
    pthread_create(&ids[i], NULL, work, NULL);
  if (fork() == 0)
    return work(NULL) != NULL;
  for (int i = 0; i < 2; i++)
    pthread_join(ids[i], NULL);
  int status;
  return wait(&status) < 0 || status;
}
"""

pytestmark = pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind is not installed")


@pytest.fixture
def memcheck(build):
    """memcheck("report", trace, status=(0,)): runs a command of the tool, and fails if valgrind finds anything."""
    tool = build / "bin/heapwright"
    if b"__asan_init" in tool.read_bytes():
        pytest.skip("AddressSanitizer and valgrind exclude each other")

    def run(*words, status=(0,)):
        done = subprocess.run([*VALGRIND, tool, *map(str, words)], capture_output=True, text=True, timeout=250)
        assert "==" not in done.stderr and done.returncode != FOUND, done.stderr
        assert done.returncode in status, done.stderr
        return done.stdout

    return run


@pytest.fixture
def program(compile_c):
    return compile_c(THREADS_AND_CHILDREN, "-pthread")


@pytest.fixture
def recording(record, program):
    return record([program])


@pytest.mark.parametrize("options", [[], ["--no-pack"], ["--no-children", "--max-size", "4M"]])
def test_record(memcheck, program, tmp_path, options):
    memcheck("record", "-o", tmp_path / "x.hwt", *options, "--", program)


def test_record_what_cannot_be(memcheck, tmp_path):
    memcheck("record", "-o", tmp_path / "x.hwt", "--", "no-such-command", status=(127,))
    memcheck("record", "-o", tmp_path / "no/x.hwt", "--", "true", status=(125,))
    memcheck("record", "--no-such-option", status=(125,))


@pytest.mark.parametrize("options", ["", "--children --json", "--leaks --frames all --top 0",
                                     "--by line --cost calls", "--by thread --thread *", "--by size",
                                     "--format page", "--format html --children"])
def test_report(memcheck, recording, options):
    memcheck("report", *options.split(), recording.trace)


@pytest.mark.parametrize("options", ["", "--by function --cost calls --children --json", "--by thread", "--by size", "--format html",
                                     "--leaks --frames all --top 0 --exit-code --threshold 1%"])
def test_diff(memcheck, record, recording, program, options):
    memcheck("diff", *options.split(), recording.trace, record([program]).trace, status=(0, 1))


def test_diff_of_what_cannot_be(memcheck, recording, tmp_path):
    memcheck("diff", recording.trace, tmp_path / "missing.hwt", status=(2,))
    memcheck("diff", recording.trace, recording.trace, "--threshold", "much", status=(2,))


@pytest.mark.parametrize("output", ["budgets.xml", "budgets.json"])
def test_check(memcheck, record, recording, program, tmp_path, output):
    (tmp_path / "known.supp").write_text("leak:work\nleak:nothing*\n")
    rules = ["peak=+5%", "own_peak(module=libc*)=1kB", "calls(func=work,from=50%)=0", "bytes(thread=*,size=1..100)=1",
             "unfreed=0", "calls(func=wrok)=0", "live(file=*.c)=+1MB"]
    memcheck("check", recording.trace, "--baseline", record([program]).trace, "--suppressions", tmp_path / "known.supp",
             *(word for rule in rules for word in ("--max", rule)), "-o", tmp_path / output, status=(1,))


def test_check_of_what_cannot_be(memcheck, recording, tmp_path):
    for rule in ("", "peek=1", "calls(func=)=1", "calls(from=nowhere)=1", "peak=+5%", "peak=1XB"):
        memcheck("check", recording.trace, "--max", rule, status=(2,))
    memcheck("check", tmp_path / "missing.hwt", "--max", "peak=1", status=(2,))


@pytest.mark.parametrize("options", ["", "--children --json --margin 0", "--format xml", "--classes --children", "--classes 9 --format c"])
def test_tune(memcheck, recording, tmp_path, options):
    memcheck("tune", *options.split(), recording.trace)
    memcheck("tune", *options.split(), tmp_path / "missing.hwt", status=(2,))


def test_report_of_a_raw_trace_and_import(memcheck, preload, program, tmp_path):
    raw = preload([program])
    memcheck("report", raw.trace)
    memcheck("import", raw.trace, "-o", tmp_path / "packed.hwt")
    memcheck("report", "--children", tmp_path / "packed.hwt")
    memcheck("import", raw.trace, status=(2,))


def test_report_of_damaged_traces(memcheck, recording, tmp_path):
    whole = recording.trace.read_bytes()
    damaged = tmp_path / "damaged.hwt"
    for count in (0, 7, 300, 4096, len(whole) * 2 // 3, len(whole) - 1):
        damaged.write_bytes(whole[:count])
        memcheck("report", damaged, status=(0, 2))
    damaged.write_bytes(whole[:4096] + bytes(byte ^ 0x55 for byte in whole[4096:]))
    memcheck("report", damaged)
    memcheck("report", tmp_path / "missing.hwt", status=(2,))


def test_control_and_report_while_it_runs(memcheck, build, tmp_path):
    trace, go_on = tmp_path / "run.hwt", tmp_path / "end"
    forever = f"import os, time\nwhile not os.path.exists({str(go_on)!r}): time.sleep(0.01)"
    recorder = subprocess.Popen([build / "bin/heapwright", "record", "-q", "-o", trace, "--", sys.executable, "-c", forever])
    try:
        wait_until(lambda: is_begun(trace))
        for words in (["off"], ["mark", "here"], ["on"]):
            memcheck("control", trace, *words)
        memcheck("control", trace, "sideways", status=(2,))
        memcheck("report", trace)
    finally:
        go_on.touch()
        assert recorder.wait(60) == 0
    memcheck("control", trace, "off", status=(2,))


@pytest.mark.parametrize("words", [["--version"], ["--help"], ["help", "report"], ["report", "--help"]])
def test_help(memcheck, words):
    memcheck(*words)
