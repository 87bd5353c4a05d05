"""live_page.py - asks the server of a live page"""

import contextlib
import http.client
import json
import socket
import urllib.parse


def request(host, path, method="GET", named=None, headers=None):
    """The answer to a request: status, headers and body. `named`: what the header Host says instead."""
    connection = http.client.HTTPConnection(host, timeout=60)
    connection.putrequest(method, path, skip_host=True)
    connection.putheader("Host", named or host)
    for name, value in (headers or {}).items():
        connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, answer.headers, body


@contextlib.contextmanager
def half_closed(host, path):
    """A request after which the client sends no more. Yields a function that reads the answer."""
    name, _, port = host.rpartition(":")

    def read():
        answer = b""
        while received := connection.recv(65536):
            answer += received
        return answer

    with socket.create_connection((name, int(port)), timeout=60) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        connection.shutdown(socket.SHUT_WR)
        yield read


class Page:
    """What the server of a page answers."""

    def __init__(self, url):
        self.url = url
        parts = urllib.parse.urlsplit(url)
        self.host, self.token = parts.netloc, urllib.parse.parse_qs(parts.query)["token"][0]

    def ask(self, path, method="GET", token=None, host=None, headers=None):
        """The answer to a request: status, headers and body."""
        mark = "&" if "?" in path else "?"
        given = self.token if token is None else token
        return request(self.host, f"{path}{mark}token={given}", method, host, headers)

    def json(self, path):
        status, _, body = self.ask(path)
        assert status == 200, body
        return json.loads(body)

    def report(self):
        return self.json("/report.json")
