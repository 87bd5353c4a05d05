"""test_within.py - a program that starts the live view of itself: it gets its page, and is not disturbed otherwise"""

import errno
import os
import shutil
import signal
import socket
import subprocess
from pathlib import Path

import pytest
from live_browser import NEEDS_BROWSER, Browser
from live_page import Page
from machine import only_x86_64
from waiting import has_ended, wait_until

ROOT = Path(__file__).resolve().parents[2]
SOURCE = Path(__file__).parent / "programs/within.c"
LANGUAGES = {
    "c": ["gcc", "-std=c17", "-D_GNU_SOURCE="],
    "cxx": ["g++", "-std=c++17", "-x", "c++"],
}
FLAGS = ["-O1", "-g", "-fno-builtin", "-pthread", "-Wall", "-Wextra", "-Wshadow", "-Wpedantic", "-Werror", f"-I{ROOT}/include", str(SOURCE)]


def compiled(folder, language, *flags, name="within"):
    subprocess.run([*LANGUAGES[language], *FLAGS, "-o", folder / name, *map(str, flags)], check=True)
    return folder / name


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("within")


@pytest.fixture(scope="module")
def linked(folder, build):
    return compiled(folder, "c", f"-L{build}/lib", "-lheapwright-record", f"-Wl,-rpath,{build}/lib", name="linked")


@pytest.fixture(scope="module")
def alone(folder):
    """It has no recorder."""
    return compiled(folder, "c", name="alone")


class Within:
    """A program that does what it is told."""

    def __init__(self, program, trace, **environment):
        self.trace = trace
        given = {**os.environ, "HEAPWRIGHT_OUTPUT": str(trace), **environment}
        self.process = subprocess.Popen([program], text=True, env=given, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)

    def tell(self, line):
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def start(self, address="-", port=0):
        """The result of hw_live_start, and the page."""
        result, url = self.tell(f"start {address} {port}").split(maxsplit=1)
        return int(result), None if url == "none" else Page(url)

    def servers(self):
        """The process IDs of the server and its analyst: that of the server is first."""
        return sorted(pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if self.is_server(pid))

    def server(self):
        return self.servers()[0]

    def is_server(self, pid):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
        except OSError:
            return False
        return words[:2] == ["heapwright", "live"] and str(self.trace) in words and not has_ended(pid)

    def end(self):
        """What it wrote to standard error."""
        self.process.stdin.close()
        said = self.process.stderr.read()
        assert self.process.wait(60) == 0
        return said


@pytest.fixture
def within(tmp_path):
    """within(program): starts it. It is ended after the test, and so is its server."""
    made = []

    def run(program, **environment):
        made.append(Within(program, tmp_path / f"{len(made)}.hwt", **environment))
        return made[-1]

    yield run
    for program in made:
        program.process.kill()
        program.process.wait()
        for pid in program.servers():
            os.kill(pid, signal.SIGKILL)


def follows(program, page):
    """The page shows what the program does."""
    before = wait_until(lambda: page.report())["live_bytes_at_end"]
    program.tell("10")
    wait_until(lambda: page.report()["live_bytes_at_end"] >= before + 10000)
    return True


# --- the page ---


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_linked_program_has_a_page(within, tmp_path, build, language):
    program = within(compiled(tmp_path, language, f"-L{build}/lib", "-lheapwright-record", f"-Wl,-rpath,{build}/lib"))
    result, page = program.start()
    assert result == 0
    assert follows(program, page)
    assert page.host.startswith("127.0.0.1:")
    assert b"<html" in page.ask("/")[2]
    assert page.ask("/", token="0" * len(page.token))[0] == 403
    assert program.end() == f"heapwright: live at {page.url}\n"
    wait_until(lambda: page.ask("/document")[1]["Heapwright-State"] == "over")


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_preloaded_program_has_a_page(within, tmp_path, recorder, language):
    program = within(compiled(tmp_path, language), LD_PRELOAD=str(recorder))
    result, page = program.start()
    assert result == 0
    assert follows(program, page)


def test_a_recorded_program_has_a_page(tool, alone, tmp_path):
    """The server follows the recording of `heapwright record`, and ends when that is complete."""
    trace = tmp_path / "run.hwt"
    done = subprocess.run([tool, "record", "-q", "-o", trace, "--", alone], input="start - 0\n10\nchildren\n", capture_output=True, text=True,
                          timeout=120)
    assert done.returncode == 0
    assert done.stdout.startswith("0 http://127.0.0.1:")
    assert done.stdout.endswith(f"done\n-1 {errno.ECHILD} signals 0\n")


def without(program):
    assert program.start() == (errno.ENOTSUP, None)
    for words, answer in (("stop", "none"), ("reset", "done"), ("url", "none"), ("5", "done")):
        assert program.tell(words) == answer
    assert program.end() == ""
    assert not program.trace.exists()


def test_without_a_recorder_nothing_happens(within, alone):
    without(within(alone))


def test_a_static_program_has_no_recorder(within, tmp_path, recorder):
    without(within(compiled(tmp_path, "c", "-static"), LD_PRELOAD=str(recorder)))


def test_the_calls_compile_to_nothing(within, tmp_path):
    without(within(compiled(tmp_path, "cxx", "-DHW_MONITOR_OFF")))


def test_a_program_that_cannot_be_recorded(within, linked):
    """The folder of its trace is not there."""
    program = within(linked, HEAPWRIGHT_OUTPUT="/nonexistent/run.hwt")
    assert program.start() == (errno.ENOTSUP, None)


def test_a_quiet_program(within, linked):
    program = within(linked, HEAPWRIGHT_QUIET="1")
    assert program.start()[0] == 0
    assert program.tell("stop") == "none"
    assert program.start("nonsense")[0] == errno.EINVAL
    assert program.end() == ""


def test_reset_is_a_mark(within, linked):
    program = within(linked)
    page = program.start()[1]
    program.tell("reset")
    marks = wait_until(lambda: page.report().get("marks"))
    assert [mark["text"] for mark in marks] == ["heapwright: reset"]


@NEEDS_BROWSER
def test_pages_count_from_a_reset(within, linked):
    program = within(linked)
    page = program.start()[1]
    Browser("reset.mjs", page.url).obey(program.tell)


def test_heaps_of_the_program_are_shown(within, linked):
    program = within(linked)
    page = program.start()[1]
    program.tell("heap")
    wait_until(lambda: page.report().get("heaps"))
    wait_until(lambda: page.report()["heaps"][0]["free_calls"])
    (heap,) = page.report()["heaps"]
    assert (heap["name"], heap["live_bytes_at_end"], heap["allocation_calls"], heap["free_calls"]) == ("arena", 600, 2, 1)
    assert "arena" in str(page.json("/document")["heaps"])


# --- the program is not disturbed ---


def test_the_server_is_no_child(within, linked):
    program = within(linked)
    nothing = f"-1 {errno.ECHILD} signals 0"
    for _ in range(3):
        page = program.start()[1]
        assert program.tell("children") == nothing
        assert follows(program, page)
        assert program.tell("stop") == "none"
        assert program.tell("children") == nothing


def test_no_descriptor_goes_either_way(within, linked, tmp_path):
    program = within(linked)
    program.tell(f"open {tmp_path}/open-file")
    before = program.tell("descriptors")
    program.start()
    assert program.tell("descriptors") == before
    for pid in wait_until(lambda: len(program.servers()) == 2 and program.servers()):
        names = [os.readlink(link) for link in Path(f"/proc/{pid}/fd").iterdir()]
        assert not [name for name in names if "open-file" in name]
        own = {os.readlink(f"/proc/{program.process.pid}/fd/{fd}") for fd in (0, 1, 2)}
        assert not own & set(names)


def test_the_server_has_a_session_and_signals_of_its_own(within, linked):
    program = within(linked)
    program.tell("signals")
    assert program.start()[0] == 0
    server = program.server()
    assert os.getsid(server) == server
    status = dict(line.split(":\t", 1) for line in Path(f"/proc/{server}/status").read_text().splitlines() if ":\t" in line)
    assert int(status["SigIgn"], 16) == 1 << (signal.SIGPIPE - 1)
    ends = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    assert int(status["SigBlk"], 16) & ~sum(1 << (number - 1) for number in ends) == 0


def test_the_server_is_not_recorded(within, alone, recorder):
    program = within(alone, LD_PRELOAD=str(recorder), HEAPWRIGHT_DEPTH="100", STAYS="1")
    assert program.start()[0] == 0
    variables = Path(f"/proc/{program.server()}/environ").read_bytes().decode().split("\0")
    assert "STAYS=1" in variables
    assert not [variable for variable in variables if variable.startswith(("LD_PRELOAD=", "HEAPWRIGHT_"))]
    assert str(recorder) not in Path(f"/proc/{program.server()}/maps").read_text()


def test_the_server_may_use_all_processors(within, linked):
    program = within(linked)
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(program.process.pid, {min(allowed)})
    real_time = os.sched_param(1)
    try:
        os.sched_setscheduler(program.process.pid, os.SCHED_FIFO, real_time)
    except PermissionError:
        pass
    assert program.start()[0] == 0
    assert os.sched_getaffinity(program.server()) == allowed
    assert os.sched_getscheduler(program.server()) == os.SCHED_OTHER


def test_while_threads_run(within, linked):
    program = within(linked)
    program.tell("threads")
    for _ in range(5):
        result, page = program.start()
        assert result == 0
        assert page.ask("/")[0] == 200
        assert program.tell("stop") == "none"


@only_x86_64("a time stamp counter that a program can forbid itself")
def test_a_program_without_the_time_stamp_counter(within, linked):
    program = within(linked)
    assert program.tell("no-tsc") == "0"
    result, page = program.start()
    assert result == 0
    assert follows(program, page)


def test_a_program_that_takes_in_orphans(within, linked):
    """The server becomes a child of such a program, and is reaped when it is stopped."""
    program = within(linked)
    assert program.tell("subreaper") == "0"
    assert program.start()[0] == 0
    assert program.tell("stop") == "none"
    assert program.tell("children").startswith(f"-1 {errno.ECHILD} ")


def test_a_forked_child_has_no_server(within, linked):
    program = within(linked)
    first = program.start()[1]
    assert program.tell("fork") == "none"
    assert program.tell("stop") == "none"  # not the parent's
    assert follows(program, first)
    result, second = program.start()
    assert result == 0
    assert second.host != first.host
    assert follows(program, second)


# --- the end ---


def test_the_server_ends_with_the_program(within, linked):
    """No page was opened."""
    program = within(linked)
    program.start()
    server = program.server()
    program.end()
    wait_until(lambda: has_ended(server))


def test_a_killed_program_does_not_leave_its_server(within, linked):
    program = within(linked)
    program.start()
    servers = wait_until(lambda: len(program.servers()) == 2 and program.servers())
    program.process.kill()
    wait_until(lambda: all(map(has_ended, servers)))


@pytest.fixture
def other_place(tmp_path, recorder):
    """The recorder alone, in a place without the tool."""
    (tmp_path / "place/lib").mkdir(parents=True)
    return shutil.copy(recorder, tmp_path / "place/lib/libheapwright-record.so")


def write_tool(path, text):
    path.parent.mkdir()
    path.write_text(f"#!/bin/bash\n{text}\n")
    path.chmod(0o755)
    return path.parent


def test_an_open_page_keeps_the_server_for_a_while(within, alone, other_place, tmp_path, tool):
    """The tool is one that waits for a second, not for a minute."""
    program = within(alone, LD_PRELOAD=other_place,
                     PATH=str(write_tool(tmp_path / "tools/heapwright", f'exec -a heapwright {tool} live --within=3s "${{@:3}}"')))
    page = program.start()[1]
    assert follows(program, page)
    server = program.server()
    program.process.kill()
    wait_until(lambda: page.ask("/document")[1]["Heapwright-State"] == "over")
    assert page.report()["live_bytes_at_end"] >= 10000
    wait_until(lambda: has_ended(server))


def test_stop_and_start(within, linked):
    program = within(linked)
    page = program.start()[1]
    port = int(page.host.rpartition(":")[2])
    servers = wait_until(lambda: len(program.servers()) == 2 and program.servers())
    assert program.tell("stop") == "none"
    assert has_ended(servers[0])
    wait_until(lambda: has_ended(servers[1]))
    result, again = program.start("127.0.0.1", port)
    assert (result, again.host) == (0, page.host)
    assert again.token != page.token
    assert follows(program, again)


def a_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


def test_a_program_that_starts_again_gets_its_port(within, linked, tmp_path):
    """A page of the earlier run is open, and goes on with the new one."""
    (tmp_path / "runtime").mkdir()
    port = a_port()
    first = within(linked, XDG_RUNTIME_DIR=str(tmp_path / "runtime"))
    page = first.start("127.0.0.1", port)[1]
    assert follows(first, page)
    server = first.server()
    first.end()
    assert page.ask("/document")[0] == 200
    second = within(linked, XDG_RUNTIME_DIR=str(tmp_path / "runtime"))
    result, again = second.start("127.0.0.1", port)
    assert (result, again.url) == (0, page.url)
    assert has_ended(server)
    assert follows(second, page)
    assert not list((tmp_path / "runtime/heapwright").glob("*.wanted"))


def test_a_run_that_goes_on_keeps_its_port(within, linked, tmp_path):
    (tmp_path / "runtime").mkdir()
    port = a_port()
    first, second = (within(linked, XDG_RUNTIME_DIR=str(tmp_path / "runtime")) for _ in range(2))
    page = first.start("127.0.0.1", port)[1]
    assert second.start("127.0.0.1", port) == (errno.EADDRINUSE, None)
    assert follows(first, page)


# --- errors ---


def test_one_server_at_a_time(within, linked):
    program = within(linked)
    page = program.start()[1]
    assert program.start()[0] == errno.EALREADY
    assert program.tell("url") == page.url
    assert follows(program, page)


@pytest.mark.parametrize("address, error, reason", [
    ("127.0.0.1", errno.EADDRINUSE, "Address already in use; choose another port"),
    ("192.0.2.1", errno.EADDRNOTAVAIL, "Cannot assign requested address; choose another address"),
    ("localhost", errno.EINVAL, "'localhost' is no IP address"),
    ("1" * 100, errno.EINVAL, ""),
    ("--json", errno.EINVAL, "'--json' is no IP address"),
])
def test_where_it_cannot_listen(within, linked, address, error, reason):
    program = within(linked)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert program.start(address, taken.getsockname()[1]) == (error, None)
        assert program.start()[0] == 0
    said = program.end().splitlines()
    assert reason in said[0]
    assert "live at" in said[-1]


def test_the_tool_is_not_there(within, alone, other_place):
    program = within(alone, LD_PRELOAD=other_place, PATH="/nonexistent:.")
    assert program.start() == (errno.ENOENT, None)
    assert "add its folder to PATH" in program.end()


def test_the_tool_is_in_path(within, alone, other_place, tool):
    program = within(alone, LD_PRELOAD=other_place, PATH=f"/nonexistent:{Path(tool).parent}:/usr/bin")
    result, page = program.start()
    assert result == 0
    assert follows(program, page)


def test_a_tool_of_another_user_is_not_taken(within, alone, other_place, tool):
    """As in /tmp, where any user may make the folder bin."""
    folder = write_tool(Path(other_place).parents[1] / "bin/heapwright", "echo 42")
    if os.geteuid() == 0:
        os.chown(folder, 1, 1)
        program = within(alone, LD_PRELOAD=other_place, PATH=str(Path(tool).parent))
        assert program.start()[0] == 0
        os.chown(folder, 0, 0)
    assert within(alone, LD_PRELOAD=other_place, PATH=str(Path(tool).parent)).start()[0] == 42


@pytest.mark.parametrize("text, error", [("exit 3", errno.EIO), ("echo 'heapwright: no'; echo 5", 5), ("echo http://x", 0)])
def test_a_tool_that_answers_otherwise(within, alone, other_place, text, error):
    write_tool(Path(other_place).parents[1] / "bin/heapwright", text)
    program = within(alone, LD_PRELOAD=other_place)
    assert program.tell("start - 0") == (f"{error} http://x" if error == 0 else f"{error} none")
    assert program.tell("children") == f"-1 {errno.ECHILD} signals 0"
