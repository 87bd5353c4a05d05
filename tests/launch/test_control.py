"""test_control.py - heapwright control and import: switching a recording while it runs, packing a trace that was
left raw
"""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from format_reader import CHUNKS_OFF
from trace_header import Header, is_begun, read_header, traces_of_run
from waiting import wait_until


@pytest.fixture
def allocate(compile_c):
    return compile_c(Path(__file__).parent / "programs/allocate.c", name="allocate")


@pytest.fixture
def running(build, tmp_path, allocate):
    """running(children=1): a recording that goes on until end() is called; its launcher and its trace."""
    started = []

    def run(children=0):
        trace = tmp_path / "run.hwt"
        command = f"exec 3<&0; for i in $(seq {children}); do '{allocate}' 0 1000 <&3 & done; '{allocate}' 0 1000; wait"
        words = ["sh", "-c", command] if children else [str(allocate), "0", "1000"]
        process = subprocess.Popen([str(build / "bin/heapwright"), "record", "-q", "-o", str(trace), "--", *words],
                                   stdin=subprocess.PIPE)
        started.append(process)
        wait_until(lambda: is_begun(trace) and (not children or len([t for t in allocators(trace) if is_begun(t)]) > children))
        return process, trace

    yield run
    for process in started:
        end(process)


def allocators(trace):
    """The traces of `allocate`, in a run with children."""
    return [t for t in traces_of_run(trace) if t.name.startswith("allocate")]


def end(process):
    process.stdin.close()
    assert process.wait(60) == 0


def report_of(hw, trace, *options):
    done = hw("report", "--json", *options, trace)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def silences(report):
    return [image["silences"] for image in report["images"]]


IN_STEPS = """
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
  void *kept[100];
  char step;
  while (read(0, &step, 1) == 1) {
    for (int i = 0; i < 100; i++)
      if (step == 'f')
        free(kept[i]);
      else
        kept[i] = malloc(24);
    if (write(1, &step, 1) != 1)
      return 1;
  }
}
"""


class Stepped:
    """A recorded program that allocates 100 blocks, or frees them, when the test asks it to."""

    def __init__(self, build, command, trace, *options):
        words = [build / "bin/heapwright", "record", "-q", "-o", trace, *options, "--", *command]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)

    def step(self, what):
        self.process.stdin.write(what)
        assert self.process.stdout.read(1) == what

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(60) == 0
        self.process.stdout.close()


@pytest.fixture
def stepped(build, compile_c, tmp_path):
    program = compile_c(IN_STEPS, "-fno-builtin", name="in_steps")

    def start(*options, after=None):
        command = ["sh", "-c", f"read x < '{after}'; '{program}'; true"] if after else [program]
        return Stepped(build, command, tmp_path / "run.hwt", *options)

    return start


def test_off_and_on(stepped, hw, tmp_path):
    run, trace = stepped(), tmp_path / "run.hwt"
    run.step(b"a")
    assert hw("control", str(read_header(trace).pid), "off").returncode == 0
    run.step(b"f")
    run.step(b"a")
    assert hw("control", trace, "on").returncode == 0
    run.step(b"f")
    run.step(b"a")
    run.step(b"f")
    run.end()
    report = report_of(hw, trace)
    ((silence,),) = silences(report)
    assert silence["why"] == "paused" and 0 < silence["from_ns"] < silence["to_ns"] < report["duration_ns"]
    assert 200 <= report["allocation_calls"] < 300
    assert report["live_blocks_at_end"] <= 10, "a block that is freed in the silence is not a leak"


def test_what_is_asked_for_already_changes_nothing(running, hw):
    process, trace = running()
    done = hw("control", trace, "on")
    assert (done.returncode, done.stderr) == (0, "heapwright: recording is on already\n")
    end(process)
    assert silences(report_of(hw, trace)) == [[]]


def test_mark(running, hw):
    process, trace = running()
    assert hw("control", trace, "mark", "all maps loaded").returncode == 0
    assert hw("control", trace, "mark").returncode == 0
    end(process)
    marks = report_of(hw, trace)["images"][0]["marks"]
    assert [mark["text"] for mark in marks] == ["all maps loaded", "mark"]
    assert 0 < marks[0]["time_ns"] < marks[1]["time_ns"]


def test_all_processes_of_the_run_unless_only_this(running, hw):
    _, trace = running(children=1)
    a, b = allocators(trace)
    assert hw("control", str(read_header(a).pid), "off", "--only-this").returncode == 0
    assert (read_header(a).control, read_header(b).control) == (1, 0)
    assert hw("control", str(read_header(b).pid), "off").returncode == 0
    assert {read_header(t).control for t in (trace, a, b)} == {1}


def is_paused(trace):
    return is_begun(trace) and read_header(trace).control == 1


def test_children_of_a_paused_run_are_paused(stepped, hw, tmp_path):
    trace, go = tmp_path / "run.hwt", tmp_path / "go"
    os.mkfifo(go)
    run = stepped(after=go)
    wait_until(lambda: is_begun(trace))
    assert hw("control", trace, "off").returncode == 0
    go.write_text("now\n")
    wait_until(lambda: any(is_paused(t) for t in traces_of_run(trace) if t.name.startswith("in_steps")))
    run.step(b"a")
    run.end()
    (child,) = [t for t in traces_of_run(trace) if t.name.startswith("in_steps")]
    assert report_of(hw, child)["allocation_calls"] < 100


def test_paused(record, allocate):
    paused = record([allocate, "1000", "100"], "--paused").report
    assert paused["allocation_calls"] == 0
    ((silence,),) = silences(paused)
    assert silence == {"from_ns": 0, "why": "paused"}


def overwrite(trace, at, data):
    with open(trace, "r+b") as file:
        file.seek(at)
        file.write(data)


@pytest.mark.parametrize("word", [2, 0x80000001, 0xFFFFFFFF])
def test_a_word_that_is_no_switch(stepped, hw, tmp_path, word):
    """The recording goes on unless the file contains "pause"."""
    run, trace = stepped(), tmp_path / "run.hwt"
    run.step(b"a")
    overwrite(trace, Header.control.offset, word.to_bytes(4, "little"))
    run.step(b"a")
    run.end()
    assert report_of(hw, trace)["allocation_calls"] >= 200


@pytest.mark.parametrize("options", [(), ("--no-pack",)], ids=" ".join)
@pytest.mark.parametrize("byte", [0x00, 0x55, 0xFF])
def test_a_file_that_somebody_writes_into(stepped, hw, tmp_path, options, byte):
    """The program does not trust what it wrote there: it goes on, and the reader of the file reports the fault."""
    run, trace = stepped("--max-size", "4M", *options), tmp_path / "run.hwt"
    run.step(b"a")
    file_bytes = trace.stat().st_size
    for at, count in ((Header.state.offset, 4096 - Header.state.offset), (CHUNKS_OFF, file_bytes - CHUNKS_OFF)):
        overwrite(trace, at, bytes([byte]) * count)
        for step in (b"f", b"a") * 300:
            run.step(step)
    run.end()
    done = hw("report", trace)
    assert done.returncode in (0, 2) and (done.stdout if done.returncode == 0 else done.stderr)


def test_duration(stepped, hw, tmp_path):
    run, trace = stepped("--duration", "1s"), tmp_path / "run.hwt"
    run.step(b"a")
    wait_until(lambda: is_paused(trace))
    run.step(b"a")
    run.end()
    report = report_of(hw, trace)
    ((silence,),) = silences(report)
    assert silence["why"] == "paused" and 0 < silence["from_ns"] < report["duration_ns"] and "to_ns" not in silence
    assert 100 <= report["allocation_calls"] < 200


@pytest.mark.parametrize("target", ["99999999", "2147483648", "missing.hwt", "/etc/passwd"])
def test_no_such_recording(hw, target):
    done = hw("control", target, "off")
    assert done.returncode == 2
    assert target in done.stderr


def test_process_that_is_not_recorded(hw):
    done = hw("control", str(os.getpid()), "off")
    assert done.returncode == 2
    assert "not being recorded" in done.stderr


def test_ended_recording(record, hw):
    trace = record(["true"]).trace
    done = hw("control", trace, "off")
    assert done.returncode == 2
    assert "ended" in done.stderr


@pytest.mark.parametrize("words", [[], ["1"], ["1", "of"], ["1", "on", "x"], ["1", "mark", "a", "b"], ["1", "mark", "x" * 2000]])
def test_wrong_usage(hw, words):
    assert hw("control", *words).returncode == 2


# --- import ---


def test_import_of_a_preloaded_run(preload, hw, tmp_path):
    raw = preload(["sh", "-c", "ls /; ls /; true"])
    packed = tmp_path / "packed.hwt"
    assert hw("import", raw.trace, "-o", packed).returncode == 0
    assert len(traces_of_run(packed)) == 3
    assert {read_header(t).kind for t in traces_of_run(packed)} == {2}
    assert {read_header(t).kind for t in raw.traces} == {1}
    assert report_of(hw, packed, "--children")["allocation_calls"] == report_of(hw, raw.trace, "--children")["allocation_calls"]


def test_import_in_place(preload, hw):
    raw = preload(["sh", "-c", "ls /; true"])
    before = report_of(hw, raw.trace, "--children")["allocation_calls"]
    assert hw("import", raw.trace, "-o", raw.trace).returncode == 0
    assert {read_header(t).kind for t in raw.traces} == {2}
    assert report_of(hw, raw.trace, "--children")["allocation_calls"] == before
    assert hw("import", raw.trace, "-o", raw.trace).returncode == 0, "a file that is already packed is not an error"


def files_below(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def earlier(record, hw, tmp_path):
    """A recording with a child, in its own folder."""
    folder = tmp_path / "into"
    folder.mkdir()
    assert len(record(["sh", "-c", "ls /; true"], trace=folder / "packed.hwt").traces) == 2
    return folder


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_import_that_is_ended_changes_nothing(preload, build, compile_c, tmp_path, number, earlier):
    """The file that was to be replaced used to stay under another name for good."""
    program = compile_c("""
        #include <stdlib.h>
        int main(void)
        {
          void *volatile blocks[1000] = {0};
          for (unsigned i = 0; i < 3000000; i++) {
            free(blocks[i * 7919u % 1000]);
            blocks[i * 7919u % 1000] = malloc(i * 2654435761u % 5000);
          }
        }
        """)
    raw = preload([program])
    before, trace = files_below(earlier), earlier / "packed.hwt"
    raw_bytes = raw.trace.stat().st_size
    process = subprocess.Popen([build / "bin/heapwright", "import", raw.trace, "-o", trace])
    while not Path(f"{trace}.packing").exists():
        assert process.poll() is None
    process.send_signal(number)
    assert process.wait(timeout=60) == -number
    assert files_below(earlier) == before
    trace.unlink()
    process = subprocess.Popen([build / "bin/heapwright", "import", raw.trace, "-o", tmp_path / "new.hwt"])
    while not (tmp_path / "new.hwt.packing").exists():
        assert process.poll() is None
    process.send_signal(number)
    assert process.wait(timeout=60) == -number
    assert not list(tmp_path.glob("new.hwt*"))
    assert raw.trace.stat().st_size == raw_bytes


WITH_A_LATE_CHILD = """
#include <stdlib.h>
#include <stdio.h>
#include <unistd.h>
int main(void)
{
  int ready[2];
  char byte;
  free(malloc(10));
  if (pipe(ready) == 0 && fork() == 0) {
    free(malloc(20));
    puts("there");
    fflush(stdout);
    close(1);
    close(2);
    close(ready[0]);
    close(ready[1]);
    while (read(0, &byte, 1) > 0)
      ;
    _exit(0);
  }
  close(ready[1]);
  return read(ready[0], &byte, 1);
}
"""


def test_import_that_fails_on_the_way_changes_nothing(compile_c, recorder, hw, tmp_path, earlier):
    """The run's first image could be packed, a child's image could not: it is still running."""
    raw, before = tmp_path / "raw.hwt", files_below(earlier)
    environment = {**os.environ, "LD_PRELOAD": str(recorder), "HEAPWRIGHT_OUTPUT": str(raw)}
    process = subprocess.Popen([compile_c(WITH_A_LATE_CHILD)], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "there\n"
    assert process.wait(timeout=60) == 0
    done = hw("import", raw, "-o", earlier / "packed.hwt")
    assert done.returncode == 2 and "still being written" in done.stderr
    assert files_below(earlier) == before
    process.stdin.close()
    process.stdout.close()


def test_import_refuses(preload, hw, tmp_path, running):
    raw = preload(["true"])
    (tmp_path / "precious").write_text("precious")
    for arguments in ([raw.trace], [raw.trace, "-o", tmp_path / "precious"], ["/etc/passwd", "-o", tmp_path / "x"],
                      [tmp_path / "missing", "-o", tmp_path / "x"], [raw.trace, "-o", tmp_path / "no/folder"]):
        done = hw("import", *arguments)
        assert done.returncode == 2, arguments
        assert done.stderr.startswith("heapwright: ")
    assert (tmp_path / "precious").read_text() == "precious"
    _, trace = running()
    done = hw("import", trace, "-o", tmp_path / "x.hwt")
    assert done.returncode == 2
    assert "still being written" in done.stderr


WITHOUT_MAIN = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static pthread_t first;
static void *go_on(void *argument)
{
  pthread_join(first, NULL);
  free(malloc(1000));
  puts("main is gone");
  fflush(stdout);
  getchar();
  return argument;
}
int main(void)
{
  pthread_t second;
  first = pthread_self();
  pthread_create(&second, NULL, go_on, NULL);
  pthread_exit(NULL);
}
"""


def test_a_program_goes_on_without_its_main_thread(compile_c, recorder, hw, tmp_path):
    """The report used to take it for ended, while control reported it as running."""
    program, trace = compile_c(WITHOUT_MAIN, "-pthread", "-fno-builtin"), tmp_path / "s.hwt"
    environment = {**os.environ, "LD_PRELOAD": str(recorder), "HEAPWRIGHT_OUTPUT": str(trace)}
    process = subprocess.Popen([program], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "main is gone\n"
    state = ""
    while state != "Z":
        state = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0]
    while_running = [image["being_written"] for image in report_of(hw, trace)["images"]]
    marked = hw("control", process.pid, "mark", "alone")
    process.communicate("\n", timeout=60)
    assert (while_running, marked.returncode, process.returncode) == ([True], 0, 0), marked.stderr
    assert [image["being_written"] for image in report_of(hw, trace)["images"]] == [False]
