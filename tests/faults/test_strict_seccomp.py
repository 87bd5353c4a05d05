"""test_strict_seccomp.py - programs that forbid themselves the time stamp counter, and with it nearly all system calls

Breaks if the recorder reads the time or calls the kernel in such a thread: the program is killed for it.
"""

import subprocess
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs"
FEW, MANY = 1000, 100000  # rounds: one chunk of the trace holds the events of FEW, but not those of MANY
OTHERS_ROUNDS, STATUS, CANNOT = 20000, 3, 77  # as in strict_seccomp.c
STRICT = ["prctl", "seccomp", "prctl-by-number"]
NO_TSC = ["tsc", "tsc-by-number"]


@pytest.fixture
def recorded(compile_c, record, preload):
    program = compile_c(PROGRAMS / "strict_seccomp.c", "-pthread", "-fno-builtin", name="strict_seccomp")

    def run(how, rounds, threads=0, by=record):
        command = [program, how, str(rounds), str(threads)]
        plain = subprocess.run(command, capture_output=True, text=True, timeout=60)
        if plain.returncode == CANNOT:
            pytest.skip("this system cannot forbid that")
        recording = by(command)
        assert (plain.returncode, plain.stdout) == (STATUS, "done\n")
        assert (recording.process.returncode, recording.process.stdout) == (STATUS, "done\n")
        report = recording.report
        assert report["missed_frees"] == report["unmatched_frees"] == report["node_limit_hits"] == 0
        assert report["damaged_chunks"] == report["missing_chunks"] == 0
        return report

    return run


def calls_of(report):
    return {size["size"]: size["calls"] for size in report["sizes"] if size["size"] in (100, 200, 300)}


def notes_of(report):
    return [note["kind"] for image in report["images"] for note in image["notes"]]


@pytest.mark.parametrize("launched", [True, False])
@pytest.mark.parametrize("how", STRICT + NO_TSC)
def test_all_is_kept_that_fits(recorded, record, preload, how, launched):
    report = recorded(how, FEW, by=record if launched else preload)
    assert calls_of(report) == {100: FEW, 200: FEW}
    assert report["lost_events"] == 0 and report["live_blocks_at_end"] == 0
    assert notes_of(report).count("strict seccomp") == (how in STRICT)


@pytest.mark.parametrize("how", STRICT)
def test_what_does_not_fit_is_counted(recorded, how):
    report = recorded(how, MANY)
    calls, lost = calls_of(report), report["lost_events"]
    assert calls[100] == MANY and FEW < calls[200] < MANY
    assert report["lost_by_cause"]["strict_seccomp"] == lost
    assert report["allocation_calls"] + report["free_calls"] + lost == 4 * MANY


@pytest.mark.parametrize("how", STRICT + NO_TSC)
@pytest.mark.parametrize("rounds", [FEW, MANY])
def test_other_threads_go_on(recorded, how, rounds):
    report = recorded(how, rounds, threads=2)
    calls = calls_of(report)
    assert calls[100] == rounds and calls[300] == 3 * OTHERS_ROUNDS
    if how in NO_TSC or rounds == FEW:
        assert calls[200] == rounds and report["lost_events"] == 0
    else:
        assert FEW < calls[200] < rounds and report["lost_by_cause"]["strict_seccomp"] == report["lost_events"]


@pytest.mark.parametrize("how", STRICT + NO_TSC)
def test_durations(recorded, record, how):
    """The duration of a call is not known in a thread without a clock."""
    report = recorded(how, FEW, by=lambda command: record(command, "--durations"))
    assert calls_of(report) == {100: FEW, 200: FEW} and report["lost_events"] == 0


def test_refused(recorded):
    """The thread can do everything that it could before: nothing is lost, and there is no message."""
    report = recorded("refused", MANY)
    assert calls_of(report) == {100: MANY, 200: MANY}
    assert report["lost_events"] == 0 and "strict seccomp" not in notes_of(report)


def test_other_system_calls_pass(compile_c, preload):
    """The recorder also interposes libc's function `syscall`: arguments, results and errno do not change, not even
    for a fork."""
    program = compile_c("""
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static void say(long result)
{
  printf("%ld %d ", result, result < 0 ? errno : 0);
}
int main(int argc, char **argv)
{
  free(malloc(100));
  int file = open(argv[0], O_RDONLY);
  const char *second = (const char *)syscall(SYS_mmap, NULL, 4096L, (long)PROT_READ, (long)MAP_PRIVATE, (long)file, 0L);
  char first[4] = "";
  printf("%d ", pread(file, first, 4, 0) == 4 && second[1] == first[1] && second[3] == 'F');
  say(syscall(100000));
  say(syscall(SYS_prctl, -1L, 0L, 0L, 0L, 0L));
  say(syscall(SYS_prctl, (long)PR_GET_DUMPABLE, 0L, 0L, 0L, 0L));
  say(syscall(SYS_seccomp, 100L, 0L, NULL));
  fflush(stdout);
  int status = 0;
  if (syscall(SYS_clone, (long)SIGCHLD, 0L, 0L, 0L, 0L) == 0)
    _exit(argc + 4);
  wait(&status);
  printf("%d", WEXITSTATUS(status));
}
""", "-fno-builtin", name="passes")
    plain = subprocess.run([program], capture_output=True, text=True, timeout=60)
    recording = preload([program])
    assert recording.process.stdout == plain.stdout == "1 -1 38 -1 22 1 0 -1 22 5"
    assert recording.process.returncode == plain.returncode == 0
