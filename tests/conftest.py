"""conftest.py - fixtures of all whole-program tests: the tool, recording and compiling a program, independent counts"""

import json
import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import words_32
from trace_header import is_begun, read_header, traces_of_run
from waiting import wait_until

ROOT = Path(__file__).resolve().parents[1]
TIMEOUT = 120  # seconds; a test that needs another limit passes its own

# COLUMNS sets the width of reports. The user may have set it, and so may readline, which pytest loads; os.environ does
# not show readline's value.
os.environ.pop("COLUMNS", None)
os.unsetenv("COLUMNS")


def pytest_collection_modifyitems(items):
    """The cases of a file that is split into shares: HW_SHARE=2/3 is every third case from the second on."""
    share, shares = map(int, os.environ.get("HW_SHARE", "1/1").split("/"))
    items[:] = items[share - 1::shares]


def pytest_sessionfinish(session, exitstatus):
    """All tests together would leave some 10 GB in folders of their own (tests/CMakeLists.txt)."""
    folder = session.config.getoption("basetemp")
    if folder and exitstatus == 0:
        shutil.rmtree(folder, ignore_errors=True)


@dataclass
class Recording:
    """One run under `heapwright record`."""

    process: subprocess.CompletedProcess  # of the launcher; stdout and stderr are text
    trace: Path
    hw: object = field(repr=False)

    @property
    def report(self):
        """`heapwright report --json` of the run, parsed."""
        return self.report_with()

    def report_with(self, *options):
        """The same with more options."""
        done = self.hw("report", "--json", *options, str(self.trace))
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    @property
    def header(self):
        return read_header(self.trace)

    @property
    def traces(self):
        """The run's trace and the traces of its children."""
        return traces_of_run(self.trace)


@pytest.fixture(scope="session")
def build():
    """The build tree, as an absolute path."""
    return Path(os.environ.get("HW_BUILD", ROOT / "build")).resolve()


@pytest.fixture(scope="session")
def recorder(build):
    """The library to preload."""
    return build / "lib/libheapwright-record.so"


@pytest.fixture(scope="session")
def hw(build):
    """hw("report", "--json", trace): runs the tool. Returns the CompletedProcess with text output."""

    def run(*arguments, timeout=TIMEOUT, **more):
        more.setdefault("text", True)
        return subprocess.run([str(build / "bin/heapwright"), *map(str, arguments)], capture_output=True, timeout=timeout, **more)

    return run


@pytest.fixture
def record(hw, tmp_path):
    """record([command...], "--depth", "5", env={...}): records a command. Returns a Recording.

    env adds to the environment; other arguments (cwd, input, timeout) are passed to subprocess.run. Every recording
    of a test has its own trace, tmp_path/NUMBER.hwt, unless `trace` names it.
    """
    number = iter(range(1, 10000))

    def run(command, *options, env=None, trace=None, **more):
        trace = Path(trace or tmp_path / f"{next(number)}.hwt")
        process = hw("record", "-o", trace, *options, "--", *command, env={**os.environ, **(env or {})}, **more)
        return Recording(process, trace, hw)

    return run


@pytest.fixture(scope="session")
def record_with_marks(build, hw):
    """record_with_marks(program, trace, "warm", "done"): records a program that writes a byte wherever a mark is to
    be set, and reads one before it goes on. So the events between two marks are always the same, however busy the
    machine is. With `until` the program goes on when that is true of the report of the recording so far."""

    def run(program, trace, *marks, until=None):
        words = [build / "bin/heapwright", "record", "-q", "-o", trace, "--", program]
        with subprocess.Popen(list(map(str, words)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
            for mark in marks:
                assert process.stdout.read(1), "the program ended early"
                subprocess.run([build / "bin/heapwright", "control", trace, "mark", mark], check=True, timeout=TIMEOUT)
                if until:
                    wait_until(lambda: until(Recording(process, Path(trace), hw).report))
                process.stdin.write(b"\n")
            process.wait(TIMEOUT)
        return Recording(process, Path(trace), hw)

    return run


@pytest.fixture
def record_until(build, hw, tmp_path):
    """record_until(is_seen, [command...], *options): records a command that reads its input, which ends when
    `is_seen` is true of the report of the recording so far. Other arguments (cwd) are passed to Popen."""

    def run(is_seen, command, *options, **more):
        recording = Recording(None, tmp_path / "until.hwt", hw)
        words = [build / "bin/heapwright", "record", "-o", recording.trace, *options, "--", *command]
        process = subprocess.Popen(list(map(str, words)), stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
        try:
            wait_until(lambda: is_begun(recording.trace) and is_seen(recording.report))
        finally:
            _, said = process.communicate(timeout=TIMEOUT)
        recording.process = subprocess.CompletedProcess(words, process.returncode, None, said)
        return recording

    return run


@pytest.fixture
def preload(recorder, hw, tmp_path):
    """preload([command...], env={...}): the same with only LD_PRELOAD, without the launcher."""
    number = iter(range(1, 10000))

    def run(command, env=None, trace=None, **more):
        trace = Path(trace or tmp_path / f"preload-{next(number)}.hwt")
        environment = {**os.environ, "LD_PRELOAD": str(recorder), "HEAPWRIGHT_OUTPUT": str(trace), **(env or {})}
        more.setdefault("timeout", TIMEOUT)
        more.setdefault("text", True)
        process = subprocess.run(list(map(str, command)), capture_output=True, env=environment, **more)
        return Recording(process, trace, hw)

    return run


@pytest.fixture
def on_allocator(preload, recorder, tmp_path):
    """on_allocator("ring", [command...]): the same with faults/programs/NAME_allocator.c in place of libc's malloc."""

    def run(name, command, env=None, **more):
        library = tmp_path / f"{name}.so"
        source = ROOT / f"tests/faults/programs/{name}_allocator.c"
        subprocess.run(["gcc", "-O1", "-fno-builtin", "-shared", "-fPIC", source, "-o", library], check=True)
        return preload(command, env={"LD_PRELOAD": f"{recorder}:{library}", **(env or {})}, **more)

    return run


def compile_source(compiler, suffix, folder, source, flags, name):
    """Compiles a program. A source that is a path is compiled where it is; any other source is the text of the
    program."""
    path = Path(source) if "\n" not in str(source) else folder / f"{name}{suffix}"
    if path.parent == folder and "\n" in str(source):
        path.write_text(source)
    output = folder / name
    done = subprocess.run([compiler, "-O1", "-g", str(path), "-o", str(output), *flags], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return output


@pytest.fixture
def compile_c(tmp_path):
    """compile_c("int main...", "-pthread", name="x"): returns the path of the program. `source` may be a path, too.
    Everything that glibc has is declared, as for C++ and for the project's own sources."""

    def run(source, *flags, name="program"):
        return compile_source("gcc", ".c", tmp_path, source, ["-std=gnu17", "-D_GNU_SOURCE=", *flags], name)

    return run


@pytest.fixture
def compile_cxx(tmp_path):
    """The same for C++17."""

    def run(source, *flags, name="program"):
        return compile_source("g++", ".cc", tmp_path, source, ["-std=c++17", *flags], name)

    return run


@pytest.fixture(scope="session")
def counter(tmp_path_factory):
    """A library to preload that counts allocations independently of the recorder."""
    library = tmp_path_factory.mktemp("counter") / "libcounter.so"
    source = ROOT / "tests/record/counter.c"
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-fexceptions", "-fno-builtin", str(source), "-o", str(library)], check=True)
    return library


@pytest.fixture
def record_counted(record, counter, tmp_path):
    """record_counted([command...]): records a command with the counter preloaded after the recorder, so that both see
    the same run.

    Returns the Recording and the counter's numbers, which have the same names as in the report.
    """
    number = iter(range(1, 10000))

    def run(command, *options, env=None, **more):
        output = str(tmp_path / f"counted-{next(number)}.%p.json")  # the launcher is counted, too
        recording = record(command, *options, env={**(env or {}), "LD_PRELOAD": str(counter), "COUNTER_OUTPUT": output}, **more)
        return recording, json.loads(Path(output.replace("%p", str(recording.header.pid))).read_text())

    return run


@pytest.fixture
def check_counts(record_counted):
    """check_counts([command...]): records a command, and fails unless the report's numbers are exactly the
    counter's."""

    def run(command, *options, **more):
        recording, counts = record_counted(command, *options, **more)
        report = recording.report
        assert {name: report[name] for name in counts} == counts
        assert report["lost_events"] == 0
        return recording

    return run


@pytest.fixture
def check_counts_preload(preload, counter, recorder, tmp_path):
    """check_counts_preload([command...]): the same with only LD_PRELOAD, without the launcher."""
    number = iter(range(1, 10000))

    def run(command, env=None, **more):
        output = tmp_path / f"counted-preload-{next(number)}.json"
        both = {"LD_PRELOAD": f"{recorder}:{counter}", "COUNTER_OUTPUT": str(output)}
        recording = preload(command, env={**(env or {}), **both}, **more)
        counts, report = json.loads(output.read_text()), recording.report
        assert {name: report[name] for name in counts} == counts
        assert report["lost_events"] == 0
        return recording

    return run


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """What needs programs of 32 bits is left out where the kernel runs none. All other failures stay failures."""
    report = (yield).get_result()
    if call.excinfo and words_32.are_refused(call.excinfo.value):
        report.outcome = "skipped"
        report.longrepr = (str(item.path), 0, f"Skipped: {call.excinfo.value}")
