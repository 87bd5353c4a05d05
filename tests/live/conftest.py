"""conftest.py - fixtures of the tests of heapwright live: a program that allocates on demand, and a viewer of it"""

import contextlib
import functools
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

    def begin(self):
        self.tell("1")
        wait_until(lambda: is_begun(self.trace))

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
def at_end():
    """at_end(function, ...): it is called after the test."""
    with contextlib.ExitStack() as stack:
        yield stack.callback


@pytest.fixture
def ends(at_end):
    """ends(process): returns it; it is killed after the test."""

    def note(process):
        at_end(process.wait)
        at_end(process.kill)
        if process.stdin:
            at_end(process.stdin.close)
        return process

    return note


@pytest.fixture
def start_program(tool, compile_c, ends):
    """start_program(trace): records programs/steps.c there, or another executable; it is ended after the test. `begins`: it takes
    numbers of blocks as steps.c does."""
    steps = functools.cache(lambda: compile_c(HERE / "programs/steps.c", name="steps"))

    def start(trace, executable=None, options=(), begins=True):
        program = Program(tool, executable or steps(), trace, *options)
        ends(program.process)
        if begins:
            program.begin()
        return program

    return start


@pytest.fixture
def record_steps(start_program, compile_c, tmp_path):
    """record_steps("steps"): programs/steps.c, recorded; it is ended after the test."""
    return lambda name, *flags: start_program(tmp_path / "run.hwt", compile_c(HERE / f"programs/{name}.c", *flags, name=name))


@pytest.fixture
def program(record_steps):
    """A recorded program; it is ended after the test."""
    return record_steps("steps")


@pytest.fixture
def begin(tool, tmp_path, ends):
    """begin(command): begins a recording. Returns its process and its trace."""

    def run(*command, options=()):
        trace = tmp_path / "run.hwt"
        process = ends(subprocess.Popen([tool, "record", "-q", *options, "-o", str(trace), "--", *map(str, command)],
                                        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL))
        wait_until(lambda: is_begun(trace))
        return process, trace

    return run


@pytest.fixture
def view(tool, at_end):
    """view(target): starts a viewer, which is ended after the test."""

    def start(*arguments, **more):
        viewer = Viewer(tool, *arguments, **more)
        at_end(viewer.end)
        return viewer

    return start


@pytest.fixture
def serve(tool, ends):
    """serve(target, ...): starts a server, which is ended after the test."""

    def start(*arguments, address="127.0.0.1:0", **more):
        served = Served(tool, address, *arguments, **more)
        ends(served.process)
        return served

    return start
