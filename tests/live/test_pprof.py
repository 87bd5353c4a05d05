"""test_pprof.py - /debug/pprof/ of a live view and of its server: profiles that go tool pprof and scrapers read

If this fails, a profile of a running program has other figures than its report, or pprof does not take it.
"""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest

from pprof_file import Pprof
from waiting import wait_until

KEYS = {"alloc_objects": "allocation_calls", "alloc_space": "allocated_bytes", "inuse_objects": "live_blocks_at_end",
        "inuse_space": "live_bytes_at_end"}
needs_go = pytest.mark.skipif(not shutil.which("go"), reason="go is not installed (golang-go)")


def report_of(hw, trace):
    done = hw("report", "--json", "--children", trace)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def settled(program, hw):
    """settled(calls): the report when it has so many calls more than at the begin."""
    first = wait_until(lambda: report_of(hw, program.trace)["allocation_calls"])

    def look(calls):
        def has_come():
            report = report_of(hw, program.trace)
            return report if report["allocation_calls"] == first + calls else None

        return wait_until(has_come)

    return look


@pytest.fixture
def read(tmp_path):
    """read(body): the profile in an answer."""

    def write(body):
        path = tmp_path / "answer.pb.gz"
        path.write_bytes(body)
        return Pprof(path)

    return write


def has_figures(profile, report):
    return all(profile.total(name) == report[key] for name, key in KEYS.items())


def go(tmp_path, *arguments):
    done = subprocess.run(["go", "tool", "pprof", "-top", "-unit", "B", *map(str, arguments)], capture_output=True, text=True,
                          env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PPROF_TMPDIR": str(tmp_path)}, timeout=100)
    assert done.returncode == 0, done.stderr
    total = re.search(r"(?:Total samples = |of )(-?[\d.]+)(?:B| total|$)", done.stdout, re.M)
    return int(total[1]) if total else 0, done.stdout


def fetch(served, path):
    status, headers, body = served.ask(path)
    assert status == 200, body
    assert headers["Content-Type"] == "application/octet-stream"
    return body


def test_profiles_have_the_figures_of_the_report(program, serve, settled, read):
    served = serve(program.trace)
    program.tell("1000")
    program.tell("f")
    program.tell("300")
    report = settled(1300)
    wait_until(lambda: has_figures(read(fetch(served, "/debug/pprof/heap")), report))
    heap, allocs = read(fetch(served, "/debug/pprof/heap")), read(fetch(served, "/debug/pprof/allocs"))
    assert heap.types == allocs.types == ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"]
    assert heap.default == "inuse_space" and allocs.default == "alloc_space"
    assert "steps" in heap.comments and not any("inuse" in comment for comment in heap.comments)
    assert has_figures(allocs, report)
    assert "make" in {name for name, _ in heap.functions.values()}
    pid = report["images"][0]["pid"]
    assert has_figures(read(fetch(served, f"/debug/pprof/heap?pid={pid}&gc=1")), report)


@needs_go
@pytest.mark.parametrize("index", KEYS)
def test_go_reads_the_url(program, serve, settled, read, tmp_path, index):
    served = serve(program.trace)
    program.tell("500")
    report = settled(500)
    wait_until(lambda: has_figures(read(fetch(served, "/debug/pprof/heap")), report))
    total, text = go(tmp_path, "-sample_index", index, f"http://{served.host}/debug/pprof/heap")
    assert total == report[KEYS[index]] and " make" in text
    assert go(tmp_path, f"http://{served.host}/debug/pprof/heap")[0] == report["live_bytes_at_end"]
    assert go(tmp_path, f"http://{served.host}/debug/pprof/allocs")[0] == report["allocated_bytes"]


@needs_go
def test_go_reads_the_page_server(program, view, settled, read, tmp_path):
    viewer = view(program.trace)
    program.tell("500")
    report = settled(500)
    wait_until(lambda: has_figures(read(viewer.ask("/debug/pprof/heap")[2]), report))
    url = f"http://{viewer.host}/debug/pprof/heap?token={viewer.token}"
    assert go(tmp_path, url)[0] == report["live_bytes_at_end"]
    assert read(viewer.ask("/debug/pprof/allocs")[2]).default == "alloc_space"
    pid = report["images"][0]["pid"]
    assert has_figures(read(viewer.ask(f"/debug/pprof/heap?pid={pid}")[2]), report)
    assert viewer.ask("/debug/pprof/heap?seconds=1")[0] == 400
    assert b"/debug/pprof/heap\n" in viewer.ask("/debug/pprof/")[2]
    assert viewer.ask("/debug/pprof/heap", token="wrong")[0] == 403


@needs_go
def test_differences(program, serve, settled, read, tmp_path):
    """What changes within a time; -base says the same of two profiles."""
    served = serve(program.trace)
    program.tell("100")
    before = settled(100)
    wait_until(lambda: has_figures(read(fetch(served, "/debug/pprof/heap")), before))
    earlier = tmp_path / "earlier.pb.gz"
    earlier.write_bytes(fetch(served, "/debug/pprof/heap"))
    answers = []
    asker = threading.Thread(target=lambda: answers.append(fetch(served, "/debug/pprof/heap?seconds=4")))
    asker.start()
    time.sleep(1.5)  # the profile of the begin was taken
    program.tell("f")
    program.tell("30")
    asker.join()
    after = settled(130)
    found = read(answers[0])
    change = {name: after[key] - before[key] for name, key in KEYS.items()}
    assert {name: found.total(name) for name in KEYS} == change
    assert change["inuse_objects"] == 30 - 101 and change["alloc_objects"] == 30
    assert found.default == "inuse_space" and found.strings[0] == ""
    assert len({tuple(locations) for locations, _ in found.samples}) == len(found.samples)  # each stack once
    later = tmp_path / "later.pb.gz"
    later.write_bytes(answers[0])
    assert re.search(r"^\s*-71(B|\b).* make", go(tmp_path, "-sample_index=inuse_objects", later)[1], re.M)
    _, text = go(tmp_path, "-sample_index=inuse_objects", "-base", earlier, f"http://{served.host}/debug/pprof/heap")
    assert re.search(r"^\s*-71(B|\b).* make", text, re.M), text
    quiet = read(fetch(served, "/debug/pprof/heap?seconds=1"))
    assert quiet.samples == [] and quiet.types == found.types


def test_long_differences_do_not_keep_scrapers_out(program, serve):
    served = serve(program.trace)
    host, _, port = served.host.rpartition(":")
    request = f"GET /debug/pprof/heap?seconds=600 HTTP/1.1\r\nHost: {served.host}\r\n\r\n".encode()
    askers = [socket.create_connection((host, int(port))) for _ in range(20)]
    for asker in askers:
        asker.sendall(request)
    askers[-1].settimeout(30)
    assert b" 503 " in askers[-1].recv(100).split(b"\r\n")[0]
    assert served.ask("/metrics")[0] == 200
    for asker in askers:
        asker.close()


def test_no_difference_is_waited_for_in_vain(start_program, serve, tmp_path):
    """There are several recordings, or there is no profile of the begin."""
    start_program(tmp_path / "a.hwt")
    served = serve(tmp_path)
    wait_until(lambda: served.metrics().value("up") == 1)
    analyst = int(Path(f"/proc/{served.process.pid}/task/{served.process.pid}/children").read_text().split()[0])
    os.kill(analyst, signal.SIGSTOP)
    status, _, body = served.ask("/debug/pprof/heap?seconds=600")
    assert (status, body) == (503, b"the process that follows the run did not answer in time")
    os.kill(analyst, signal.SIGCONT)
    start_program(tmp_path / "b.hwt")
    wait_until(lambda: len(served.metrics().find("up")) == 2)
    assert served.ask("/debug/pprof/heap?seconds=600")[0] == 409


def test_new_stacks_come_in_between(serve, start_program, compile_c, tmp_path, read, hw):
    """The profile of the begin has other strings, functions and places than that of the end."""
    source = tmp_path / "grow.c"
    source.write_text("""
        #include <stdio.h>
        #include <stdlib.h>
        #define MAKE(name, size) __attribute__((noinline)) void *name(void) { void *made = malloc(size); __asm__("" : "+r"(made)); return made; }
        MAKE(first, 1000) MAKE(second, 2000) MAKE(third, 3000)
        int main(void) {
          char line[64];
          setvbuf(stdout, NULL, _IONBF, 0);
          setvbuf(stdin, NULL, _IONBF, 0);
          for (int i = 0; fgets(line, sizeof line, stdin); i++) {
            if (i % 3 == 2) third();
            if (i % 3 >= 1) second();
            first();
            puts("done");
          }
        }""")
    program = start_program(tmp_path / "grow.hwt", compile_c(source, "-O1", "-g", name="grow"))
    served = serve(program.trace)
    wait_until(lambda: read(fetch(served, "/debug/pprof/heap")).total("alloc_space") >= 1000)
    answers = []
    asker = threading.Thread(target=lambda: answers.append(fetch(served, "/debug/pprof/heap?seconds=4")))
    asker.start()
    time.sleep(1.5)
    program.tell("x")
    program.tell("x")
    asker.join()
    found = read(answers[0])
    names = {sum(values) and found.functions[found.locations[locations[0]][1][0][1]][0]: values for locations, values in found.samples}
    assert names == {"first": [2, 2000, 2, 2000], "second": [2, 4000, 2, 4000], "third": [1, 3000, 1, 3000]}


def test_which_run(start_program, serve, read, tmp_path, hw):
    first, second = start_program(tmp_path / "one.hwt"), start_program(tmp_path / "two.hwt")
    served = serve(tmp_path)
    second.tell("50")
    status, _, body = wait_until(lambda: (found := served.ask("/debug/pprof/heap"))[0] == 409 and found)
    assert body.startswith(b"2 recordings go on; choose one by a process of it, ?pid=N (/metrics has their PIDs):\n") and b"two.hwt" in body
    pid = report_of(hw, second.trace)["images"][0]["pid"]
    wait_until(lambda: read(fetch(served, f"/debug/pprof/heap?pid={pid}")).total("inuse_objects") >= 50)
    status, _, body = served.ask("/debug/pprof/heap?pid=1")
    assert status == 404 and b"none that has this process" in body
    for wrong in ["seconds=0", "seconds=x", "seconds=99999", "pid=-1"]:
        status, _, body = served.ask(f"/debug/pprof/heap?{wrong}")
        assert status == 400 and wrong.split("=")[0].encode() in body
    listed = served.ask("/debug/pprof/")[2].decode()
    assert "/debug/pprof/heap" in listed and "/debug/pprof/allocs" in listed and "/metrics" not in listed
    assert "/debug/pprof/heap" in served.ask("/")[2].decode()
    assert first.end() == 0
