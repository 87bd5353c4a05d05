"""test_live.py - heapwright live shows what a run holds while it is recorded, and does not touch it"""

import contextlib
import http.client
import json
import os
import resource
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

from conftest import ROOT
from page_document import read_html, unpack
from trace_header import is_begun, read_header
from waiting import child_of, wait_until


HERE = Path(__file__).parent


def allocations_of(viewer):
    return viewer.report()["allocation_calls"]


def settled(viewer):
    """The report when nothing changes any more: events of the last moments are not certain yet."""
    def unchanged():
        report = viewer.report()
        time.sleep(0.5)
        return report if viewer.report()["events"] == report["events"] > 0 else None

    return wait_until(unchanged)


def test_figures_follow_the_program(program, view):
    viewer = view(program.trace)
    before = settled(viewer)
    program.tell("1000")
    wait_until(lambda: allocations_of(viewer) == before["allocation_calls"] + 1000)
    report = viewer.report()
    assert report["live_bytes_at_end"] == before["live_bytes_at_end"] + 100 * 1000
    program.tell("f")
    wait_until(lambda: viewer.report()["live_blocks_at_end"] == before["live_blocks_at_end"] - 1)
    assert viewer.report()["peak_bytes"] == report["live_bytes_at_end"]


def test_calls_of_a_sample_are_exact(start_program, tmp_path, view):
    """All calls of the threads are counted, also those of which the sample has nothing."""
    program = start_program(tmp_path / "run.hwt", options=["--sample=100M"])
    viewer = view(program.trace)
    wait_until(lambda: allocations_of(viewer) > 0)
    before = allocations_of(viewer)
    for calls in (before + 1000, before + 2000):
        program.tell("1000")
        wait_until(lambda: allocations_of(viewer) == calls)
    report = viewer.report()
    assert "allocation_calls_error" not in report and report["live_bytes_at_end_error"] == 0
    assert [(thread["allocation_calls"], thread["allocated_bytes"]) for thread in report["by_thread"]] == [(calls, report["allocated_bytes"])]


def test_a_recording_that_began_long_before(program, view):
    """All that happened in HW_LIVE_SECONDS (default: 3) before the viewer came is there. The first document may have a part of
    it, and says how far behind it is."""
    calls, end = 1, time.monotonic() + int(os.environ.get("HW_LIVE_SECONDS", "3"))
    while time.monotonic() < end or calls < 4000000:
        program.tell("100000")
        program.tell("f")
        calls += 100000
    began_ns = time.monotonic_ns()
    viewer = view(program.trace)
    _, headers, first = viewer.ask("/document")
    wait_until(lambda: viewer.report()["allocation_calls"] == calls)
    print(f"{2 * calls} events were there after {(time.monotonic_ns() - began_ns) / 1e9:.1f} s")
    report, document = viewer.report(), viewer.json("/document")
    assert (report["free_calls"], report["live_blocks_at_end"], report["peak_bytes"]) == (calls, 0, 100 * 100001)
    assert sum(document["slices"]["allocation_calls"]) == calls and document["slices"]["live_blocks"][-1] == 0
    assert json.loads(first)["run"]["allocation_calls"] == calls or int(headers["Heapwright-Behind-Ms"]) > 500
    program.tell("7")
    wait_until(lambda: viewer.report()["live_blocks_at_end"] == 7)


def test_in_the_end_it_is_the_report(program, view, hw):
    viewer = view(program.trace)
    for count in range(1, 100):
        program.tell(str(count))
    assert program.end() == 0
    wait_until(lambda: viewer.ask("/document")[1]["Heapwright-State"] == "over")
    report = json.loads(hw("report", "--json", "--children", program.trace).stdout)
    live = viewer.report()
    for found in report, live:  # times follow a clock whose rate becomes more exact
        del found["timeline"]
        for growing in found["growing"]:
            del growing["from_ns"], growing["to_ns"], growing["bytes_per_hour"]
    assert live == report
    once = hw("live", "--json", program.trace)
    assert once.returncode == 0
    assert once.stdout == hw("report", "--json", "--children", program.trace).stdout


def test_the_document_has_the_same_figures_along_time(program, view, hw):
    viewer = view(program.trace)
    for _ in range(20):
        program.tell("50")
        time.sleep(0.02)
    program.tell("f")
    assert program.end() == 0
    wait_until(lambda: viewer.ask("/document")[1]["Heapwright-State"] == "over")
    document = viewer.json("/document")
    report = json.loads(hw("report", "--json", "--children", program.trace).stdout)
    slices = document["slices"]
    assert sum(slices["allocation_calls"]) == report["allocation_calls"]
    assert sum(slices["free_calls"]) == report["free_calls"]
    assert sum(slices["allocated_bytes"]) == report["allocated_bytes"]
    assert slices["live_bytes"][-1] == report["live_bytes_at_end"]
    assert max(slices["max_bytes"]) == report["peak_bytes"]


def test_documents_say_how_old_their_figures_are(program, view):
    viewer = view(program.trace)
    assert int(viewer.ask("/document")[1]["Heapwright-Behind-Ms"]) > 0
    program.end()
    wait_until(lambda: viewer.ask("/document")[1]["Heapwright-State"] == "over")
    assert viewer.ask("/document")[1]["Heapwright-Behind-Ms"] == "0"


def test_the_reason_is_reported_if_no_document_can_be_made(program, view):
    viewer = view(program.trace)
    resource.prlimit(viewer.analyst(), resource.RLIMIT_NOFILE, (3, 3))
    status, _, body = viewer.ask("/report.json")
    assert status == 503
    assert b"cannot start a process that writes the document: Too many open files" in body


def test_a_killed_program_shows_its_last_state(program, view):
    viewer = view(program.trace)
    program.tell("500")
    pid = settled(viewer)["pid"]
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: viewer.ask("/document")[1]["Heapwright-State"] == "over")
    report = viewer.report()
    assert report["live_bytes_at_end"] >= 500 * 100
    program.process.wait(60)
    assert viewer.report()["live_bytes_at_end"] == report["live_bytes_at_end"]


def test_a_killed_viewer_leaves_the_program_alone(program, view):
    viewer = view(program.trace)
    viewer.report()
    viewer.process.kill()
    viewer.process.wait()
    program.tell("10")
    again = view(program.trace)
    before = settled(again)["allocation_calls"]
    program.tell("10")
    wait_until(lambda: allocations_of(again) == before + 10)
    assert program.end() == 0


def test_processes_come_and_go(program, view):
    viewer = view(program.trace)
    first = settled(viewer)
    base = first["allocation_calls"]
    for _ in range(50):
        program.tell("p 20")
    wait_until(lambda: allocations_of(viewer) >= base + 50 * 20)
    children = {image["pid"] for image in viewer.report()["images"]} - {first["pid"]}
    assert len(children) >= 50
    for pid in children:
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: viewer.json("/document")["slices"]["live_bytes"][-1] < 50 * 20 * 100)
    program.tell("30")
    wait_until(lambda: allocations_of(viewer) >= base + 50 * 20 + 30)


def test_a_process_that_begins_after_a_quiet_time(program, view):
    """The folder of its trace was not read for long, since it did not change."""
    viewer = view(program.trace)
    program.tell("p 20")
    wait_until(lambda: allocations_of(viewer) >= 21)
    os.utime(f"{program.trace}.children", (1, 1))
    settled(viewer)
    program.tell("p 30")
    wait_until(lambda: allocations_of(viewer) >= 51)
    assert len(viewer.report()["images"]) == 3


def test_programs_that_are_not_recorded_are_reported(tool, tmp_path, view):
    trace = tmp_path / "unseen.hwt"
    process = subprocess.Popen([tool, "record", "-q", "-o", str(trace), "--", "sh", "-c", "read line; env -i true; read line"], text=True,
                               stdin=subprocess.PIPE)
    wait_until(lambda: is_begun(trace))
    viewer = view(trace)
    assert viewer.report()["unseen_programs"] == []
    process.stdin.write("go on\n")
    process.stdin.flush()
    wait_until(lambda: [program["program"] for program in viewer.report()["unseen_programs"]] == ["true"])
    process.stdin.close()
    process.wait(60)


def test_more_processes_than_descriptors(program, view, hw):
    """Those that cannot be opened are read when others have ended."""
    processes = 80
    for _ in range(processes):
        program.tell("p 20")
    viewer = view(program.trace, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (30, 50)))
    main, *children = [image["pid"] for image in settled(viewer)["images"]]
    assert 5 < len(children) < processes
    ended = set()

    def all_are_read():
        """Ends those that are read, so that others can be."""
        read = {image["pid"] for image in viewer.report()["images"]} - {main}
        for pid in read - ended:
            os.kill(pid, signal.SIGKILL)
        ended.update(read)
        return len(ended) == processes

    wait_until(all_are_read)
    assert program.end() == 0
    wait_until(lambda: viewer.ask("/document")[1]["Heapwright-State"] == "over")
    live, report = viewer.report(), json.loads(hw("report", "--json", "--children", program.trace).stdout)
    for figure in ("allocation_calls", "free_calls", "allocated_bytes", "live_bytes_at_end", "unreadable_images", "events"):
        assert live[figure] == report[figure], figure


def test_by_process_and_without_a_name(program, view, hw):
    report = view(program.trace).report()
    assert view(report["pid"]).report()["pid"] == report["pid"]

    def is_newest():  # another test may record something meanwhile, and remove it
        with contextlib.suppress(AssertionError):
            viewer = view()
            found = viewer.report()
            viewer.end()
            return found["images"][0]["start_realtime_ns"] >= report["images"][0]["start_realtime_ns"]
        return False

    wait_until(is_newest)
    refused = hw("live", "1")
    assert refused.returncode == 2
    assert "process 1" in refused.stderr


def test_a_process_that_has_not_begun_is_waited_for(program, view, hw, compile_c):
    environment = dict(word.split("=", 1) for word in Path(f"/proc/{read_header(program.trace).pid}/environ").read_text().split("\0") if word)
    steps = str(compile_c(HERE / "programs/steps.c", name="steps"))
    told, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.read(told, 1)
        os.dup2(told, 0)
        os.execve(steps, [steps], environment)
    viewer = view("--pid", pid, program.trace)
    refused = hw("live", "--json", "--pid", pid, program.trace)
    assert refused.returncode == 2
    assert f"no process {pid} belongs to this run" in refused.stderr
    answers = []
    asking = threading.Thread(target=lambda: answers.append(viewer.report()))
    asking.start()
    os.write(tell, b"go on")
    asking.join()
    assert [image["pid"] for image in answers[0]["images"]] == [pid]
    os.write(tell, b"\n30\n")
    wait_until(lambda: allocations_of(viewer) >= 30)
    os.close(tell)
    os.close(told)
    os.waitpid(pid, 0)


def test_a_process_that_never_began_is_not_waited_for(program, view):
    assert program.end() == 0
    status, _, body = view("--pid", 1, program.trace).ask("/document")
    assert status == 503
    assert b"no process 1 belongs to this run" in body


def test_a_heap_that_there_is_not(compile_c, tmp_path, view, hw):
    (tmp_path / "gpu.c").write_text("#include <heapwright/monitor.h>\n#include <unistd.h>\nint main(void)\n"
                                    "{ struct hw_custom_heap gpu; sleep(1); gpu = hw_custom_heap_create(\"gpu\");\n"
                                    "  hw_custom_heap_alloc(&gpu, (void *)8, 100); sleep(2); return 0; }\n")
    program = compile_c(tmp_path / "gpu.c", f"-I{ROOT}/include", name="gpu")
    trace = tmp_path / "gpu.hwt"
    assert view("--heap", "gpu", "-o", trace, "--", program).report()["live_bytes_at_end"] in (0, 100)
    wrong = view("--heap", "cpu", trace)
    wait_until(lambda: wrong.ask("/report.json")[0] == 503)
    assert b"no heap is named 'cpu'; the recording has 'gpu'" in wrong.ask("/report.json")[2]
    refused = hw("live", "--json", "--heap", "cpu", trace)
    assert refused.returncode == 2
    assert "no heap is named 'cpu'" in refused.stderr


def test_an_event_that_comes_late_is_counted_in_its_place(compile_c, tool, tmp_path, view):
    """The block that realloc gave back was allocated again before the event of realloc was written."""
    source = HERE / "programs/late.c"
    slow = compile_c(source, "-DSLOW", "-shared", "-fPIC", name="libslow.so")
    program = compile_c(source, "-pthread", slow, f"-Wl,-rpath,{tmp_path}", name="late")
    trace = tmp_path / "late.hwt"
    process = subprocess.Popen([tool, "record", "-q", "-o", str(trace), "--", str(program)], text=True, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)
    wait_until(lambda: is_begun(trace))
    viewer = view(trace)
    assert process.stdout.readline() == "the same\n"
    wait_until(lambda: [row["bytes"] for row in viewer.report()["top"] if row["bytes"] == 100000])
    wait_until(lambda: viewer.report()["missed_frees"] == 0)
    sizes = sorted(row["live_bytes"] for row in viewer.report()["top"])
    assert sizes[-1] == 100000
    assert sizes.count(2000) == 2 or 4000 in sizes
    process.stdin.close()
    process.wait(60)


def test_no_heap_at_all(program, view):
    viewer = view("--heap", "cpu", program.trace)
    assert viewer.report()["live_bytes_at_end"] == 0
    program.end()
    wait_until(lambda: b"no heap is named 'cpu': the program reported no heaps" in viewer.ask("/report.json")[2])


def test_it_starts_a_command(tool, compile_c, tmp_path, view):
    (tmp_path / "three.c").write_text("#include <stdlib.h>\n#include <unistd.h>\nvoid *keep[3];\n"
                                      "int main(void) { for (int i = 0; i < 3; i++) keep[i] = malloc(1000); sleep(2); return 7; }\n")
    program = compile_c(tmp_path / "three.c", name="three")
    viewer = view("-o", tmp_path / "three.hwt", "--", program)
    wait_until(lambda: viewer.report()["live_bytes_at_end"] >= 3000)
    wait_until(lambda: viewer.ask("/document")[1]["Heapwright-State"] == "over")
    viewer.process.send_signal(signal.SIGINT)
    assert viewer.process.wait(60) == 7
    assert (tmp_path / "three.hwt").exists()


def test_a_command_is_recorded_with_the_options_of_record(compile_c, tmp_path, view, hw):
    (tmp_path / "three.c").write_text("#include <stdlib.h>\n#include <stdio.h>\nvoid *keep[3];\n"
                                      "int main(void) { for (int i = 0; i < 3; i++) keep[i] = malloc(1000); return getchar() == EOF; }\n")
    program, trace = compile_c(tmp_path / "three.c", name="three"), tmp_path / "three.hwt"
    viewer = view("-o", trace, "--sample", "2K", "--keep=10min", "--save-when", "rss>4K", "--env", "A=b c", "--env", "B=1", "--no-children",
                  "--no-usable", "--depth", "77", "--duration", "1.5h", "--", program, "--durations", stdin=subprocess.PIPE)
    with contextlib.closing(viewer.process.stdin):
        wait_until(lambda: (tmp_path / "three.saved-1.hwt").exists())
        launcher = next(cmdline for pid in Path(f"/proc/{viewer.process.pid}/task/{viewer.process.pid}/children").read_text().split()
                        if b"record" in (cmdline := Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")))
        assert launcher[1:-1] == [str(word).encode() for word in (
            "record", "-q", "-o", trace, "--no-children", "--depth=77", "--no-usable", "--sample=2048", "--duration=5400000000000ns",
            "--save-when=rss>4K", "--env=A=b c", "--env=B=1", "--keep=10min", "--", program, "--durations")]
        assert viewer.report()["sample_bytes"] == 2048
    wait_until(lambda: viewer.ask("/document")[1]["Heapwright-State"] == "over")
    assert json.loads(hw("report", "--json", trace).stdout)["command"].endswith("three --durations")


@pytest.mark.parametrize("options", [(), ("--sample=8K",)])
def test_a_recording_that_is_packed_meanwhile_is_followed(options, tool, compile_c, tmp_path, view, hw):
    """Chunks are packed and given back while they are read; every event counts once."""
    (tmp_path / "churn.c").write_text("""
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static void *work(void *seed)
{
  static _Thread_local void *kept[100];
  unsigned long r = (unsigned long)seed;
  for (long i = 0; i < 2000000; i++) {
    r = r * 6364136223846793005u + 1442695040888963407u;
    free(kept[(r >> 33) % 100]);
    kept[(r >> 33) % 100] = malloc(16 + (r >> 40) % 1000);
    if (i % 2000 == 0)
      usleep(1000);
  }
  return NULL;
}
int main(void)
{
  pthread_t threads[4];
  for (long i = 0; i < 4; i++)
    pthread_create(&threads[i], NULL, work, (void *)(i + 1));
  for (int i = 0; i < 4; i++)
    pthread_join(threads[i], NULL);
  return 0;
}
""")
    trace = tmp_path / "churn.hwt"
    process = subprocess.Popen([tool, "record", "-q", *options, "-o", str(trace), "--", str(compile_c(tmp_path / "churn.c", "-pthread", name="churn"))])
    wait_until(trace.exists)
    viewer = view(trace)
    seen = []
    while process.poll() is None:
        status, _, body = viewer.ask("/document")
        assert status == 200, body
        seen.append(json.loads(body)["run"]["allocation_calls"])
        time.sleep(0.1)
    assert len(set(seen)) >= 2
    assert seen == sorted(seen)
    wait_until(lambda: viewer.ask("/document")[1]["Heapwright-State"] == "over")
    live, report = viewer.report(), json.loads(hw("report", "--json", trace).stdout)
    for stack, ended in zip(live["top"], report["top"]):
        # The rate of the clock was not known so well when the first events were counted. They can also be a stack's last ones.
        for key in ("first_ns", "last_ns"):
            assert abs(stack.pop(key) - ended.pop(key)) < 1000, key
    for figure in ("allocation_calls", "free_calls", "allocated_bytes", "peak_bytes", "live_bytes_at_end", "temporary_calls", "top", "sizes", "by_thread",
                   "unmatched_frees", "damaged_chunks", "missing_chunks"):
        assert live[figure] == report[figure], figure


def test_wrong_usage(hw, program):
    for words, reason in ((("--port", "70000", program.trace), "up to 65535"), (("a", "b"), "one too many"), (("--",), "which command"),
                          (("-o", "x.hwt", program.trace), "-o names the recording of a COMMAND"), (("nothing.hwt",), "nothing.hwt"),
                          (("--json", "--", "true"), "--json"),
                          (("--sample", "64K", program.trace), "--sample is an option of the recording of a COMMAND"),
                          (("--depth", "3", "--", "true"), "--depth takes a number"),
                          (("--save-when", "rss", "--", "true"), "--save-when: "),
                          (("--sample", "--durations", "--", "true"), "exclude each other")):
        done = hw("live", *words)
        assert done.returncode == 2, words
        assert reason in done.stderr


def test_a_wrapper_that_executes_the_program_is_not_the_end(tool, compile_c, tmp_path, view):
    (tmp_path / "later.c").write_text("#include <stdlib.h>\n#include <unistd.h>\nvoid *keep[9];\nint main(void)\n"
                                      "{ sleep(1); for (int i = 0; i < 9; i++) keep[i] = malloc(1000); sleep(2); return 0; }\n")
    program = compile_c(tmp_path / "later.c", name="later")
    viewer = view("-o", tmp_path / "later.hwt", "--", "sh", "-c", f"exec /usr/bin/env A=1 {program}")
    wait_until(lambda: viewer.report()["live_bytes_at_end"] >= 9000)


def test_an_earlier_recording_of_the_name_is_not_shown(compile_c, tmp_path, view):
    (tmp_path / "two.c").write_text("#include <stdlib.h>\n#include <unistd.h>\nvoid *keep;\n"
                                    "int main(int count, char **words) { keep = malloc(strtol(words[count - 1], 0, 10)); sleep(1); }\n")
    program = compile_c(tmp_path / "two.c", name="two")
    for size in "1000", "2000":
        viewer = view("-o", tmp_path / "two.hwt", "--", program, size)
        wait_until(lambda: viewer.ask("/document")[1]["Heapwright-State"] == "over")
        assert viewer.report()["command"].endswith(f" {size}")
        viewer.end()


def test_the_present_state_can_be_interrupted(tool, program):
    process = subprocess.Popen([tool, "live", "--json", str(program.trace)], stdout=subprocess.PIPE)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) in (0, -signal.SIGTERM)
    process.stdout.close()


def test_a_process_that_goes_on_unrecorded_holds_up_nobody(recorder, compile_c, tmp_path, view):
    """Its last program is not seen, and its trace gets no more events; those of its child are shown."""
    (tmp_path / "child.c").write_text("#include <stdlib.h>\n#include <unistd.h>\nvoid *keep[9];\nint main(void)\n"
                                      "{ for (int i = 0; i < 9; i++) { sleep(1); keep[i] = malloc(1000000); } sleep(9); return 0; }\n")
    program, trace = compile_c(tmp_path / "child.c", name="child"), tmp_path / "run.hwt"
    process = subprocess.Popen(["sh", "-c", f"'{program}' & exec env -i sleep 20"],
                               env={**os.environ, "LD_PRELOAD": str(recorder), "HEAPWRIGHT_OUTPUT": str(trace)})
    wait_until(lambda: is_begun(trace))
    viewer = view(trace)
    wait_until(lambda: viewer.report()["live_bytes_at_end"] >= 9000000)
    assert viewer.ask("/document")[1]["Heapwright-State"] == "running"
    process.kill()
    process.wait()


def test_the_page_is_opened_in_the_browser(program, view, tmp_path):
    asked = tmp_path / "asked"
    (tmp_path / "xdg-open").write_text(f"#!/bin/sh\necho \"$1\" > {asked}.part && mv {asked}.part {asked}\n")
    (tmp_path / "xdg-open").chmod(0o755)
    viewer = view("--open", program.trace, env={**os.environ, "PATH": f"{tmp_path}:/usr/bin:/bin"})
    wait_until(asked.exists)
    guide = Path(asked.read_text().strip())  # not the address itself: all users see command lines
    assert viewer.url in guide.read_text() and guide.stat().st_mode & 0o777 == 0o600
    viewer.end()
    assert not guide.exists()
    none = view("--open", program.trace, env={**os.environ, "PATH": ""})
    none.process.terminate()
    assert "cannot open a browser" in none.process.stderr.read()


def test_figures_from_now_on(program, view):
    """All that was counted before is before the cut, and all else after it."""
    viewer = view(program.trace)
    program.tell("1000")
    before = settled(viewer)
    status, _, body = viewer.ask("/now", method="POST")
    assert status == 200
    cut = json.loads(body)["ns"]
    program.tell("77")
    wait_until(lambda: allocations_of(viewer) == before["allocation_calls"] + 77)
    document = viewer.json("/document")
    slices = document["slices"]
    assert cut in slices["from_ns"]
    at = slices["from_ns"].index(cut)
    assert sum(slices["allocation_calls"][:at]) == before["allocation_calls"]
    assert sum(slices["allocation_calls"][at:]) == 77
    assert slices["live_bytes"][at - 1] == before["live_bytes_at_end"]


def test_size_classes_have_exact_peaks(program, view, tmp_path, hw):
    viewer = view(program.trace)
    program.tell("300")
    program.tell("f")
    program.tell("40")
    program.end()
    wait_until(lambda: viewer.ask("/document")[1]["Heapwright-State"] == "over")
    classes = viewer.json("/document")["size_classes"]
    peaks = list(zip(unpack(classes["thread"]), unpack(classes["to"]), unpack(classes["peak_bytes"])))
    assert (0, 128, 30100) in peaks and (1, 128, 30100) in peaks
    assert hw("report", "-o", tmp_path / "page.html", program.trace).returncode == 0
    assert read_html(tmp_path / "page.html").document["size_classes"] == classes


def test_one_process_of_a_tree(program, view):
    viewer = view(program.trace)
    stdin = Path(f"/proc/{viewer.process.pid}/fd/0").readlink()
    program.tell("100")
    for _ in range(3):
        program.tell("p 7")
    wait_until(lambda: len(viewer.report()["images"]) == 4)
    first = settled(viewer)
    child = next(image["pid"] for image in first["images"] if image["pid"] != first["pid"])
    of_child = viewer.json(f"/document?pid={child}")
    assert of_child["run"]["allocation_calls"] == 7
    assert viewer.json(f"/document?pid={first['pid']}")["run"]["allocation_calls"] == 101
    assert viewer.json("/document")["run"]["allocation_calls"] == first["allocation_calls"] == 101 + 3 * 7
    program.tell("5")
    wait_until(lambda: viewer.json(f"/document?pid={first['pid']}")["run"]["allocation_calls"] == 106)
    assert viewer.json(f"/report.json?pid={child}")["allocation_calls"] == 7
    for pid in [image["pid"] for image in first["images"]] + [first["pid"]]:
        assert viewer.json(f"/document?pid={pid}")["run"]["pid"] == pid
    assert Path(f"/proc/{viewer.process.pid}/fd/0").readlink() == stdin  # nothing of the viewer's own was closed
    for pid in ("999999999", "0", "-1", "4294967296", "x", ""):
        assert viewer.ask(f"/document?pid={pid}")[0] == 404


def test_many_processes_of_a_tree(program, view):
    """More than can be looked at at once: the one that was asked longest ago makes room. Clients that have gone do not count."""
    viewer = view(program.trace)
    for _ in range(14):
        program.tell("p 3")
    wait_until(lambda: len(viewer.report()["images"]) == 15)
    children = [image["pid"] for image in viewer.report()["images"] if image["ppid"] == read_header(program.trace).pid]
    assert len(children) == 14
    for pid in children:
        with contextlib.suppress(TimeoutError), contextlib.closing(http.client.HTTPConnection(viewer.host, timeout=0.01)) as connection:
            connection.request("GET", f"/document?token={viewer.token}&pid={pid}")
            connection.getresponse()
    for pid in children:
        wait_until(lambda of=pid: viewer.ask(f"/document?pid={of}")[0] != 503)  # until it was noticed that a client has gone
        wait_until(lambda of=pid: viewer.json(f"/document?pid={of}")["run"]["allocation_calls"] == 3)


def test_all_processes_that_can_be_looked_at_are_waited_for(begin, view):
    _, trace = begin("sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do { read line </dev/null; read line; } & done; read line", options=["--no-pack"])
    viewer = view(trace)
    wait_until(lambda: len(viewer.report()["images"]) == 10)
    pids = [image["pid"] for image in viewer.report()["images"]]
    analyst = int(Path(f"/proc/{viewer.process.pid}/task/{viewer.process.pid}/children").read_text())
    with contextlib.ExitStack() as clients:
        os.kill(analyst, signal.SIGSTOP)
        clients.callback(os.kill, analyst, signal.SIGCONT)
        for pid in pids[:8]:
            client = clients.enter_context(contextlib.closing(http.client.HTTPConnection(viewer.host)))
            client.request("GET", f"/document?token={viewer.token}&pid={pid}")
        wait_until(lambda: viewer.ask(f"/document?pid={pids[8]}")[0] == 503)
        assert b"ask again later" in viewer.ask(f"/document?pid={pids[8]}")[2]
        assert viewer.ask("/document?pid=999999999")[0] == 404
    wait_until(lambda: viewer.ask(f"/document?pid={pids[8]}")[0] == 200)


def test_the_process_that_ends_last_keeps_its_blocks(program, view, hw):
    """A child is killed, and its parent ends at once: the viewer notices both ends in any order."""
    viewer = view(program.trace)
    program.tell("100")
    program.tell("p 20")
    wait_until(lambda: allocations_of(viewer) == 121)
    program.tell("k")
    assert program.end() == 0
    report = json.loads(hw("report", "--json", "--children", program.trace).stdout)
    wait_until(lambda: viewer.ask("/document")[1]["Heapwright-State"] == "over")
    slices = viewer.json("/document")["slices"]
    assert slices["live_blocks"][-1] == 101
    assert viewer.report()["live_blocks_at_end"] == report["live_blocks_at_end"]


def test_a_ring_is_followed(tool, compile_c, tmp_path, view):
    """Sections are dropped while the viewer reads: it has all events since it began, and what lived then."""
    program = compile_c(HERE.parent / "launch/programs/long_run.c", "-pthread", name="long_run")
    trace, counts = tmp_path / "ring.hwt", tmp_path / "counts"
    process = subprocess.Popen([tool, "record", "-q", "--keep", "2s", "-o", str(trace), "--", program, counts, "0", "2", "10000"])
    target = child_of(process)
    try:
        wait_until(lambda: trace.exists() and any(part_of(trace, 3920, 8)))  # the first sections were dropped
        viewer = view(trace)
        first = viewer.report()
        wait_until(lambda: viewer.report()["duration_ns"] > first["duration_ns"] + 5 * 10**9)
        report = viewer.report()
    finally:
        os.kill(target, signal.SIGKILL)
        process.wait(60)
    assert first["dropped_until_ns"] > 0
    assert [report[name] for name in ("damaged_chunks", "missing_chunks", "unmatched_frees", "missed_frees")] == [0, 0, 0, 0]
    assert report["allocation_calls"] - report["free_calls"] == report["live_blocks_at_end"]


def part_of(path, offset, count):
    with open(path, "rb") as file:
        file.seek(offset)
        return file.read(count)
