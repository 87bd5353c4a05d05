"""test_page.py - the page of a running program in a real Chromium: see page.mjs"""

import csv
import json
import os
import signal

from live_browser import NEEDS_BROWSER, Browser
from page_document import read_html
from ports import free_port

pytestmark = NEEDS_BROWSER


def test_the_page_of_a_running_program(program, view, hw, tmp_path):
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
        elif order.startswith("saved as "):
            report = json.loads(hw("report", "--json", order.removeprefix("saved as ")).stdout)
            assert report["allocation_calls"] == 1221
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
