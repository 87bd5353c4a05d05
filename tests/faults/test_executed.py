"""test_executed.py - a program that is executed and leaves no trace is counted and named, however short it lives

Breaks if a gap in a recording is not reported: `bash -c 'ulimit -f 1000; exec ./f'` used to give "0 children unseen;
never silent". Breaks, too, if a function of the exec family behaves differently for a program under the recorder.
"""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs"
SHOWS = r"""
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
  free(malloc(1000));
  const char *x = getenv("X");
  printf("%d %s|%s|%s %s\n", argc, argv[0], argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : "", x ? x : "-");
  return 7;
}
"""
EXECS = ["execve", "execv", "execvp", "execvpe", "fexecve", "execl", "execlp", "execle"]
WAYS = [(how, function) for how in ("here", "fork", "vfork") for function in EXECS] + [("", "posix_spawn"), ("", "posix_spawnp")]


@pytest.fixture
def execute(compile_c):
    return compile_c(PROGRAMS / "execute.c", name="execute")


@pytest.fixture
def dynamic(compile_c):
    return compile_c(SHOWS, name="dynamic")


@pytest.fixture
def static(compile_c):
    return compile_c(SHOWS, "-static", name="static")


def programs_of(recording):
    report = recording.report
    names = [program["program"] for program in report["unseen_programs"]]
    assert report["children_unseen"] == len(names)
    return names


@pytest.mark.parametrize("how, function", WAYS)
def test_each_way_to_execute(execute, dynamic, static, record, how, function):
    """Recorded programs are not counted; others are counted once; and the program gets the same arguments and
    environment as without the recorder."""
    for program, expected in (dynamic, []), (static, ["an open file" if function == "fexecve" else "static"]):
        for more in [], ["fail"]:
            command = [str(execute), how, function, str(program), *more]
            plain = subprocess.run(command, capture_output=True, text=True)
            assert plain.returncode == 7 and "name|a|b c" in plain.stdout
            recording = record(command)
            assert (recording.process.returncode, recording.process.stdout) == (7, plain.stdout)
            assert programs_of(recording) == expected
            for name in expected:
                assert f"1 process ran without being recorded: {name}" in recording.process.stderr
                assert f": {name}, " in " ".join(recording.hw("report", recording.trace).stdout.split())
            if not expected:
                assert "without being recorded" not in recording.process.stderr


@pytest.mark.parametrize("how, function", WAYS)
def test_what_could_not_be_executed_is_not_counted(execute, record, how, function):
    recording = record([execute, how, function, "unused", "only"])
    assert recording.process.returncode == 0
    assert programs_of(recording) == []


def test_limit_that_forbids_the_trace(dynamic, record):
    recording = record(["bash", "-c", f"ulimit -f 1000; exec {dynamic}"])
    assert recording.process.returncode == 7
    assert programs_of(recording) == ["dynamic"]
    assert (recording.header.exec.pid, recording.header.exec.name) == (recording.header.pid, b"dynamic")
    (program,) = recording.report["unseen_programs"]
    assert program["pid"] == program["executed_by_pid"] == recording.header.pid
    assert program["executed_by"].startswith("bash -c ")
    assert "1 child unseen" in " ".join(recording.hw("report", recording.trace).stdout.split())


def test_children_of_a_process_that_lowers_its_limit(dynamic, record):
    """Each makes an event before it executes its program, and cannot begin a trace: it is counted once, by the
    program that it executed."""
    recording = record(["bash", "-c", f"ulimit -f 1000; {dynamic}; {dynamic}; (exec {dynamic}); :"])
    assert programs_of(recording) == ["dynamic", "dynamic", "dynamic"]
    assert recording.header.children_unseen == 3
    assert {program["executed_by_pid"] for program in recording.report["unseen_programs"]} == {recording.header.pid}
    assert "3 processes ran without being recorded, such as dynamic (" in recording.process.stderr
    said = " ".join(recording.hw("report", recording.trace).stdout.split())
    assert "Not seen: 3 children " in said and ": dynamic (3 times), started by bash." in said


def test_child_without_a_trace_whose_program_has_one(dynamic, record):
    """Its events before that are missing all the same."""
    recording = record([sys.executable, "-c", f"""
import os, resource
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (100000, hard))
child = os.fork()
if child == 0:
    kept = [bytes(1000 + i) for i in range(100)]
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    os.execv({str(dynamic)!r}, ["dynamic"])
os.waitpid(child, 0)
"""])
    assert len(recording.traces) == 2
    report = recording.report
    assert (report["children_unseen"], report["unseen_programs"]) == (1, [])
    assert "1 process ran without being recorded (" in recording.process.stderr


def test_processes_that_tell_no_program(record):
    """Such as processes that end as they were forked: `record` counts them as the report does."""
    recording = record(["bash", "-c", "ulimit -f 1000; (x=$(echo 1); echo $x); :"])
    assert (recording.report["children_unseen"], recording.report["unseen_programs"]) == (2, [])
    assert "2 processes ran without being recorded (" in recording.process.stderr


def test_program_that_is_started_after_recording_had_stopped(compile_c, static, record):
    """Its process made no event, so that no other rule counts it."""
    program = compile_c(f"""
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
int main(void)
{{
  char *arguments[] = {{"static", NULL}};
  pid_t pid;
  for (int i = 0; i < 3000000; i++)
    free(malloc((size_t)i * 7919 % 5003));
  return posix_spawn(&pid, "{static}", NULL, NULL, arguments, arguments + 1) || waitpid(pid, NULL, 0) != pid;
}}
""", "-fno-builtin", name="fills")
    recording = record([program], "--max-size", "4M")
    assert recording.process.returncode == 0 and "recording stopped before the end" in recording.process.stderr
    assert programs_of(recording) == ["static"]


def test_an_empty_environment(dynamic, record):
    recording = record(["sh", "-c", f"env -i {dynamic}; {dynamic}; :"])
    assert programs_of(recording) == ["dynamic"]
    assert recording.report["unseen_programs"][0]["executed_by"].startswith("env -i")


def test_long_life_is_not_counted_twice(static, compile_c, record_until):
    """A process that is seen from outside is also recorded in its parent's trace."""
    waits = compile_c("#include <unistd.h>\nint main(void){char c; return (int)read(0, &c, 1);}\n", "-static", name="waits")
    recording = record_until(lambda report: report["children_unseen"] > 1, ["sh", "-c", f"{waits}; {static}; :"])
    assert "2 processes ran without being recorded, such as " in recording.process.stderr
    assert sorted(programs_of(recording)) == ["static", "waits"]


@pytest.mark.parametrize("options, expected", [(["--no-children"], []), (["--only-process", "sh"], [])])
def test_who_is_left_out_on_purpose(static, record, options, expected):
    recording = record(["sh", "-c", f"{static}; :"], *options)
    assert programs_of(recording) == expected


def test_many_children(execute, dynamic, static, record):
    """More than a header holds: those that are recorded are not counted, whether or not their notes were kept."""
    recording = record(["dash", "-c", f"for i in $(seq 100); do {dynamic}; done; {static}; :"])
    assert programs_of(recording) == ["static"]
    header = recording.header
    assert header.child_exec_count == 101
    assert {bytes(exec.name) for exec in header.child_execs} == {b"dynamic", b"static"}
    assert header.child_execs[100 % 64].name == b"static" and header.child_execs[99 % 64].name == b"dynamic"
    assert len(recording.traces) == 103  # dash, its subshell, the seq that replaces it, and those processes


def test_with_the_library_alone(dynamic, static, preload, tmp_path):
    """If all images have one name. Otherwise each is a separate run, and none knows of another."""
    assert programs_of(preload(["sh", "-c", f"{dynamic}; {static}; :"])) == ["static"]
    each = preload(["sh", "-c", f"{dynamic}; {static}; :"], env={"HEAPWRIGHT_OUTPUT": str(tmp_path / "%c.%p.hwt")})
    (trace,) = tmp_path.glob("*sh.*.hwt")
    each.trace = trace
    assert programs_of(each) == []


def test_a_trace_of_a_folder_alone(dynamic, static, record):
    """Those that come after it are not examined, so no report can count them."""
    recording = record(["sh", "-c", f"sh -c 'exec {dynamic}'; :"])
    for trace in recording.traces[1:]:
        recording.trace = trace
        assert programs_of(recording) == []


def test_any_address_may_be_executed(compile_c, record, preload):
    """The kernel reports the error."""
    program = compile_c(r"""
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void)
{
  char *none[] = {NULL}, *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  free(malloc(1));
  munmap(pages + 4096, 4096);
  memset(pages, 'x', 4096);
  memcpy(pages + 4090, "/none", 6);
  const char *paths[] = {NULL, (char *)8, pages, pages + 4090};
  for (int i = 0; i < 4; i++) {
    int result = execv(paths[i], none);
    printf("%d %d\n", result, errno);
  }
  return 0;
}
""", name="addresses")
    plain = subprocess.run([program], capture_output=True, text=True)
    recording = record([program])
    assert (recording.process.returncode, recording.process.stdout) == (0, plain.stdout)
    assert programs_of(recording) == []
