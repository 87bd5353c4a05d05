"""test_redis.py - redis-server under redis-benchmark, followed in a real Chromium: see redis.mjs

HW_LIVE_SECONDS says how long (default: 8).
"""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess

import pytest
from live_browser import NEEDS_BROWSER, Browser
from ports import free_port
from waiting import wait_until

SECONDS = int(os.environ.get("HW_LIVE_SECONDS", "8"))
FIGURES = ("allocation_calls", "free_calls", "failed_calls", "allocated_bytes", "live_bytes_at_end", "live_blocks_at_end", "peak_bytes")

pytestmark = [NEEDS_BROWSER, pytest.mark.skipif(shutil.which("redis-benchmark") is None, reason="no redis-benchmark")]


def accepts(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def test_a_busy_server(view, hw, tmp_path):
    port = free_port()
    viewer = view("-o", tmp_path / "redis.hwt", "--", "redis-server", "--port", port, "--save", "", "--dir", tmp_path, "--logfile", "log",
                  "--io-threads", 2)
    wait_until(lambda: accepts(port))
    server = viewer.report()["pid"]
    benchmark = subprocess.Popen(["redis-benchmark", "-p", str(port), "-q", "-n", "100000000", "-r", "100000", "-d", "200", "-t", "set,lpush,hset"],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def do(order):
        word, _, rest = order.partition(" ")
        if word == "kill":
            os.kill(server, signal.SIGKILL)
            return
        asked = json.loads(rest)
        shown = asked["run"]
        saved = hw("report", "--json", "--children", "--to", f"{shown['duration_ns']}ns", asked["path"])
        assert saved.returncode == 0, saved.stderr
        report = json.loads(saved.stdout)
        assert {name: report[name] for name in FIGURES} == {name: shown[name] for name in FIGURES}

    try:
        Browser("redis.mjs", viewer.url, SECONDS).obey(do)
    finally:
        benchmark.kill()
        benchmark.wait()
        with contextlib.suppress(ProcessLookupError):
            os.kill(server, signal.SIGKILL)  # it has the viewer's output open
