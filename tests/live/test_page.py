"""test_page.py - the page of a running program in a real Chromium: see page.mjs"""

import csv
import os
import shutil
import signal
import socket
import subprocess
from pathlib import Path

import pytest
from page_document import read_html

HERE = Path(__file__).parent
CHROMIUM = shutil.which("chromium")

pytestmark = pytest.mark.skipif(
    CHROMIUM is None or shutil.which("node") is None or not (HERE.parents[1] / "web/node_modules/playwright-core").exists(),
    reason="no chromium, no node, or web/node_modules is not installed (tools/setup.sh web; tools/build_page.sh --install)",
)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


class Browser:
    """A script in a browser, whose orders this test obeys."""

    def __init__(self, script, *arguments):
        self.process = subprocess.Popen(["node", str(HERE / script), *map(str, arguments)], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, env={**os.environ, "HW_CHROMIUM": CHROMIUM})

    def obey(self, do):
        for order in self.process.stdout:
            do(order.rstrip("\n"))
            self.process.stdin.write("done\n")
            self.process.stdin.flush()
        assert self.process.wait(60) == 0, self.process.stderr.read()


def test_the_page_of_a_running_program(program, view, tmp_path):
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}
    port = free_port()
    viewers = [view("--port", port, program.trace, env=environment)]
    pid = viewers[0].report()["pid"]

    def do(order):
        if order == "restart the viewer":
            viewers[0].process.kill()
            viewers[0].process.wait()
            viewers.append(view("--port", port, program.trace, env=environment))
            assert viewers[1].url == viewers[0].url
        elif order == "kill the program":
            os.kill(pid, signal.SIGKILL)
        elif order == "end the viewer":
            viewers[1].end()
        else:
            program.tell(order)

    Browser("page.mjs", viewers[0].url, tmp_path).obey(do)
    document = read_html(tmp_path / "saved.page").document
    assert document["run"]["allocation_calls"] == 1221
    assert [mark["text"] for mark in document["marks"]] == ["half way"]
    rows = list(csv.DictReader((tmp_path / "saved.CSV").open(encoding="utf-8")))
    assert sum(int(row["calls"]) for row in rows) == 1221
    token = tmp_path / "heapwright" / f"live-{port}.token"
    assert token.stat().st_mode & 0o777 == 0o600
    assert token.read_text() == viewers[0].token
