"""test_security.py - the live server answers only to those who have the address that it printed, and stays within its limits"""

import json
import os
import signal
import socket
import threading

import pytest
from live_page import half_closed


@pytest.fixture
def viewer(program, view):
    return view(program.trace)


PATHS = ("/", "/document", "/report.json", "/report.html", "/stacks.csv")
ORDERS = ("/now", "/on", "/off", "/mark", "/save")


@pytest.mark.parametrize("path", PATHS)
def test_the_token_is_needed(viewer, path):
    assert viewer.ask(path)[0] == 200
    for token in ("", "0" * len(viewer.token), viewer.token[:-1], viewer.token + "0", viewer.token.upper() + "%20"):
        assert viewer.ask(path, token=token)[0] == 403


@pytest.mark.parametrize("path", ORDERS)
def test_orders_need_the_token_and_this_page(viewer, path):
    for method in ("GET", "PUT", "HEAD"):
        assert viewer.ask(path, method=method)[0] == 405
    assert viewer.ask(path, method="POST", token="0" * 32)[0] == 403
    assert viewer.ask(path, method="POST", host="evil.example")[0] == 403
    assert viewer.ask(path, method="POST", headers={"Origin": "http://evil.example"})[0] == 403
    report = viewer.report()
    assert "silences" not in json.dumps(report.get("marks", []))
    assert not report.get("marks") and not report["images"][0]["silences"]
    assert viewer.ask(path, method="POST")[0] == 200


def test_a_mark_has_a_limit(viewer):
    assert viewer.ask("/mark?text=" + 1024 * "x", method="POST")[0] == 200
    assert viewer.ask("/mark?text=" + 1025 * "x", method="POST")[0] == 414


@pytest.mark.parametrize("path", PATHS)
def test_another_name_of_this_host_is_refused(viewer, path):
    """A page of another site whose name is made to mean this machine (DNS rebinding) has that name as its host."""
    port = viewer.host.rpartition(":")[2]
    assert viewer.ask(path, host=f"localhost:{port}")[0] == 200
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", f"127.0.0.1:{port}0", f"127.0.0.1:{port}@evil.example"):
        assert viewer.ask(path, host=host)[0] == 403


def test_a_client_that_sends_no_more_gets_its_answer(viewer):
    analyst = viewer.analyst()
    os.kill(analyst, signal.SIGSTOP)
    with half_closed(viewer.host, f"/report.json?token={viewer.token}") as read:
        assert viewer.ask("/")[0] == 200
        os.kill(analyst, signal.SIGCONT)
        answer = read()
    assert answer.startswith(b"HTTP/1.1 200 ") and json.loads(answer.partition(b"\r\n\r\n")[2])["command"]


def test_pages_of_other_origins_are_refused(viewer):
    assert viewer.ask("/document", headers={"Origin": f"http://{viewer.host}"})[0] == 200
    for origin in ("http://evil.example", f"https://{viewer.host}", "null", "http://127.0.0.1", f"http://192.0.2.1:{viewer.host.rpartition(':')[2]}"):
        assert viewer.ask("/document", headers={"Origin": origin})[0] == 403


@pytest.mark.parametrize("address, host", [("0.0.0.0", "127.0.0.1"), ("127.0.0.1", "127.0.0.1"), ("::1", "[::1]"), ("::", "[::1]")])
def test_at_another_address(program, view, address, host):
    if ":" in address and not socket.has_dualstack_ipv6():
        pytest.skip("this machine has no IPv6")
    viewer = view("--address", address, program.trace)
    assert viewer.host.rpartition(":")[0] == host
    assert viewer.ask("/document")[0] == 200
    assert viewer.ask("/document", token="0" * len(viewer.token))[0] == 403
    port = viewer.host.rpartition(":")[2]
    assert viewer.ask("/document", host=f"192.0.2.7:{port}")[0] == 200  # the machine may have any address
    assert viewer.ask("/document", host=f"evil.example:{port}")[0] == 403
    viewer.process.terminate()
    is_public = address in ("0.0.0.0", "::")
    assert viewer.process.stderr.read().count("other machines can reach the page") == is_public


def test_what_is_no_address(program, hw):
    for address in ("localhost", "evil.example", "", "127.0.0.1:80", "1.2.3"):
        done = hw("live", "--address", address, program.trace)
        assert (done.returncode, done.stdout) == (2, "")
        assert f"'{address}' is no IP address" in done.stderr


def test_answers_are_for_this_page_alone(viewer):
    for path in PATHS:
        _, headers, _ = viewer.ask(path)
        assert headers["Cache-Control"] == "no-store"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert "Access-Control-Allow-Origin" not in headers
    page = viewer.ask("/")[2].decode()
    assert "default-src 'none'; connect-src 'self';" in page


@pytest.mark.parametrize("path", ["/../../etc/passwd", "/etc/passwd", "//etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/document/..", "/Document"])
def test_no_file_can_be_read(viewer, path):
    status, _, body = viewer.ask(path)
    assert status == 404
    assert b"root:" not in body


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "HEAD", "OPTIONS", "TRACE", "NONSENSE"])
def test_other_methods_are_refused(viewer, method):
    assert viewer.ask("/document", method=method)[0] in (400, 405, 501)


def connect(viewer):
    host, _, port = viewer.host.partition(":")
    return socket.create_connection((host, int(port)), timeout=30)


def test_half_requests_and_slow_clients_stop_nobody(viewer):
    held = []
    for bytes_sent in (b"", b"GET", b"GET /document?token=", b"GET / HTTP/1.1\r\nHost: ", b"\x00\xff" * 100, b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 100):
        held.append(connect(viewer))
        held[-1].sendall(bytes_sent)
    assert viewer.ask("/document")[0] == 200
    for connection in held:
        connection.close()
    assert viewer.ask("/document")[0] == 200


def test_a_long_header_is_refused(viewer):
    with connect(viewer) as connection:
        try:
            connection.sendall(b"GET / HTTP/1.1\r\nX: " + b"y" * (1 << 20) + b"\r\n\r\n")
            assert b" 200 " not in connection.recv(1000)
        except (BrokenPipeError, ConnectionResetError):
            pass
    assert viewer.ask("/document")[0] == 200


def test_connections_without_the_token_shut_nobody_out(viewer):
    """They send something again and again, but no request with the token."""
    held, is_over = [connect(viewer) for _ in range(200)], threading.Event()

    def send():
        while not is_over.wait(0.5):
            for connection in held:
                try:
                    connection.send(b"G")
                except OSError:
                    pass  # closed

    sender = threading.Thread(target=send)
    sender.start()
    try:
        for _ in range(3):
            assert viewer.ask("/document")[0] == 200
    finally:
        is_over.set()
        sender.join()
    for connection in held:
        connection.close()


def test_many_connections(viewer):
    """More than the server takes at once: the others wait or are closed, and it goes on."""
    for _ in range(3):
        held = []
        for _ in range(3500):
            try:
                held.append(connect(viewer))
            except OSError:
                break
        for connection in held:
            connection.close()
    assert viewer.ask("/document")[0] == 200
