"""conftest.py - fixtures of the tests of heapwright live: a program that allocates on demand, and a viewer of it"""

import subprocess
from pathlib import Path

import pytest
from live_page import Page
from served import Served
from trace_header import is_begun
from waiting import wait_until

HERE = Path(__file__).parent


class Program:
    """A recorded program that allocates when it is told to."""

    def __init__(self, tool, executable, trace, *options):
        self.trace = trace
        self.process = subprocess.Popen([tool, "record", "-q", *options, "-o", str(trace), "--", str(executable)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.tell("1")
        wait_until(lambda: is_begun(trace))

    def tell(self, line):
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def end(self):
        if not self.process.stdin.closed:
            self.process.stdin.close()
        self.process.stdout.read()
        return self.process.wait(60)


class Viewer(Page):
    """heapwright live, and what its server answers."""

    def __init__(self, tool, *arguments, **more):
        self.process = subprocess.Popen([tool, "live", *map(str, arguments)], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        **more)
        url = self.process.stdout.readline().strip()
        assert url, self.process.stderr.read()
        super().__init__(url)

    def analyst(self):
        """The process that follows the run."""
        self.ask("/document")
        return int(Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()[0])

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.stdout.read()
        return self.process.wait(60)


@pytest.fixture(scope="session")
def tool(build):
    return str(build / "bin/heapwright")


@pytest.fixture
def record_steps(tool, compile_c, tmp_path):
    """record_steps("steps"): programs/steps.c, recorded; it is ended after the test."""
    made = []

    def start(name, *flags):
        made.append(Program(tool, compile_c(HERE / f"programs/{name}.c", *flags, name=name), tmp_path / "run.hwt"))
        return made[-1]

    yield start
    for program in made:
        program.process.kill()
        program.process.wait()


@pytest.fixture
def program(record_steps):
    """A recorded program; it is ended after the test."""
    return record_steps("steps")


@pytest.fixture
def begin(tool, tmp_path):
    """begin(command): begins a recording. Returns its process and its trace."""
    started = []

    def run(*command, options=()):
        trace = tmp_path / "run.hwt"
        started.append(subprocess.Popen([tool, "record", "-q", *options, "-o", str(trace), "--", *map(str, command)],
                                        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL))
        wait_until(lambda: is_begun(trace))
        return started[-1], trace

    yield run
    for process in started:
        process.stdin.close()
        process.kill()
        process.wait()


@pytest.fixture
def view(tool):
    """view(target): starts a viewer, which is ended after the test."""
    made = []

    def start(*arguments, **more):
        made.append(Viewer(tool, *arguments, **more))
        return made[-1]

    yield start
    for viewer in made:
        viewer.end()


@pytest.fixture
def serve(tool):
    """serve(target, ...): starts a server, which is ended after the test."""
    made = []

    def start(*arguments, address="127.0.0.1:0", **more):
        made.append(Served(tool, address, *arguments, **more))
        return made[-1]

    yield start
    for served in made:
        served.process.kill()
        served.process.wait()


@pytest.fixture
def start_program(tool, compile_c):
    """start_program(trace): records programs/steps.c there; it is ended after the test."""
    made = []
    usual = compile_c(HERE / "programs/steps.c", name="steps")

    def start(trace, executable=usual, options=()):
        made.append(Program(tool, executable, trace, *options))
        return made[-1]

    yield start
    for program in made:
        program.process.kill()
        program.process.wait()
