"""test_leaks_command.py - `heapwright leaks` finds what LeakSanitizer finds at the end of a program, and a program that it
watches runs as without it

Breaks if the recorder's own memory is taken for the program's, if the memory is read before destructors have run, or if a signal,
a stop or a thread is handled differently while the program is watched.
"""

import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from trace_header import is_begun
from waiting import wait_until

PROGRAM = Path(__file__).parent / "programs/leaks.cc"
TIMEOUT = 60
LEAKS = 1  # exit status

# (direct, indirect, in cycles); LeakSanitizer counts the blocks of a cycle as indirect
CASES = {
    "lost": (1, 0, 0),
    "list": (1, 9, 0),
    "cycle": (0, 0, 3),
    "cycle_with_tail": (0, 3, 2),
    "ring_of_lost": (1, 2, 0),
    "self": (1, 0, 0),
    "big": (1, 0, 0),
    "held_list": (0, 0, 0),
    "interior": (0, 0, 0),
    "in_local": (0, 0, 0),
    "in_freed": (1, 1, 0),
    "xor_mixed": (1, 2, 0),
    "new_ones": (2, 0, 0),
    "vector_of_strings": (1, 11, 0),
    "held_map": (0, 0, 0),
    "shared_cycle": (0, 0, 2),
    "in_ended_thread": (1, 3, 0),
    "other_stack": (0, 0, 0),
    "other_specific": (0, 0, 0),
}

LOSES = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
struct node { struct node *next; char more[40]; };
__attribute__((noinline)) static void lose(int count)
{
  struct node *first = NULL;
  while (count--) {
    struct node *one = calloc(1, sizeof *one);
    one->next = first;
    first = one;
  }
  __asm__ volatile("" ::"r"(first) : "memory");
}
__attribute__((noinline)) static void overwrite_stack(void)
{
  volatile char bytes[16384];
  for (size_t i = 0; i < sizeof bytes; i++)
    bytes[i] = 0;
#ifdef __x86_64__
  __asm__ volatile("xor %%eax, %%eax; xor %%ecx, %%ecx; xor %%edx, %%edx; xor %%esi, %%esi; xor %%edi, %%edi; "
                   "xor %%r8d, %%r8d; xor %%r9d, %%r9d; xor %%r10d, %%r10d"
                   ::: "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10");
#elif defined __aarch64__
  __asm__ volatile(".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17\n mov x\\n, xzr\n .endr"
                   ::: "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17");
#endif
}
static void *run(void *what)
{
  if (strcmp(what, "exit-of-thread") == 0)
    exit(5);
  if (strcmp(what, "exec-of-thread") == 0)
    execl("/bin/sh", "sh", "-c", "exit 6", (char *)NULL);
  return NULL;
}
static void *lose_late(void *main_thread)
{
  pthread_join(*(pthread_t *)main_thread, NULL);
  lose(3);
  overwrite_stack();
  return NULL;
}
int main(int count, char **words)
{
  static pthread_t thread, main_thread;
  const char *what = count > 1 ? words[1] : "";
  lose(10);
  overwrite_stack();
  if (strcmp(what, "wait") == 0)
    return puts("ready") < 0 || fflush(stdout) || getchar() == 'x';
  if (strcmp(what, "crash") == 0)
    abort();
  if (strcmp(what, "exec") == 0)
    execl(words[0], words[0], "4", (char *)NULL);
  if (strcmp(what, "main-ends-first") == 0) {
    main_thread = pthread_self();
    pthread_create(&thread, NULL, lose_late, &main_thread);
    pthread_exit(NULL);
  }
  if (strstr(what, "-of-thread")) {
    pthread_create(&thread, NULL, run, words[1]);
    pthread_join(thread, NULL);
  }
  return atoi(what);
}
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """Returns (the plain program, the one with LeakSanitizer), which end by exit()."""
    folder = tmp_path_factory.mktemp("leaks")
    command = ["g++", "-std=c++17", "-O1", "-g", "-DAT_EXIT", "-Wno-unused-result", str(PROGRAM), "-pthread"]
    subprocess.run([*command, "-o", folder / "plain"], check=True)
    subprocess.run([*command, "-fsanitize=leak", "-DLEAK_SANITIZER", "-o", folder / "sanitized"], check=True)
    return folder / "plain", folder / "sanitized"


@pytest.fixture(scope="module")
def loses(tmp_path_factory):
    """A program that loses a list of ten blocks, and then does what its argument says, or exits with that number."""
    folder = tmp_path_factory.mktemp("loses")
    (folder / "loses.c").write_text(LOSES)
    subprocess.run(["gcc", "-O1", "-g", folder / "loses.c", "-o", folder / "loses", "-pthread"], check=True)
    return folder / "loses"


@pytest.fixture
def at_exit(hw, tmp_path):
    """at_exit([command...], *options): returns the process that ran, and its answer."""

    def run(command, *options, **more):
        done = hw("leaks", "--at-exit", "-o", tmp_path / "leaks.json", *options, "--", *command, **more)
        return done, json.loads((tmp_path / "leaks.json").read_text())

    return run


@pytest.fixture
def waiting(loses):
    """The program that waits, after it has lost its blocks."""
    with subprocess.Popen([loses, "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        yield process
        process.kill()


def counts(answer):
    def blocks(of_kind):
        return sum(group["blocks"] for group in answer["leaks"] if of_kind(group))

    return (blocks(lambda group: group["direct"]), blocks(lambda group: not group["direct"] and not group["cycle"]),
            blocks(lambda group: group["cycle"]))


def functions(answer):
    return {frame["function"] for group in answer["leaks"] for frame in group["stack"] if "function" in frame}


def sanitizer_counts(program, name):
    done = subprocess.run([program, name], capture_output=True, text=True, timeout=TIMEOUT)
    found = {"Direct": 0, "Indirect": 0}
    for kind, blocks in re.findall(r"^(Direct|Indirect) leak of \d+ byte\(s\) in (\d+) object", done.stderr, re.M):
        found[kind] += int(blocks)
    return found["Direct"], found["Indirect"]


# --- at exit ---


@pytest.mark.parametrize("name", CASES)
def test_at_exit_as_the_sanitizer(name, programs, at_exit):
    direct, indirect, cycles = CASES[name]
    done, answer = at_exit([programs[0], name])
    assert counts(answer) == CASES[name]
    assert done.returncode == (LEAKS if direct + cycles else 0)
    assert sanitizer_counts(programs[1], name) == (direct, indirect + cycles)


def test_leaks_have_stacks(loses, at_exit):
    done, answer = at_exit([loses])
    assert done.returncode == LEAKS and counts(answer) == (1, 9, 0)
    assert {"lose", "main"} <= functions(answer)
    assert {group["block_bytes"] for group in answer["leaks"]} == {48}


def test_the_answer_is_on_stderr_as_text(hw, loses):
    done = hw("leaks", "--at-exit", "--", loses)
    assert done.returncode == LEAKS and done.stdout == ""
    assert re.search(r"^  direct +48 B +1 block", done.stderr, re.M) and re.search(r"^ +lose +loses\.c:", done.stderr, re.M)


def test_nothing_is_left_behind(hw, loses, tmp_path):
    done = hw("leaks", "--at-exit", "--", loses, env={**os.environ, "TMPDIR": str(tmp_path)}, cwd=tmp_path)
    assert done.returncode == LEAKS and list(tmp_path.iterdir()) == []


def test_the_recording_can_be_kept(hw, loses, at_exit, tmp_path):
    _, answer = at_exit([loses], "--recording", tmp_path / "kept.hwt")
    assert answer["recording"] == str(tmp_path / "kept.hwt") and answer["recorded_blocks"] >= 10
    report = json.loads(hw("report", "--json", "--leaks", tmp_path / "kept.hwt").stdout)
    assert report["live_blocks_at_end"] >= 10


@pytest.mark.parametrize("what, status, killed_by", [("3", 3, 0), ("crash", 128 + signal.SIGABRT, signal.SIGABRT),
                                                     ("exit-of-thread", 5, 0)])
def test_status_of_the_command(what, status, killed_by, loses, at_exit):
    done, answer = at_exit([loses, what])
    assert done.returncode == status and answer["signal"] == killed_by
    assert counts(answer) == (1, 9, 0)
    assert answer["leaked_bytes"] == sum(leak["bytes"] for leak in answer["leaks"]) == 10 * 48, "sizes that were asked for"


def test_a_program_that_is_executed_in_place(loses, at_exit):
    done, answer = at_exit([loses, "exec"])
    assert done.returncode == 4 and counts(answer) == (1, 9, 0) and "lose" in functions(answer)


def test_a_program_that_a_thread_executes_in_place(loses, at_exit):
    done, answer = at_exit([loses, "exec-of-thread"])
    assert done.returncode == 6 and "lose" not in functions(answer)


def test_main_ends_before_another_thread(loses, at_exit):
    done, answer = at_exit([loses, "main-ends-first"])
    assert done.returncode == LEAKS and counts(answer) == (2, 11, 0)


@pytest.mark.parametrize("command", [
    ["bash", "-c", "echo out; echo err >&2; (exit 4) & wait $!; ls / | sort | head -3; exit 3"],
    ["python3", "-c", "import threading as t; a = [t.Thread(target=print, args=(i,)) for i in range(3)]; [(x.start(), x.join()) for x in a]"],
    ["sqlite3", ":memory:", "create table a(b); insert into a values(7); select * from a;"],
], ids=lambda command: command[0])
def test_programs_run_as_without(command, at_exit):
    if not shutil.which(command[0]):
        pytest.skip(f"{command[0]} is not installed")
    alone = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
    done, answer = at_exit(command)
    assert (done.stdout, done.stderr) == (alone.stdout, alone.stderr)
    assert done.returncode in (alone.returncode, LEAKS if alone.returncode == 0 else alone.returncode)
    assert answer["live_blocks"] > 0


def test_where_the_recording_is_meanwhile(at_exit, monkeypatch):
    """/tmp may be in memory, which the program may need. By default the recording is not there."""
    monkeypatch.delenv("TMPDIR", raising=False)
    done, _ = at_exit(["sh", "-c", "grep -o '/.*leaks.hwt$' /proc/$$/maps | sort -u"])
    assert re.fullmatch(r"/var/tmp/heapwright-leaks\.\w+/leaks\.hwt\n", done.stdout) and done.stderr == ""
    assert not Path(done.stdout.strip()).parent.exists()


@pytest.mark.skipif(not os.path.ismount("/dev/shm"), reason="needs a tmpfs")
def test_a_recording_in_memory_is_warned_of(at_exit, monkeypatch):
    monkeypatch.setenv("TMPDIR", "/dev/shm")
    done, _ = at_exit(["sh", "-c", "ls /"])
    assert "the trace is in memory (tmpfs, ramfs), which the program may need; use --recording to put it elsewhere" in done.stderr


def child_of(process, name):
    found = subprocess.run(["pgrep", "-P", str(process.pid), "-x", name], capture_output=True, text=True).stdout.split()
    return int(found[0]) if found else None


def state_of(pid):
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_signals_and_stops_from_outside(build, tmp_path):
    words = [build / "bin/heapwright", "leaks", "--at-exit", "-o", tmp_path / "leaks.json", "--", "sleep", "1000"]
    with subprocess.Popen(words) as process:
        wait_until(lambda: child_of(process, "sleep"))
        pid = child_of(process, "sleep")
        wait_until(lambda: state_of(pid) == "S")
        os.kill(pid, signal.SIGSTOP)
        wait_until(lambda: state_of(pid) in "tT")
        os.kill(pid, signal.SIGCONT)
        wait_until(lambda: state_of(pid) == "S")
        os.kill(pid, signal.SIGTERM)
        assert process.wait(TIMEOUT) == 128 + signal.SIGTERM
    assert json.loads((tmp_path / "leaks.json").read_text())["signal"] == signal.SIGTERM


def test_a_command_that_allocates_nothing(hw, tmp_path):
    (tmp_path / "nothing.c").write_text("int main(void) { return 0; }\n")
    subprocess.run(["gcc", tmp_path / "nothing.c", "-o", tmp_path / "nothing"], check=True)
    done = hw("leaks", "--at-exit", "--", tmp_path / "nothing")
    assert done.returncode == 0 and "allocated no memory" in done.stderr


def test_a_command_that_cannot_run(hw):
    done = hw("leaks", "--at-exit", "--", "/no/such/program")
    assert done.returncode == 127 and "no such command" in done.stderr or "No such file" in done.stderr


def test_a_command_that_must_not_be_watched(hw, loses, tmp_path):
    source, library = tmp_path / "forbid.c", tmp_path / "forbid.so"
    source.write_text("#include <errno.h>\nlong ptrace(int request, ...) { (void)request; errno = EPERM; return -1; }\n")
    subprocess.run(["gcc", "-shared", "-fPIC", source, "-o", library], check=True)
    done = hw("leaks", "--at-exit", "--", loses, "3", env={**os.environ, "LD_PRELOAD": str(library)})
    assert done.returncode == 125 and "ptrace is forbidden" in done.stderr and "Operation not permitted" in done.stderr


# --- a process ---


def test_a_process_without_a_recording(hw, waiting):
    done = hw("leaks", "--json", waiting.pid)
    answer = json.loads(done.stdout)
    assert done.returncode == LEAKS and counts(answer) == (1, 9, 0) and "recording" not in answer
    assert re.search(r"^  direct +56 B +1 block", hw("leaks", waiting.pid).stdout, re.M)
    waiting.communicate(b"\n")
    assert waiting.returncode == 0


def test_a_process_that_is_recorded(hw, build, loses, tmp_path):
    trace = tmp_path / "of process.hwt"
    words = [build / "bin/heapwright", "record", "-q", "-o", trace, "--", loses, "wait"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        wait_until(lambda: is_begun(trace))
        pid = child_of(process, "loses")
        done = hw("leaks", "--json", pid)
        named = hw("leaks", "--json", "--recording", trace, pid)
        process.communicate(b"\n")
    answer = json.loads(done.stdout)
    assert done.returncode == LEAKS and counts(answer) == (1, 9, 0)
    assert answer["recording"] == str(trace) and {"lose", "main"} <= functions(answer)
    assert json.loads(named.stdout)["leaks"] == answer["leaks"]


def test_no_leaks(hw, programs):
    with subprocess.Popen(["sleep", "1000"]) as process:
        wait_until(lambda: "sleep" in Path(f"/proc/{process.pid}/comm").read_text() and state_of(process.pid) == "S")
        done = hw("leaks", process.pid)
        process.kill()
    assert done.returncode == 0, done.stdout


def test_a_process_that_has_ended(hw):
    with subprocess.Popen(["true"]) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        zombie = hw("leaks", process.pid)
    done = hw("leaks", process.pid)
    for each in (zombie, done):
        assert each.returncode == 2 and f"process {process.pid}" in each.stderr and each.stdout == ""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_process_of_another_user(hw, build, waiting):
    tool = build / "bin/heapwright"
    nobody = {"user": 65534, "group": 65534, "extra_groups": []}
    if subprocess.run(["test", "-x", tool], **nobody).returncode != 0:
        pytest.skip("another user cannot execute the tool")
    done = hw("leaks", waiting.pid, **nobody)
    assert done.returncode == 2 and "belongs to user 0" in done.stderr


@pytest.mark.parametrize("words, said", [
    ([], "leaks takes one process"),
    (["1", "2"], "leaks takes one process"),
    (["core.1"], "'core.1' is no PID"),
    (["--at-exit", "true"], "which command?"),
    (["--at-exit", "--"], "which command?"),
    (["--", "true"], "with --at-exit"),
    (["--env", "A=B", "1"], "add --at-exit"),
    (["--at-exit", "--no-stop", "--", "true"], "--no-stop"),
])
def test_wrong_usage(words, said, hw):
    done = hw("leaks", *words)
    assert done.returncode == 2 and said in done.stderr and done.stdout == ""


# --- suppressions ---


def test_suppressed_leaks_are_none(hw, loses, at_exit, tmp_path):
    known = tmp_path / "known.txt"
    known.write_text("# of this test\nleak:lose\nleak:no_such_function\n")
    done, answer = at_exit([loses], "--suppressions", known)
    assert done.returncode == 0 and counts(answer) == (0, 0, 0)
    assert answer["suppressed_blocks"] == 10
    assert [(line["pattern"], line["blocks"]) for line in answer["suppressions"]] == [("lose", 10), ("no_such_function", 0)]
    assert "no_such_function" in done.stderr
    text = hw("leaks", "--at-exit", "--suppressions", known, "--", loses)
    assert text.returncode == 0 and re.search(r"^  suppressed +560 B +10 blocks", text.stderr, re.M)


def test_suppressions_need_stacks(hw, waiting, tmp_path):
    (tmp_path / "known.txt").write_text("leak:lose\n")
    done = hw("leaks", "--suppressions", tmp_path / "known.txt", waiting.pid)
    assert done.returncode == LEAKS and "there is no recording" in done.stderr
