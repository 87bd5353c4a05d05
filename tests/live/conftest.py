"""conftest.py - fixtures of the tests of heapwright live: a program that allocates on demand, and a viewer of it"""

import http.client
import json
import subprocess
import urllib.parse
from pathlib import Path

import pytest
from trace_header import is_begun
from waiting import wait_until

HERE = Path(__file__).parent


class Program:
    """A recorded program that allocates when it is told to."""

    def __init__(self, tool, executable, trace):
        self.trace = trace
        self.process = subprocess.Popen([tool, "record", "-q", "-o", str(trace), "--", str(executable)], text=True,
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


class Viewer:
    """heapwright live, and what its server answers."""

    def __init__(self, tool, *arguments, **more):
        self.process = subprocess.Popen([tool, "live", *map(str, arguments)], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        **more)
        self.url = self.process.stdout.readline().strip()
        assert self.url, self.process.stderr.read()
        parts = urllib.parse.urlsplit(self.url)
        self.host, self.token = parts.netloc, urllib.parse.parse_qs(parts.query)["token"][0]

    def ask(self, path, method="GET", token=None, host=None, headers=None):
        """The answer to a request: status, headers and body."""
        connection = http.client.HTTPConnection(self.host, timeout=60)
        mark = "&" if "?" in path else "?"
        given = self.token if token is None else token
        connection.putrequest(method, f"{path}{mark}token={given}", skip_host=True)
        connection.putheader("Host", host or self.host)
        for name, value in (headers or {}).items():
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, answer.headers, body

    def json(self, path):
        status, _, body = self.ask(path)
        assert status == 200, body
        return json.loads(body)

    def report(self):
        return self.json("/report.json")

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
def program(tool, compile_c, tmp_path):
    """A recorded program; it is ended after the test."""
    made = Program(tool, compile_c(HERE / "programs/steps.c", name="steps"), tmp_path / "run.hwt")
    yield made
    made.process.kill()
    made.process.wait()


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
