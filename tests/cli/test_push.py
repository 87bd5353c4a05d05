"""test_push.py - heapwright push: what it sends to a server, when it tries again, and what it says when it cannot

If this fails, a job's profile is lost without a word, is sent to somebody else, or a server that is busy is not asked again.
"""

import contextlib
import gzip
import http.server
import json
import re
import shutil
import socket
import ssl
import subprocess
import threading
import urllib.parse

import pytest

from pprof_file import Pprof
from small_disk import small_disk
from trace_header import is_begun
from waiting import wait_until


class Server(http.server.ThreadingHTTPServer):
    """Answers with the statuses in `answers`, one for each request, and then with 200. Keeps the requests. With a negative status,
    the answer is shorter than it says."""

    def __init__(self, answers=(), headers=None, body=b""):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers, self.headers, self.body, self.requests = list(answers), headers or {}, body, []
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, address):
        pass


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        server = self.server
        body = self.rfile.read(int(self.headers["Content-Length"]))
        server.requests.append((self.path, dict(self.headers), body))
        status = server.answers.pop(0) if server.answers else 200
        if status == "close":
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        self.send_response(abs(status))
        for name, value in server.headers.items():
            self.send_header(name, value)
        if status < 0:
            self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(server.body)

    def log_message(self, *_):
        pass


@pytest.fixture
def serve():
    """serve(answers): a server, which is ended after the test."""
    made = []

    def start(*arguments, **more):
        made.append(Server(*arguments, **more))
        return made[-1]

    yield start
    for server in made:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="module")
def trace(build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("push")
    path = folder / "job.hwt"
    done = subprocess.run([build / "bin/heapwright", "record", "-q", "-o", path, "sort", "--version"], stdout=subprocess.DEVNULL)
    assert done.returncode == 0
    return path


def form_of(headers, body):
    """The parts of a form: {name: (type, bytes)}."""
    boundary = re.search(r"boundary=(\S+)", headers["Content-Type"])[1].encode()
    parts = {}
    for part in body.split(b"--" + boundary)[1:-1]:
        head, _, content = part.strip(b"\r\n").partition(b"\r\n\r\n")
        name = re.search(rb'name="([^"]*)"', head)[1].decode()
        parts[name] = (re.search(rb"Content-Type: (\S+)", head)[1].decode(), content)
    return parts


def test_a_request(serve, hw, trace, tmp_path):
    """As Pyroscope's documentation describes it, with the figures of the report."""
    server = serve()
    done = hw("push", "--to", server.url, "--label", "ci=main", "--label", "branch=a/b c", trace)
    assert done.returncode == 0 and f"to {server.url}" in done.stderr and done.stdout == ""
    [(path, headers, body)] = server.requests
    split = urllib.parse.urlsplit(path)
    query = dict(urllib.parse.parse_qsl(split.query))
    report = json.loads(hw("report", "--json", trace).stdout)
    start_s = report["images"][0]["start_realtime_ns"] // 10**9
    assert split.path == "/ingest"
    assert query["name"] == "sort{ci=main,branch=a/b c}" and query["format"] == "pprof"
    assert int(query["from"]) == start_s and start_s < int(query["until"]) <= start_s + 2
    assert headers["User-Agent"].startswith("heapwright/") and "Authorization" not in headers
    form = form_of(headers, body)
    assert form["profile"][0] == "application/octet-stream" and form["sample_type_config"][0] == "application/json"
    profile_path = tmp_path / "sent.pb.gz"
    profile_path.write_bytes(form["profile"][1])
    profile = Pprof(profile_path)
    assert profile.total("alloc_space") == report["allocated_bytes"] and profile.total("inuse_space") == report["peak_bytes"]
    assert "sort" in profile.comments and not any("--version" in comment for comment in profile.comments)
    config = json.loads(form["sample_type_config"][1])
    assert set(config) == set(profile.types)
    assert config["inuse_space"] == {"units": "bytes", "aggregation": "average", "display-name": "inuse_space", "sampled": False}
    assert config["alloc_objects"]["aggregation"] == "sum" and config["alloc_objects"]["units"] == "objects"


def test_credentials_are_not_shown(serve, hw, trace):
    server = serve()
    done = hw("push", "--to", server.url.replace("//", "//user:secret@"), trace)
    assert done.returncode == 0 and len(server.requests) == 1
    assert done.stderr.endswith(f" to {server.url.partition('//')[2]}\n") and "secret" not in done.stderr
    wrong = hw("push", "--to", "http://user:secret@server/?tenant=a", trace)
    assert wrong.returncode == 2 and "server/?tenant=a' is no address" in wrong.stderr and "secret" not in wrong.stderr


def test_names_paths_and_tokens(serve, hw, trace, tmp_path):
    server = serve()
    token = tmp_path / "token"
    token.write_text("s3cret-token\n")
    for url in ["/", "/tenant/pyroscope", "/tenant/ingest/"]:
        done = hw("push", "-q", "--to", server.url + url, "--name", "my.job", "--token", token, trace)
        assert done.returncode == 0 and done.stderr == ""
    paths = [urllib.parse.urlsplit(path) for path, _, _ in server.requests]
    assert [path.path for path in paths] == ["/ingest", "/tenant/pyroscope/ingest", "/tenant/ingest"]
    assert all("my.job{}" in urllib.parse.unquote(path.query) for path in paths)
    assert all(headers["Authorization"] == "Bearer s3cret-token" for _, headers, _ in server.requests)


@pytest.mark.parametrize("answers", [[503], [500, 429, 408], ["close", 502]])
def test_it_tries_again(serve, hw, trace, answers):
    server = serve(answers)
    done = hw("push", "--to", server.url, trace)
    assert done.returncode == 0, done.stderr
    assert len(server.requests) == len(answers) + 1
    bodies = {form_of(headers, body)["profile"][1] for _, headers, body in server.requests}
    assert len(bodies) == 1 and gzip.decompress(bodies.pop())


def test_it_waits_as_long_as_the_server_says(serve, hw, trace):
    server = serve([429], headers={"Retry-After": "5"})
    done = hw("push", "--to", server.url, "--within", "3s", trace)
    assert done.returncode == 2 and "the server answered 429" in done.stderr and len(server.requests) == 1


@pytest.mark.parametrize("status", [400, 401, 404, 413, 422])
def test_a_refusal_is_final(serve, hw, trace, status):
    server = serve([status], body=b"invalid \x1b[31mprofile\nmore\n")
    done = hw("push", "--to", server.url, trace)
    assert done.returncode == 2 and len(server.requests) == 1
    assert f"cannot send to {server.url}: the server answered {status}: invalid \\x1b[31mprofile\n" in done.stderr


def test_a_redirection_is_not_followed(serve, hw, trace):
    other = serve()
    server = serve([302], headers={"Location": other.url})
    done = hw("push", "--to", server.url, trace)
    assert done.returncode == 2 and "use the address that it redirects to" in done.stderr and not other.requests


def test_the_time_is_bounded(serve, hw, trace):
    server = serve([503] * 1000)
    done = hw("push", "--to", server.url, "--within", "2s", trace)
    assert done.returncode == 2 and "the server answered 503 (tried " in done.stderr and 2 <= len(server.requests) < 6


@pytest.mark.parametrize("status, says", [(-200, "sent "), (-400, "the server answered 400: bad profile")])
def test_the_status_decides(serve, hw, trace, status, says):
    """Also if the answer breaks off after it: what the server has taken is not sent again."""
    server = serve([status], body=b"bad profile")
    done = hw("push", "--to", server.url, trace)
    assert done.returncode == (2 if status == -400 else 0) and says in done.stderr and len(server.requests) == 1


def test_an_answer_without_an_end(serve, hw, trace):
    server = serve([400], body=bytes(100 << 20))
    done = hw("push", "--to", server.url, trace)
    assert done.returncode == 2 and "the server answered 400" in done.stderr and len(server.requests) == 1


def test_a_server_that_is_silent_at_first(hw, trace):
    """It is asked again before the whole time is over."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        connections = []

        def answer():
            connections.append(listening.accept()[0])
            connections.append(listening.accept()[0])
            connections[1].recv(100)
            connections[1].sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        done = hw("push", "--to", f"http://127.0.0.1:{listening.getsockname()[1]}", "--within", "20s", trace)
        assert done.returncode == 0, done.stderr
        thread.join()
        for connection in connections:
            connection.close()


def test_a_recording_that_is_not_complete(serve, hw, record):
    """That is said, as by export."""
    server = serve()
    program = "for _ in range(2000000): bytes(1000)"
    trace = record(["python3", "-c", program], "--no-pack", "--max-size", "4M").trace
    done = hw("push", "--to", server.url, trace)
    assert done.returncode == 0 and len(server.requests) == 1
    assert "the recording is not complete: " in done.stderr
    assert hw("push", "-q", "--to", server.url, trace).stderr == ""


def test_processes_that_are_not_sent(serve, hw, record):
    """One process is sent by default; that others are not is said, as by export."""
    server = serve()
    trace = record(["sh", "-c", "python3 -c 'bytes(10000000)'; python3 -c 'bytes(20000000)'; true"]).trace
    words = "are not sent; --children adds them"
    assert words in hw("push", "--to", server.url, trace).stderr
    assert hw("push", "-q", "--to", server.url, trace).stderr == ""
    assert words not in hw("push", "--to", server.url, "--children", trace).stderr
    assert "are not exported; --children" in hw("export", trace, "-o", trace.with_suffix(".folded")).stderr


def test_a_recording_that_goes_on(serve, hw, build, tmp_path):
    server, trace = serve(), tmp_path / "run.hwt"
    with subprocess.Popen([build / "bin/heapwright", "record", "-q", "-o", trace, "cat"], stdin=subprocess.PIPE) as process:
        wait_until(lambda: is_begun(trace))
        done = hw("push", "--to", server.url, trace)
        process.stdin.close()
    assert done.returncode == 0 and len(server.requests) == 1, done.stderr
    assert hw("push", "--to", server.url, trace).returncode == process.returncode == 0


def test_a_full_disk(serve, hw, trace, tmp_path):
    """It needs none."""
    server = serve()
    with small_disk(tmp_path / "disk", "256k") as disk:
        shutil.copy(trace, disk / "job.hwt")
        with contextlib.suppress(OSError), open(disk / "ballast", "wb") as ballast:
            while ballast.write(bytes(4096)):
                ballast.flush()
        done = hw("push", "--to", server.url, disk / "job.hwt")
        assert done.returncode == 0 and len(server.requests) == 1, done.stderr


def test_a_damaged_recording(serve, hw, trace, tmp_path):
    server = serve()
    whole = trace.read_bytes()
    damaged = tmp_path / "damaged.hwt"
    for size in (0, 100, 4096, len(whole) // 2, len(whole) - 1):
        damaged.write_bytes(whole[:size])
        done = hw("push", "--to", server.url, damaged)
        assert done.returncode == 2 or "the recording is not complete" in done.stderr, (size, done.stderr)
    for place in range(4096, len(whole), len(whole) // 20):
        damaged.write_bytes(whole[:place] + bytes(byte ^ 0x55 for byte in whole[place:place + 64]) + whole[place + 64:])
        assert hw("push", "--to", server.url, damaged).returncode in (0, 2)


def test_a_server_that_never_answers(hw, trace):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        done = hw("push", "--to", f"http://127.0.0.1:{silent.getsockname()[1]}", "--within", "1s", trace)
    assert done.returncode == 2 and "timed out" in done.stderr.lower()


def test_nobody_listens(hw, trace):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        done = hw("push", "--to", url, "--within", "1s", trace)
    assert done.returncode == 2 and f"cannot send to {url}: " in done.stderr and "(tried 2 times)" in done.stderr
    assert "connect" in done.stderr.lower()


def test_no_such_host(hw, trace):
    done = hw("push", "--to", "http://user:secret@no-such-host.invalid", "--within", "100ms", trace)
    assert done.returncode == 2 and "cannot send to no-such-host.invalid: " in done.stderr
    assert "resolve" in done.stderr.lower() and "secret" not in done.stderr


def test_a_certificate_that_nobody_signed(serve, hw, trace, tmp_path):
    made = subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=127.0.0.1", "-days", "2",
                           "-keyout", tmp_path / "key", "-out", tmp_path / "cert"], capture_output=True)
    if made.returncode:
        pytest.skip("openssl is not installed")
    server = serve()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert", tmp_path / "key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    done = hw("push", "--to", server.url.replace("http:", "https:"), trace)
    assert done.returncode == 2 and "certificate" in done.stderr and "tried" not in done.stderr and not server.requests


@pytest.mark.parametrize("options, why", [
    ([], "push needs --to URL"),
    (["--to", "pyroscope:4040"], "is no address of a server"),
    (["--to", "ftp://host"], "is no address of a server"),
    (["--to", "http://"], "is no address of a server"),
    (["--to", "http://host/?a=b"], "is no address of a server"),
    (["--to", "http://host", "--name", "a{b=c}"], "is no name of an application"),
    (["--to", "http://host", "--name", ""], "is no name of an application"),
    (["--to", "http://host", "--label", "ci"], "is no label"),
    (["--to", "http://host", "--label", "1a=b"], "is no label"),
    (["--to", "http://host", "--label", "a-b=c"], "is no label"),
    (["--to", "http://host", "--label", "a=b,c=d"], "is no label"),
    (["--to", "http://host", "--label", "a="], "is no label"),
    (["--to", "http://host", "--within", "0"], "--within must be more than 0"),
    (["--to", "http://host", "--token", "/nowhere"], "--token: /nowhere: cannot be opened"),
    (["--to", "http://host", "--token", "/dev/null"], "must have one line"),
    (["--to", "http://host", "second.hwt"], "one too many"),
])
def test_wrong_options(hw, trace, options, why):
    done = hw("push", *options, trace)
    assert done.returncode == 2 and why in done.stderr, done.stderr


def test_no_recording(hw, tmp_path):
    done = hw("push", "--to", "http://host", tmp_path / "none.hwt")
    assert done.returncode == 2 and "none.hwt" in done.stderr


def test_other_commands_do_not_load_the_library(build):
    """It needs many others, which would make each start slower."""
    done = subprocess.run(["ldd", build / "bin/heapwright"], capture_output=True, text=True, check=True)
    assert "curl" not in done.stdout and "ssl" not in done.stdout
