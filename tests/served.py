"""served.py - heapwright live --serve, and what it answers"""

import subprocess
from urllib.parse import urlsplit

from live_page import request
from openmetrics import Metrics

OPEN = "application/openmetrics-text; version=1.0.0; charset=utf-8"
OLD = "text/plain; version=0.0.4; charset=utf-8"


class Served:
    def __init__(self, tool, address, *arguments, **more):
        self.process = subprocess.Popen([tool, "live", "--serve", address, *map(str, arguments)], text=True, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, **more)
        url = self.process.stdout.readline().strip()
        assert url, self.process.stderr.read()
        self.host = urlsplit(url).netloc

    def ask(self, path, method="GET", host=None, **headers):
        """The answer to a request: status, headers and body."""
        return request(self.host, path, method, host, headers)

    def metrics(self, query="", is_open=True, **headers):
        status, answered, body = self.ask(f"/metrics{query}", Accept=OPEN if is_open else "*/*", **headers)
        assert status == 200, body
        assert answered["Content-Type"] == (OPEN if is_open else OLD)
        return Metrics(body, is_open)

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.stdout.read()
        return self.process.wait(60)
