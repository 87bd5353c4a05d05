"""test_serve.py - heapwright live --serve: whose figures it gives to other programs, and to whom"""

import json
import os
import resource
import shutil
import signal
import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from control_groups import LIMIT, group
from live_page import half_closed
from served import Served
from waiting import child_of, has_ended, wait_until

HERE = Path(__file__).parent
ROOT_WITHOUT_PRIVILEGES = "setpriv --bounding-set=-dac_override,-dac_read_search"
TOTALS = {"allocations_total": "allocation_calls", "frees_total": "free_calls", "allocated_bytes_total": "allocated_bytes",
          "failed_calls_total": "failed_calls", "peak_bytes": "peak_bytes"}
LIVE = {"live_bytes": "live_bytes_at_end", "live_blocks": "live_blocks_at_end"}


def pid_of(trace, hw):
    return str(hw_report(trace, hw)["images"][0]["pid"])


def hw_report(trace, hw):
    process = hw("report", "--json", "--children", trace)
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)


def catches_up(served, blocks, **labels):
    """The metrics when a process has so many live blocks."""

    def look():
        metrics = served.metrics()
        return metrics if metrics.value("live_blocks", **labels) == blocks else None

    return wait_until(look)


def live_blocks(trace, hw):
    return hw_report(trace, hw)["images"][0]["live_blocks_at_end"]


# --- figures ---


@pytest.mark.parametrize("is_open", [True, False])
def test_figures_are_those_of_the_report(serve, program, hw, is_open):
    served = serve(program.trace)
    program.tell("1000")
    program.tell("f")
    program.tell("300")
    wait_until(lambda: live_blocks(program.trace, hw) >= 300)
    image = hw_report(program.trace, hw)["images"][0]
    catches_up(served, image["live_blocks_at_end"])
    metrics = served.metrics(is_open=is_open)
    for name, key in {**TOTALS, **LIVE}.items():
        assert metrics.value(name, pid=str(image["pid"]), command="steps", recording=str(program.trace)) == image[key], name
    assert metrics.value("up") == metrics.value("recording") == metrics.value("recording_up") == 1
    assert metrics.value("lost_events_total") == metrics.value("sample_bytes") == 0
    assert metrics.value("behind_seconds") < 100
    assert metrics.value("recordings_left_out") == 0


def test_resident_memory_by_part(serve, program):
    served = serve(program.trace)
    parts = wait_until(lambda: served.metrics().find("rss_bytes"))
    assert {labels["part"] for labels, _ in parts} == {"anonymous", "file", "shmem"}
    assert sum(value for _, value in parts) > served.metrics().value("recorder_rss_bytes") > 0


def test_each_process_has_its_own_figures(serve, program):
    served = serve(program.trace)
    program.tell("50")
    program.tell("p 7000")

    def find():
        found = {labels["pid"]: value for labels, value in served.metrics().find("live_blocks")}
        return found if len(found) == 2 and max(found.values()) >= 7000 else None

    assert sorted(wait_until(find).values())[0] < 1000
    program.tell("k")
    metrics = wait_until(lambda: (lambda now: now if sorted(value for _, value in now.find("up")) == [0, 1] else None)(served.metrics()))
    assert len(metrics.find("live_blocks")) == 1
    assert max(value for _, value in metrics.find("allocations_total")) >= 7000


def test_a_pause_is_seen(serve, program, hw):
    served = serve(program.trace)
    wait_until(lambda: served.metrics().value("recording") == 1)
    assert hw("control", program.trace, "off").returncode == 0
    wait_until(lambda: served.metrics().value("recording") == 0)
    assert served.metrics().value("up") == 1


def test_the_control_group(serve, tool, compile_c, tmp_path):
    executable = compile_c(HERE / "programs/steps.c", name="steps")
    with group(f"heapwright-test-{os.getpid()}") as folder:
        script = 'echo $$ > "$0/cgroup.procs"; exec "$@"'
        command = [tool, "record", "-q", "-o", str(tmp_path / "run.hwt"), "--", str(executable)]
        with subprocess.Popen(["sh", "-c", script, folder, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            served = serve(tmp_path)
            metrics = wait_until(lambda: (lambda now: now if now.value("cgroup_bytes") else None)(served.metrics()))
            assert metrics.value("cgroup_limit_bytes") == LIMIT >= metrics.value("cgroup_bytes")
            assert metrics.value("cgroup_oom_kills_total") == 0
            process.communicate()


def test_stacks_only_when_asked(serve, program):
    served = serve(program.trace)
    program.tell("100")
    assert not served.metrics().find("stack_live_bytes")
    labels, _ = wait_until(lambda: [row for row in served.metrics("?top=3").find("stack_live_bytes") if row[1] >= 10000])[0]
    assert labels["stack"].startswith("main") and "allocate" in labels["stack"]
    assert len(served.metrics("?top=1").find("stack_live_bytes")) == 1
    assert not served.metrics().find("stack_live_bytes")


ERRORS = {"live_bytes_error": "live_bytes_at_end_error", "live_blocks_error": "live_blocks_at_end_error", "peak_bytes_error": "peak_bytes_error"}


@pytest.mark.parametrize("is_open", [True, False])
def test_estimates_have_errors(serve, start_program, hw, tmp_path, is_open):
    """Each is a gauge of its own; exact figures, such as counters, have none."""
    program = start_program(tmp_path / "run.hwt", options=["--sample=1K"])
    served = serve(program.trace)
    program.tell("20000")
    wait_until(lambda: (served.metrics().value("live_blocks") or 0) > 10000)
    wait_until(lambda: hw_report(program.trace, hw)["live_blocks_at_end"] == served.metrics().value("live_blocks"))
    report, metrics = hw_report(program.trace, hw), served.metrics("?top=2", is_open=is_open)
    assert metrics.value("sample_bytes") == 1024
    for name, key in ERRORS.items():
        assert metrics.value(name, pid=str(report["images"][0]["pid"])) == report[key] > 0, name
    assert not metrics.units.keys() & {f"heapwright_{name}" for name in ERRORS}
    assert metrics.value("allocations_total") == report["allocation_calls"]
    assert metrics.value("allocated_bytes_total") == report["allocated_bytes"]
    assert "allocation_calls_error" not in report and not metrics.find("allocations_error") and not metrics.find("allocated_bytes_error")
    (labels, error), = [row for row in metrics.find("stack_live_bytes_error") if "allocate" in row[0]["stack"]]
    assert error == pytest.approx(report["live_bytes_at_end_error"], rel=0.05)
    assert metrics.value("stack_live_blocks_error", stack=labels["stack"]) > 0


def test_exact_figures_have_no_errors(serve, program):
    metrics = wait_until(lambda: (lambda now: now if now.value("live_blocks") else None)(serve(program.trace).metrics("?top=2")))
    assert not [name for name in metrics.families if name.endswith("_error")]


def test_heaps_and_scopes(serve, tool, compile_c, tmp_path):
    """Two scopes whose paths read the same are one sample."""
    source = tmp_path / "named.c"
    source.write_text(r"""
#include <heapwright/monitor.h>
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
  static char block[64];
  void *volatile made;
  struct hw_custom_heap heap = hw_custom_heap_create("my \"heap\"\\");
  for (int i = 0; i < 3; i++) {
    hw_custom_heap_alloc(&heap, block + i, 10);
    {
      HW_SCOPE("a");
      HW_SCOPE("b");
      made = malloc(100);
    }
    {
      HW_SCOPE("a > b");
      made = malloc(1000);
    }
  }
  (void)made;
  write(1, "\n", 1);
  pause();
}
""")
    executable = compile_c(source, "-I", str(HERE.parents[1] / "include"), name="named")
    trace = tmp_path / "run.hwt"
    with subprocess.Popen([tool, "record", "-q", "-o", str(trace), "--", str(executable)], stdout=subprocess.PIPE) as process:
        try:
            process.stdout.readline()
            served = serve(trace)
            metrics = wait_until(lambda: (lambda now: now if now.value("heap_live_blocks") == 3 else None)(served.metrics()))
            heap = {"heap": 'my "heap"\\'}
            assert metrics.value("heap_live_bytes", **heap) == metrics.value("heap_peak_bytes", **heap) == 30
            assert metrics.value("heap_allocations_total", **heap) == 3
            assert metrics.value("heap_allocated_bytes_total", **heap) == 30
            assert metrics.value("scope_instances_total", scope="a > b") == 6
            assert metrics.value("scope_allocations_total", scope="a > b") == 6
            assert metrics.value("scope_allocated_bytes_total", scope="a > b") == 3300
            assert metrics.value("scope_allocated_bytes_total", scope="a") == 0
        finally:
            os.kill(child_of(process), signal.SIGKILL)  # the launcher ends with it


def test_names_are_escaped(serve, start_program, compile_c, tmp_path):
    executable = compile_c(HERE / "programs/steps.c", name="steps")
    evil = tmp_path / b'a"b\\c\nd\xff {e="f"}'.decode(errors="surrogateescape")
    shutil.copy(executable, evil)
    start_program(tmp_path / "run.hwt", evil)
    served = serve(tmp_path)
    metrics = wait_until(lambda: (lambda now: now if now.value("up") else None)(served.metrics()))
    assert metrics.find("up")[0][0]["command"].startswith('a"b\\c\nd\ufffd')


# --- whose figures ---


def test_a_folder(serve, start_program, hw, tmp_path):
    """Recordings come and go; what is no recording, or ended long ago, is not shown; nor is a copy."""
    (tmp_path / "garbage.hwt").write_bytes(os.urandom(8192))
    (tmp_path / "empty.hwt").touch()
    (tmp_path / "folder.hwt").mkdir()
    os.mkfifo(tmp_path / "fifo.hwt")
    old = start_program(tmp_path / "old.hwt")
    assert old.end() == 0
    os.utime(old.trace, (1, 1))
    recent = start_program(tmp_path / "recent.hwt")
    assert recent.end() == 0
    first = start_program(tmp_path / "first.hwt")
    assert hw("control", first.trace, "save", "-o", tmp_path / "copy.hwt").returncode == 0
    served = serve(tmp_path)

    def names():
        return {labels["recording"]: value for labels, value in served.metrics().find("up")}

    wait_until(lambda: names() == {"first.hwt": 1, "recent.hwt": 0})
    second = start_program(tmp_path / "second.hwt")
    wait_until(lambda: names() == {"first.hwt": 1, "recent.hwt": 0, "second.hwt": 1})
    before = served.metrics().value("allocations_total", recording="second.hwt")
    second.process.kill()
    second.process.wait()
    os.kill(int(pid_of(second.trace, hw)), signal.SIGKILL)
    wait_until(lambda: names()["second.hwt"] == 0)
    assert served.metrics().value("allocations_total", recording="second.hwt") >= before > 0
    (tmp_path / "recent.hwt").unlink()
    wait_until(lambda: "recent.hwt" not in names())


@pytest.mark.parametrize("goes_on", [True, False])
def test_few_files(serve, start_program, tmp_path, goes_on):
    """The server goes on if it may open fewer files than there are recordings."""
    programs = [start_program(tmp_path / f"{number}.hwt") for number in range(10)]
    for program in programs if not goes_on else []:
        assert program.end() == 0
    served = serve(tmp_path, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (32, 32)))
    metrics = wait_until(lambda: (found := served.metrics()).value("recordings_left_out") == 2 and found)
    assert len(metrics.find("recording_up")) == 8


def test_a_recording_that_may_not_be_read(tool, start_program, tmp_path):
    """As in a sidecar that runs as another user."""
    program = start_program(tmp_path / "run.hwt")
    program.trace.chmod(0)
    tmp_path.joinpath("tool").write_text(f"#!/bin/sh\nexec {'' if os.getuid() else ROOT_WITHOUT_PRIVILEGES} {tool} \"$@\"\n")
    tmp_path.joinpath("tool").chmod(0o755)
    served = Served(tmp_path / "tool", "127.0.0.1:0", tmp_path)
    try:
        wait_until(lambda: served.metrics().value("recording_up", recording="run.hwt") == 0)
        program.trace.chmod(0o600)
        wait_until(lambda: served.metrics().value("recording_up", recording="run.hwt") == 1)
    finally:
        served.end()


def test_a_name_is_used_again(serve, start_program, hw, tmp_path):
    served = serve(tmp_path)
    program = start_program(tmp_path / "run.hwt")
    one = pid_of(program.trace, hw)
    wait_until(lambda: served.metrics().value("up", pid=one) == 1)
    assert program.end() == 0
    other = pid_of(start_program(tmp_path / "run.hwt").trace, hw)
    wait_until(lambda: [(labels["pid"], value) for labels, value in served.metrics().find("up")] == [(other, 1)])


def test_all_recordings_of_the_user(serve, program):
    served = serve()
    wait_until(lambda: served.metrics().value("up", recording=str(program.trace)) == 1)


def test_a_process_and_a_command(serve, program, hw, tmp_path):
    pid = pid_of(program.trace, hw)
    wait_until(lambda: serve(pid).metrics().value("up", pid=pid) == 1)
    served = serve("-o", tmp_path / "command.hwt", "--", "/bin/sleep", "1000")
    try:
        wait_until(lambda: served.metrics().value("up", command="sleep") == 1)
    finally:
        os.kill(int(served.metrics().find("up")[0][0]["pid"]), signal.SIGKILL)


def test_one_process_of_several(serve, start_program, hw, tmp_path):
    served = serve(tmp_path)
    pids = [pid_of(start_program(tmp_path / f"{name}.hwt").trace, hw) for name in "ab"]
    wait_until(lambda: len(served.metrics().find("up")) == 2)
    assert [labels["recording"] for labels, _ in served.metrics(f"?pid={pids[1]}").find("recording_up")] == ["b.hwt"]


def test_an_analyst_that_is_killed_is_started_again(serve, program):
    served = serve(program.trace)
    wait_until(lambda: served.metrics().value("up") == 1)
    analyst = int(Path(f"/proc/{served.process.pid}/task/{served.process.pid}/children").read_text().split()[0])
    os.kill(analyst, signal.SIGKILL)
    wait_until(lambda: served.metrics().value("recording_up") == 0)
    wait_until(lambda: served.metrics().value("up") == 1)


def test_counters_do_not_decrease_when_the_server_starts_again(serve, tool, compile_c, tmp_path):
    """While a recording is read from its begin, it has no figures."""
    executable = compile_c("""
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
  for (int i = 0; i < 10000000; i++) {
    void *volatile block = malloc(10);
    free(block);
  }
  write(1, "", 1);
  pause();
}
""", name="many")
    with subprocess.Popen([tool, "record", "-q", "-o", str(tmp_path / "run.hwt"), "--", str(executable)], stdout=subprocess.PIPE) as process:
        try:
            process.stdout.read(1)
            first = serve(tmp_path)
            wait_until(lambda: (first.metrics().value("allocations_total") or 0) >= 10000000)
            counted = first.metrics().value("allocations_total")
            first.process.kill()
            second = serve(tmp_path)
            values = []
            wait_until(lambda: values.append(second.metrics().value("allocations_total")) or values[-1] is not None)
            values += [second.metrics().value("allocations_total") for _ in range(20)]
            assert set(values) - {None} == {counted}, values
        finally:
            os.kill(child_of(process), signal.SIGKILL)  # the launcher ends with it


def test_an_analyst_that_hangs(serve, start_program, tmp_path):
    """The other recordings are answered, and the server ends also while it waits."""
    one, other = start_program(tmp_path / "a.hwt"), start_program(tmp_path / "b.hwt")
    served = serve(tmp_path)
    wait_until(lambda: len(served.metrics().find("up")) == 2)
    analysts = Path(f"/proc/{served.process.pid}/task/{served.process.pid}/children").read_text().split()
    os.kill(int(analysts[0]), signal.SIGSTOP)
    for _ in range(3):
        assert sorted(value for _, value in served.metrics().find("recording_up")) == [0, 1]
    with ThreadPoolExecutor(1) as pool:
        asked = [pool.submit(served.ask, "/metrics")]

        def answers_meanwhile():
            if asked[-1].done():  # without the analyst that hangs, after a while: on a busy machine, before the other answer
                asked.append(pool.submit(served.ask, "/metrics"))
            return served.ask("/")[0] == 200 and not asked[-1].done()

        wait_until(answers_meanwhile)
        served.process.terminate()
        assert served.process.wait(60) == 0
        with pytest.raises(Exception):
            asked[-1].result()
    assert one.end() == other.end() == 0


def test_clients_that_leave(serve, start_program, tmp_path):
    """Their work is dropped: others are still served."""
    start_program(tmp_path / "a.hwt")
    served = serve(tmp_path)
    wait_until(lambda: served.metrics().find("up"))
    host, _, port = served.host.rpartition(":")
    for number in range(200):
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(f"GET /metrics?top={1 + number % 100} HTTP/1.1\r\nHost: {served.host}\r\n\r\n".encode())
    wait_until(lambda: served.ask("/metrics")[0] == 200)
    assert served.metrics().value("up") == 1


def test_a_client_that_sends_no_more_gets_its_answer(serve, program):
    served = serve(program.trace)
    wait_until(lambda: served.metrics().value("up") == 1)
    analyst = int(analysts_of(served)[0])
    os.kill(analyst, signal.SIGSTOP)
    with half_closed(served.host, "/metrics?top=1") as read, half_closed(served.host, "/debug/pprof/heap?seconds=1") as read_other:
        for _ in range(3):
            assert served.ask("/")[0] == 200  # the server is at work meanwhile
        os.kill(analyst, signal.SIGCONT)
        answer = read()
        assert answer.startswith(b"HTTP/1.1 200 ") and b"heapwright_up{" in answer
        assert read_other().startswith(b"HTTP/1.1 200 ")


def analysts_of(served):
    return Path(f"/proc/{served.process.pid}/task/{served.process.pid}/children").read_text().split()


def test_recordings_that_have_ended_need_no_process(serve, hw, tmp_path):
    for number in range(12):
        assert hw("record", "-q", "-o", tmp_path / f"{number}.hwt", "--", "cat", "/dev/null").returncode == 0
    served = serve(tmp_path)
    wait_until(lambda: len(served.metrics().find("recording_up")) == 12)
    wait_until(lambda: all(value == 1 for _, value in served.metrics().find("recording_up")) and not analysts_of(served))
    first = served.metrics()
    assert [value for _, value in first.find("up")] == [0] * 12
    calls = {labels["recording"]: value for labels, value in first.find("allocations_total")}
    assert calls["3.hwt"] == json.loads(hw("report", "--json", tmp_path / "3.hwt").stdout)["allocation_calls"]
    assert served.ask("/metrics")[2] == served.ask("/metrics")[2]
    of_one = f"pid={first.find('up')[0][0]['pid']}"
    paths = [f"/debug/pprof/heap?{of_one}", f"/debug/pprof/allocs?{of_one}", "/metrics?top=1", f"/debug/pprof/heap?seconds=1&{of_one}", "/metrics"]
    answers = {path: served.ask(path) for path in paths}
    assert [status for status, _, _ in answers.values()] == [200] * len(paths)
    wait_until(lambda: not analysts_of(served))
    assert served.metrics().find("allocations_total") == first.find("allocations_total")


def test_an_answer_has_what_was_read_so_far(serve, hw, compile_c, tmp_path):
    """Most recordings are not read yet: four are read at a time, and each of their processes is stopped but two."""
    executable = compile_c("#include <stdlib.h>\nint main(void) { for (int i = 0; i < 2000000; i++) { void *volatile block = malloc(9);"
                           " free(block); } return 0; }\n", name="many")
    for number in range(6):
        assert hw("record", "-q", "-o", tmp_path / f"{number}.hwt", "--", executable).returncode == 0
    served = serve(tmp_path)
    stopped = set()

    def stop():
        for analyst in set(analysts_of(served)) - stopped:
            os.kill(int(analyst), signal.SIGSTOP)
            stopped.add(analyst)
        return len(stopped)

    wait_until(lambda: stop() == 4)
    two = sorted(stopped)[:2]
    for analyst in two:
        os.kill(int(analyst), signal.SIGCONT)
    wait_until(lambda: stop() == 6 and not set(two) & set(analysts_of(served)))
    metrics = served.metrics(**{"X-Prometheus-Scrape-Timeout-Seconds": "1"})
    assert sorted(value for _, value in metrics.find("recording_up")) == [0, 0, 0, 0, 1, 1]
    assert [value for _, value in metrics.find("allocations_total")] == pytest.approx([2000000] * 2, rel=0.01)
    for analyst in stopped - set(two):
        os.kill(int(analyst), signal.SIGCONT)
    wait_until(lambda: len(served.metrics().find("allocations_total")) == 6 and not analysts_of(served))


def test_a_run_that_goes_on_after_all(begin, serve):
    """The first process that is recorded ends, and later another one begins."""
    process, trace = begin("sh", "-c", "cat /dev/null; read line; cat", options=("--only-process", "cat"))
    served = serve(trace)
    wait_until(lambda: [value for _, value in served.metrics().find("up")] == [0] and not analysts_of(served))
    allocations = served.metrics().value("allocations_total")
    process.stdin.write(b"\n")
    process.stdin.flush()
    wait_until(lambda: sorted(value for _, value in served.metrics().find("up")) == [0, 1])
    assert allocations in [value for _, value in served.metrics().find("allocations_total")]
    process.stdin.close()
    assert process.wait() == 0
    wait_until(lambda: [value for _, value in served.metrics().find("up")] == [0, 0] and not analysts_of(served))


def test_a_scraper_that_waits_not_so_long(serve, start_program, tmp_path):
    """It gets what has come, before another one that waits longer for the same analyst."""
    for name in "ab":
        start_program(tmp_path / f"{name}.hwt")
    served = serve(tmp_path)
    wait_until(lambda: len(served.metrics().find("up")) == 2)
    os.kill(int(analysts_of(served)[0]), signal.SIGSTOP)
    with ThreadPoolExecutor(1) as pool:
        patient = pool.submit(served.metrics, "?top=1")
        hasty = served.metrics(**{"X-Prometheus-Scrape-Timeout-Seconds": "2"})
        assert sorted(value for _, value in hasty.find("recording_up")) == [0, 1] and not patient.done()
        assert sorted(value for _, value in patient.result().find("recording_up")) == [0, 1]


def test_a_scraper_that_hardly_waits(serve, program):
    """A millisecond would be too short for any part."""
    served = serve(program.trace)
    hasty = {"X-Prometheus-Scrape-Timeout-Seconds": "0.001"}
    wait_until(lambda: [value for _, value in served.metrics(**hasty).find("recording_up")] == [1])
    program.tell("5")


def test_analysts_end_with_the_server(serve, program):
    served = serve(program.trace)
    wait_until(lambda: served.metrics().value("up") == 1)
    analyst = int(Path(f"/proc/{served.process.pid}/task/{served.process.pid}/children").read_text().split()[0])
    served.process.kill()
    wait_until(lambda: has_ended(analyst))
    program.tell("5")


# --- to whom ---


def test_the_list_of_endpoints(serve, program):
    served = serve(program.trace)
    status, headers, body = served.ask("/")
    assert status == 200 and headers["Content-Type"] == "text/plain; charset=utf-8" and b"/metrics" in body
    assert served.ask("/document")[0] == served.ask("/metrics/")[0] == 404
    for method in ("POST", "PUT", "DELETE"):
        assert served.ask("/metrics", method=method)[0] == 405


@pytest.mark.parametrize("query, says", [
    ("?top=0", "top=0: top takes a number from 1 to 100"),
    ("?top=101", "top=101: top takes a number from 1 to 100"),
    ("?top=", "top=: top takes a number from 1 to 100"),
    ("?top=-1", "top=-1: top takes a number from 1 to 100"),
    ("?top=99999999999999999999999", "top takes a number from 1 to 100"),
    ("?pid=x", "pid=x: pid takes a number from 1 to 2147483647"),
])
def test_wrong_arguments(serve, program, query, says):
    status, _, body = serve(program.trace).ask(f"/metrics{query}")
    assert status == 400 and says in body.decode()


def test_without_a_token_no_other_site_reads(serve, program):
    """A page of another site, also one whose name is made to mean this machine."""
    served = serve(program.trace)
    for host in ("evil.example", "evil.example:" + served.host.rpartition(":")[2], "127.0.0.1"):
        assert served.ask("/metrics", host=host)[0] == 403
    assert served.ask("/metrics", Origin="http://evil.example")[0] == 403
    for name in "localhost", "LOCALHOST", "LocalHost":
        assert served.ask("/metrics", host=f"{name}:" + served.host.rpartition(":")[2])[0] == 200


@pytest.mark.parametrize("address", ["127.0.0.1:0", "0.0.0.0:0", "[::]:0"])
def test_with_a_token(serve, program, tmp_path, address):
    token = "0123456789abcdef"
    (tmp_path / "token").write_text(f"{token}\n")
    served = serve("--token", tmp_path / "token", program.trace, address=address)
    for header in (None, token, f"Basic {token}", "Bearer ", f"Bearer {token}0", f"Bearer {token[:-1]}", f"Bearer {token[:-1]}0"):
        for path in ("/", "/metrics", "/nothing"):
            status, headers, body = served.ask(path, **({"Authorization": header} if header else {}))
            assert status == 401 and headers["WWW-Authenticate"] == "Bearer" and b"heapwright_" not in body
    wait_until(lambda: served.metrics(Authorization=f"Bearer {token}").value("up") == 1)
    assert served.ask("/metrics", host="node17.example:9876", Authorization=f"bearer {token}")[0] == 200
    assert served.ask("/metrics", Origin="http://evil.example", Authorization=f"Bearer {token}")[0] == 403


@pytest.mark.parametrize("arguments, says", [
    (["--serve", "0.0.0.0"], "other machines can reach this address: choose 127.0.0.1, or write a secret into a file and add --token FILE"),
    (["--serve", "[::]:9999"], "add --token FILE"),
    (["--serve", "localhost"], "'localhost' is no IP address with a port, such as 127.0.0.1:9876"),
    (["--serve", ""], "'' is no IP address"),
    (["--serve", "[::1"], "'[::1' is no IP address"),
    (["--serve", "127.0.0.1:65536"], "'127.0.0.1:65536': ports are numbers up to 65535"),
    (["--serve", "127.0.0.1:"], "'127.0.0.1:': ports are numbers"),
    (["--serve", "127.0.0.1", "--port", "5"], "write the port as in --serve 127.0.0.1:9876"),
    (["--serve", "127.0.0.1", "--text"], "--serve has no page and no text"),
    (["--serve", "127.0.0.1", "--json"], "--serve has no page and no text"),
    (["--serve", "127.0.0.1", "--pid", "5"], "leave out --pid"),
    (["--serve", "127.0.0.1", "--heap", "x"], "leave out --heap"),
    (["--token", "/dev/null"], "--token is of a server for other programs: add --serve ADDRESS"),
    (["--serve", "127.0.0.1", "--token", "/nothing"], "--token: /nothing: cannot be opened: No such file"),
    (["--serve", "127.0.0.1", "--token", "/"], "--token: /: cannot be read: Is a directory"),
    (["--serve", "127.0.0.1", "--token", "/dev/null"], "must have one line, the token"),
    (["--serve", "127.0.0.1", "/nothing/at/all"], "/nothing/at/all"),
])
def test_wrong_options(hw, arguments, says):
    process = hw("live", *arguments)
    assert process.returncode == 2 and says in process.stderr, process.stderr


@pytest.mark.parametrize("text, says", [("a b" * 10, "has a blank"), ("x" * 16 + "\ny", "must have one line"),
                                        ("x" * 300, "16 to 256 characters"), ("x" * 15, "16 to 256 characters"), ("ä" * 20, "not ASCII")])
def test_wrong_tokens(hw, tmp_path, text, says):
    (tmp_path / "token").write_text(text)
    process = hw("live", "--serve", "127.0.0.1", "--token", tmp_path / "token")
    assert process.returncode == 2 and says in process.stderr, process.stderr


def test_strangers_do_not_keep_scrapers_out(serve, program):
    """Connections that send nothing are closed."""
    served = serve(program.trace)
    host, _, port = served.host.rpartition(":")
    open_ones = [socket.create_connection((host, int(port))) for _ in range(80)]
    assert served.metrics()
    for one in open_ones:
        one.close()


def test_many_scrapers_at_once(serve, program):
    served = serve(program.trace)
    with ThreadPoolExecutor(30) as pool:
        answers = list(pool.map(lambda number: served.metrics(f"?top={1 + number % 3}"), range(90)))
    assert len(answers) == 90
