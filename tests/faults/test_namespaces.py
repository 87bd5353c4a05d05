"""Processes in their own namespace of pids, as in a container or a browser's sandbox

Breaks if a process that has another number there is taken for one that has ended, so that its later events are lost
without a message; if another process of that number is taken for it; or if the trace of a process that cannot be
seen is replaced.
"""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from trace_header import read_header
from waiting import wait_until

RAW, PACKED = 1, 2
UNSHARE = ["unshare", "--user", "--map-root-user", "--pid", "--fork"]

# Allocates the same number of times before and after its standard input ends; with an argument, in a child that has no
# /proc.
ROUNDS = 500
RUNS_ON = f"""
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>
static void allocate(void)
{{
  for (int i = 0; i < {ROUNDS}; i++) {{
    char *volatile block = malloc(1234);
    free(block);
  }}
}}
int main(int argc, char **argv)
{{
  char c;
  if (argc > 1 && mount("none", argv[1], "tmpfs", 0, NULL) == 0 && fork())
    return wait(NULL) < 0;
  allocate();
  (void)!write(STDOUT_FILENO, "half\\n", 5);
  while (read(STDIN_FILENO, &c, 1) > 0)
    ;
  allocate();
  return 0;
}}
"""


@pytest.fixture(params=[[], ["--mount-proc"]], ids=["same_proc", "own_proc"])
def unshare(request):
    command = [*UNSHARE, *request.param]
    if subprocess.run([*command, "true"], capture_output=True).returncode:
        pytest.skip("no namespaces can be made here")
    return command


def calls_of(hw, trace):
    done = hw("report", "--json", trace)
    assert done.returncode == 0, done.stderr
    return sum(size["calls"] for size in json.loads(done.stdout)["sizes"] if size["size"] == 1234)


def writer_told(message):
    return int(re.search(r"still being written by process (\d+);", message)[1])


@pytest.mark.parametrize("covered, pid", [("", 1), ("/proc", 2)], ids=["proc", "no_proc"])
def test_what_runs_on_keeps_its_trace(record, hw, compile_c, unshare, covered, pid):
    """The launcher used to pack the trace while it was written, and everything after that was lost."""
    if covered and subprocess.run([*unshare, "--mount", "mount", "-t", "tmpfs", "none", covered], capture_output=True).returncode:
        pytest.skip("nothing can be mounted here")
    child, (until, end) = compile_c(RUNS_ON, name="runs_on"), os.pipe()
    inside = " ".join([*unshare, "--mount", f"'{child}'", covered])
    recording = record(["bash", "-c", f"exec 3<&0; read x < <({inside} <&3 2>/dev/null); exit 4"], stdin=until)
    os.close(until)
    assert recording.process.returncode == 4
    (trace,) = [t for t in recording.traces if t.name.startswith(f"runs_on.{pid}.")]
    assert read_header(trace).pid == pid and read_header(trace).kind == RAW
    assert (read_header(trace).process_start == 0) == bool(covered)
    assert "run on" in recording.process.stderr  # unshare itself, too
    done = hw("import", trace, "-o", trace)
    assert done.returncode == 2
    assert os.readlink(f"/proc/{writer_told(done.stderr)}/exe") == str(child)
    assert calls_of(hw, trace) == ROUNDS
    os.close(end)
    wait_until(lambda: hw("import", trace, "-o", trace).returncode == 0)
    assert read_header(trace).kind == PACKED
    assert calls_of(hw, trace) == 2 * ROUNDS


def test_what_is_written_outside_is_not_replaced(recorder, build, hw, compile_c, unshare, tmp_path):
    """The launcher and the import used to take a process that they could not see for one that has ended."""
    trace, heapwright = tmp_path / "outside.hwt", build / "bin/heapwright"
    environment = {**os.environ, "LD_PRELOAD": str(recorder), "HEAPWRIGHT_OUTPUT": str(trace)}
    child = subprocess.Popen([compile_c(RUNS_ON)], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdout.readline() == b"half\n"
    for code, arguments in (125, ["record", "-o", trace, "--", "true"]), (2, ["import", trace, "-o", trace]):
        done = subprocess.run([*unshare, heapwright, *arguments], capture_output=True, text=True)
        assert done.returncode == code, done.stderr
        assert "cannot be seen" in done.stderr or writer_told(done.stderr) == child.pid
    child.communicate()
    assert child.returncode == 0 and read_header(trace).kind == RAW
    assert calls_of(hw, trace) == 2 * ROUNDS
    done = subprocess.run([*unshare, heapwright, "import", trace, "-o", trace], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_trace_of_outside_stays(preload, unshare):
    """Its process cannot be seen in there, so the trace used to be taken for one of an earlier run."""
    recording = preload(["sh", "-c", f"{' '.join(unshare)} true; exit 3"])
    assert recording.process.returncode == 3
    first = read_header(recording.trace)
    names = [Path(trace).name for trace in recording.traces]
    assert first.pid != 1 and any(name.startswith("true.1.") for name in names)
    assert all(bytes(read_header(trace).run_id) == bytes(first.run_id) for trace in recording.traces)


def test_processes_of_one_number_are_apart(record, hw):
    """The first process of a sandbox used to be taken for a later program of another sandbox's first process, and its
    children for those of the other one."""
    recording = record(["sh", "-c", "/bin/true; /bin/true; /bin/true; exit 3"])
    traces = sorted((t for t in recording.traces if t.name.startswith("true")), key=lambda t: read_header(t).start.monotonic_ns)
    for number, (pid, parent, namespace) in enumerate([(1, 0, 7), (1, 0, 8), (2, 1, 7)]):
        header = read_header(traces[number])
        header.pid, header.ppid, header.pid_namespace, header.process_start = pid, parent, namespace, 5
        with open(traces[number], "r+b") as file:
            file.write(bytes(header))
    done = hw("report", "--json", recording.trace)
    assert done.returncode == 0, done.stderr
    processes = json.loads(done.stdout)["processes"]
    assert [(process["pid"], process.get("parent")) for process in processes[1:]] == [(1, None), (1, None), (2, 1)]


def test_without_proc_a_live_trace_stays(recorder, hw, compile_c, unshare, tmp_path):
    """Every process in there has the same few numbers, and none could see that the other process with its number
    runs."""
    covering = [*unshare, "--mount", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"]
    if subprocess.run([*covering, "true"], capture_output=True).returncode:
        pytest.skip("nothing can be mounted here")
    command = [*covering, "env", f"LD_PRELOAD={recorder}", compile_c(RUNS_ON, name="runs_on")]
    trace, pipes = tmp_path / "heapwright.runs_on.1.hwt", {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    first = subprocess.Popen(command, cwd=tmp_path, **pipes)
    assert first.stdout.readline() == b"half\n"
    begun = bytes(read_header(trace).image_id)
    second = subprocess.Popen(command, cwd=tmp_path, **pipes)
    second.communicate()
    first.communicate()
    assert (first.returncode, second.returncode) == (0, 0)
    assert bytes(read_header(trace).image_id) == begun
    assert calls_of(hw, trace) == 2 * ROUNDS
