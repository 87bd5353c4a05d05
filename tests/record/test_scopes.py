"""Scopes that a program marks with heapwright/monitor.h: each call must count for the scopes that its thread was in.

If this fails, a report by scope blames the wrong part of the program, or a program that marks scopes behaves
differently.
"""

import json
import os
import re
import signal
import shutil
import subprocess

import pytest

from conftest import ROOT
from report_scopes import by_path, figures

PROGRAMS = ROOT / "tests/record/programs"
VARIANTS = {"O0": ["-O0"], "O2": ["-O2"], "lto": ["-O2", "-flto", "-fvisibility=hidden"], "no-pie": ["-O1", "-no-pie", "-fno-pie"]}
FLAGS = ["-std=c++17", "-g", "-pthread", "-fno-builtin", f"-I{ROOT}/include", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
MONITOR_OFF = "-DHW_MONITOR_OFF"


def build_program(folder, name, *flags):
    program = folder / name.replace(" ", "-")
    subprocess.run(["g++", *FLAGS, *flags, str(PROGRAMS / "scopes.cc"), "-o", str(program)], check=True)
    return program


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("scopes")


@pytest.fixture(scope="module")
def program(folder):
    return build_program(folder, "program", "-O1")


@pytest.fixture
def scopes_of(record, program):
    """scopes_of("threads"): the scopes that the program marked in this case, by path ("a > b")."""

    def run(*words, options=(), binary=None):
        recording = record([binary or program, *words])
        assert recording.process.returncode == 0 and "done" in recording.process.stdout
        return by_path(recording.report_with(*options))

    return run


def text_of(hw, recording):
    return " ".join(hw("report", "--by", "scope", recording.trace).stdout.split())


def test_calls_count_for_their_scope(scopes_of):
    scopes = scopes_of("attribute")
    region, inside = scopes["region"], scopes["region > inside"]
    assert figures(region, "allocation_calls", "free_calls", "allocated_bytes", "net_bytes", "net_blocks") == (3, 1, 1176, 1168, 2)
    assert figures(region["self"], "allocation_calls", "free_calls", "allocated_bytes", "net_bytes") == (2, 1, 32, 24)
    assert figures(inside, "allocation_calls", "free_calls", "net_bytes", "live_bytes_at_end") == (1, 0, 1144, 1144)
    assert region["max_net_bytes"] == 1168


@pytest.mark.parametrize("variant", VARIANTS)
def test_however_the_program_is_compiled(scopes_of, folder, variant):
    scopes = scopes_of("attribute", binary=build_program(folder, variant, *VARIANTS[variant]))
    assert scopes["region"]["net_bytes"] == 1168


def test_recursion_is_a_path(scopes_of):
    scopes = scopes_of("recurse")
    paths = [" > ".join(["level"] * depth) for depth in range(1, 6)]
    assert list(scopes) == paths
    assert [scopes[path]["allocated_bytes"] for path in paths] == [50, 40, 30, 20, 10]
    assert all(scopes[path]["self"]["allocated_bytes"] == 10 for path in paths)


def test_sixteen_threads(scopes_of):
    work = scopes_of("threads")["thread > work"]
    assert figures(work, "instances", "allocation_calls", "free_calls") == (1600, 1600, 800)
    assert work["allocated_bytes"] == sum(100 * 7 * (number + 1) for number in range(16))
    assert work["net_bytes"] == work["live_bytes_at_end"] == work["allocated_bytes"] // 2


def test_a_forked_child_continues_in_the_scopes(record, program):
    recording = record([program, "fork"])
    scopes = by_path(recording.report_with("--children"))
    assert scopes["outer > inner"]["allocated_bytes"] == 100 + 200 + 300 + 400
    assert scopes["outer > inner > of the child"]["allocated_bytes"] == 300
    assert scopes["outer > inner"]["instances"] == 2


def test_longjmp_leaves_scopes_open(scopes_of):
    scopes = scopes_of("longjmp")
    assert scopes["around > one > two > three"]["instances_left_open"] == 1
    assert scopes["around > one > two > three"]["allocated_bytes"] == 31
    assert scopes["around"]["instances_left_open"] == 0


def test_an_exception_ends_scopes(scopes_of):
    scopes = scopes_of("exceptions")
    assert all(scope["instances_left_open"] == 0 for scope in scopes.values())
    assert scopes["around > one > two > three"]["allocated_bytes"] >= 30
    assert scopes["around"]["self"]["allocated_bytes"] >= 1


def test_a_thread_that_exits_within(scopes_of):
    scope = scopes_of("thread exits")["never ended"]
    assert figures(scope, "instances", "instances_left_open") == (1, 1)
    assert scope["allocated_bytes"] >= 5  # pthread_exit may allocate, too


def test_unusual_names(scopes_of):
    scopes = scopes_of("names")
    assert set(scopes) == {'"quoted" \\ and <b>', "\U0001f418 emoji", "x" * 10000, ""}


def test_too_many_names_are_one(scopes_of):
    scopes = scopes_of("many names")
    assert len(scopes) == 65535
    others = scopes["(other scopes)"]
    assert others["instances"] == 70000 - 65534
    assert sum(scope["allocated_bytes"] for scope in scopes.values()) == 3 * 70000


def test_ends_of_other_scopes(scopes_of):
    """As when a coroutine is destroyed by a thread that is not inside."""
    scopes = scopes_of("wrong ends")
    assert {path: scope["self"]["allocated_bytes"] for path, scope in scopes.items() if path != "first"} == {
        "of the other thread": 1, "task": 0, "task > inside": 0, "second": 4}
    assert scopes["first"]["allocated_bytes"] >= 2
    assert [path for path, scope in scopes.items() if scope["instances_left_open"]] == ["task > inside"]


def test_a_library_that_is_closed(scopes_of, folder):
    source = folder / "library.c"
    source.write_text(
        "#include <heapwright/monitor.h>\n#include <stdlib.h>\nvoid *volatile kept;\n"
        'void use_scope(void) { HW_SCOPE("in a library"); kept = malloc(50); }\n'
    )
    library = folder / "library.so"
    subprocess.run(["gcc", "-shared", "-fPIC", f"-I{ROOT}/include", str(source), "-o", str(library)], check=True)
    scopes = scopes_of("library", library)
    assert figures(scopes["in a library"], "instances", "allocated_bytes") == (2, 100)


def test_only_the_first_instances_allocate(record, program, hw):
    recording = record([program, "warm up"])
    scope = by_path(recording.report)["cycle"]
    assert figures(scope, "instances", "allocating_instances", "last_allocating_instance") == (50, 3, 3)
    text = text_of(hw, recording)
    assert "50 instances" in text and "only the first 3 allocate" in text


def test_calls_in_a_forbidden_zone(record, program, hw):
    recording = record([program, "forbidden"])
    breaches = recording.report["forbidden"]
    found = [(breach["path"], breach["call"], breach["calls"], breach["bytes"], breach["first_instance"]) for breach in breaches]
    zone = ["around", "control"]
    assert found == [(zone, "allocation", 1, 40, 4), (zone, "free", 2, 80, 4), (zone, "allocation", 1, 100, 4)]
    assert "cycle" in breaches[0]["stack"][0]["function"] and breaches[0]["first_thread"] == "program"
    finding = next(finding for finding in recording.report["findings"] if finding["kind"] == "forbidden")
    assert (finding["allocation_calls"], finding["free_calls"], finding["first_instance"]) == (2, 2, 4)
    first_screen = " ".join(hw("report", recording.trace).stdout.split())
    assert "around > control: 2 allocations and 2 frees in a forbidden zone, first in instance 4 at" in first_screen
    text = text_of(hw, recording)
    assert "1 allocation (40 B) in around > control, first in instance 4" in text
    assert "2 frees (80 B) in around > control, first in instance 4" in text


def test_a_zone_that_keeps_its_promise_is_not_mentioned(record, program, hw):
    recording = record([program, "attribute"])
    assert "forbidden" not in recording.report
    assert "forbidden" not in hw("report", recording.trace).stdout + text_of(hw, recording)


@pytest.mark.parametrize("case, rule, status", [("forbidden", "forbidden=0", 1), ("forbidden", "forbidden=4", 0), ("forbidden", "forbidden=3", 1),
                                                ("forbidden", "forbidden(scope=around)=3", 1), ("forbidden", "forbidden(scope=inside)=0", 0),
                                                ("forbidden", "forbidden(func=main)=3", 1), ("forbidden", "forbidden(func=no_such)=0", 0),
                                                ("attribute", "forbidden=0", 0), ("forbidden", "forbidden(size=40)=0", 2)])
def test_a_budget_of_forbidden_zones(record, program, hw, case, rule, status):
    done = hw("check", record([program, case]).trace, "--max", rule)
    assert done.returncode == status, done.stdout + done.stderr


def test_a_task_moves_between_threads(scopes_of):
    scopes = scopes_of("tasks")
    assert figures(scopes["request"], "instances", "instances_left_open", "allocation_calls", "allocated_bytes") == (1, 0, 3, 307)
    assert figures(scopes["request > parse"], "instances", "instances_left_open", "allocated_bytes") == (1, 0, 300)
    assert scopes["around"]["self"]["allocated_bytes"] >= 6 and "around > request" not in scopes
    assert scopes["of the other thread"]["allocated_bytes"] == 11
    assert scopes["request"]["duration_ns"] >= scopes["of the other thread"]["duration_ns"] > 0


def test_tasks_that_are_left_without_an_end(record, program):
    recording = record([program, "lost tasks"])
    scopes = by_path(recording.report_with("--children"))
    assert figures(scopes["inner"], "allocated_bytes", "instances_left_open") == (10, 0)
    assert figures(scopes["outer"], "allocated_bytes", "instances_left_open") == (0, 1)
    assert figures(scopes["of a child"], "allocated_bytes", "instances_left_open") == (0, 0)
    assert scopes["after"]["allocated_bytes"] == 60  # of the child, which is in no scope
    assert scopes["around"]["allocated_bytes"] == 70
    assert recording.report["lost_events"] == 0


def own_bytes(scopes):
    return {path: scope["self"]["allocated_bytes"] for path, scope in scopes.items()}


def test_a_task_that_is_left_with_an_outer_one(record, program):
    recording = record([program, "left with the outer"])
    scopes = by_path(recording.report_with("--children"))
    assert own_bytes(scopes) == {"outer": 0, "inner": 4, "inner > open": 1, "of the thread": 2 + 8 + 16}
    assert figures(scopes["inner"], "instances", "instances_left_open") == (2, 0)
    assert figures(scopes["inner > open"], "instances", "instances_left_open") == (1, 1)
    assert figures(scopes["of the thread"], "instances", "instances_left_open") == (2, 1)  # the child exits within


def test_a_task_that_another_thread_finishes(scopes_of):
    scopes = scopes_of("finished elsewhere")
    assert own_bytes(scopes) == {"first": 16, "second": 1 + 2, "around": 32}
    assert all(figures(scope, "instances", "instances_left_open") == (1, 0) for scope in scopes.values())


def test_a_task_that_is_entered_twice(scopes_of):
    scopes = scopes_of("entered twice")
    assert own_bytes(scopes) == {"task": 1 + 4, "inner": 2}
    assert all(scope["instances"] == 1 for scope in scopes.values())


def test_a_thread_that_ends_in_a_task(scopes_of):
    scopes = scopes_of("thread ends in a task")
    assert figures(scopes["task"], "instances", "allocated_bytes", "instances_left_open") == (2, 100, 0)
    assert scopes["task > never ended"]["instances_left_open"] == 1


def test_a_forked_child_goes_on_with_tasks(record, program):
    recording = record([program, "fork with tasks"])
    scopes = by_path(recording.report_with("--children"))
    assert own_bytes(scopes) == {"first": 1, "first > inside": 8, "second": 4, "around": 2 + 16}
    assert figures(scopes["first > inside"], "instances", "instances_left_open") == (1, 0)


def test_scopes_while_the_recording_is_off(build, hw, program, tmp_path):
    trace = tmp_path / "switched.hwt"
    words = [build / "bin/heapwright", "record", "-q", "--trap", "-o", trace, "--", program, "off and on"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
        for switch in "off", "on":
            assert process.stdout.read(1) == b"x"
            assert hw("control", trace, switch).returncode == 0
            process.stdin.write(b"\n")
        assert process.wait(60) == 0
    report = json.loads(hw("report", "--json", trace).stdout)
    scopes = by_path(report)
    assert own_bytes(scopes) == {"task": 4, "task > zone": 0, "begun meanwhile": 2}
    assert all(figures(scope, "instances", "instances_left_open") == (1, 0) for scope in scopes.values())
    assert "forbidden" not in report


def test_more_tasks_than_a_thread_can_be_in(scopes_of):
    scopes = scopes_of("deep tasks")
    assert figures(scopes["deep"], "instances", "instances_left_open", "allocated_bytes") == (70, 0, 70)


def test_a_task_that_threads_hand_over_quickly(scopes_of):
    scopes = scopes_of("quick turns")
    assert figures(scopes["handed"], "instances", "allocation_calls", "free_calls") == (1, 40000, 40000)


def test_a_library_with_a_later_header(scopes_of, folder):
    """It finds no recorder, and must not call it for the tasks and scopes of others."""
    include = folder / "later"
    shutil.copytree(ROOT / "include", include)
    table = include / "heapwright/detail/monitor_table.h"
    text = table.read_text()
    assert "void (*task_finish)" in text
    table.write_text(text.replace("  void (*task_finish)", "  void (*later)(void);\n  void (*task_finish)"))
    source = folder / "later.c"
    source.write_text(
        "#include <heapwright/monitor.h>\nvoid use_all(struct hw_task *task, struct hw_scope scope)\n"
        "{ hw_task_enter(task); hw_task_leave(task); hw_task_finish(task); hw_scope_end(scope); }\n"
    )
    library = folder / "later.so"
    subprocess.run(["gcc", "-shared", "-fPIC", f"-I{include}", str(source), "-o", str(library)], check=True)
    assert set(scopes_of("newer library", library)) == {"task", "scope"}


def test_many_tasks_in_many_threads(scopes_of):
    scopes = scopes_of("many tasks")
    assert figures(scopes["passed"], "instances", "allocation_calls", "free_calls", "instances_left_open") == (1000, 16000, 16000, 0)
    assert scopes["passed"]["allocated_bytes"] == 16 * 1000 * 1001 // 2
    assert figures(scopes["passed > inside"], "instances", "free_calls") == (16000, 16000)
    assert scopes["passed"]["net_bytes"] == 0


def test_a_coroutine_moves_between_threads(record, folder):
    coroutine = folder / "coroutine"
    subprocess.run(["g++", "-std=c++20", "-O1", "-g", "-pthread", "-fno-builtin", f"-I{ROOT}/include", "-Wall", "-Wextra", "-Werror",
                    str(PROGRAMS / "coroutine.cc"), "-o", str(coroutine)], check=True)
    plain = subprocess.run([coroutine], capture_output=True, text=True, check=True)
    recording = record([coroutine])
    assert (recording.process.returncode, recording.process.stdout) == (0, plain.stdout)
    scopes = by_path(recording.report)
    assert figures(scopes["job"], "instances", "instances_left_open") == (8, 0)
    assert scopes["job > step"]["instances"] == 8
    assert scopes["job > step"]["allocated_bytes"] == 8 * (10 + 20 + 30)  # before, between and after two moves


def test_marks_counters_and_a_thread_name(record, program, hw, tmp_path):
    recording = record([program, "notes"])
    report = recording.report
    assert [mark["text"] for mark in report["marks"]] == ["begins", "\U0001f418 <ends>"]
    assert report["marks"][0]["time_ns"] <= report["marks"][1]["time_ns"] <= report["duration_ns"]
    counters = {counter["name"]: counter for counter in report["counters"]}
    queue, temperature = counters["queue"], counters["temperature"]
    assert figures(queue, "sets", "min", "max", "last") == (100001, 0, 999, 0)
    assert 256 <= len(queue["points"]) <= 512 and queue["points"][-1]["value"] == 0
    times = [point["time_ns"] for point in queue["points"]]
    assert times == sorted(times)
    assert figures(temperature, "sets", "min", "max", "last") == (3, -0.1, 1e300, 0.25)
    assert set(counters) == {"queue", "temperature"}
    assert report["by_thread"][0]["name"] == "main of notes"
    assert "scopes" not in report
    text = " ".join(hw("report", recording.trace).stdout.split())
    assert "queue: 0 to 999, last 0 (100,001 values)" in text and "temperature: -0.1 to 1e+300, last 0.25 (3 values)" in text
    assert hw("report", recording.trace, "-o", tmp_path / "page.html").returncode == 0


def test_names_that_are_null(record, program):
    recording = record([program, "no names"])
    assert recording.process.returncode == 0 and recording.process.stdout == "done\n"
    report = recording.report
    assert figures(by_path(report)[" > text"], "instances", "allocation_calls") == (1, 1)
    assert [heap["name"] for heap in report["heaps"]] == [""] and [thread["name"] for thread in report["by_thread"]] == ["before"]


def test_marks_and_counters_survive_packing(record, program, hw, tmp_path):
    raw = record([program, "notes"], "--no-pack")
    packed = tmp_path / "packed.hwt"
    assert hw("import", raw.trace, "-o", packed).returncode == 0
    again = json.loads(hw("report", "--json", packed).stdout)
    assert (raw.report["marks"], raw.report["counters"]) == (again["marks"], again["counters"])


def test_a_trap_at_each_call_in_a_zone(record, program):
    recording = record([program, "trap"], "--trap")
    assert recording.process.stdout == "2 traps\ndone\n"
    assert record([program, "trap"]).process.stdout == "0 traps\ndone\n"
    assert record([program, "forbidden"], "--trap").process.returncode == 128 + signal.SIGTRAP


def test_traps_in_tasks(record, program):
    recording = record([program, "traps in tasks"], "--trap")
    assert recording.process.stdout.splitlines() == [
        "2 inside, 2 in a task within, 0 after", "2 in the other thread, 0 after", "0 after the zone", "2, then 0", "done"]
    calls = {}
    for breach in recording.report["forbidden"]:
        calls[breach["path"][-1]] = calls.get(breach["path"][-1], 0) + breach["calls"]
    assert calls == {"zone of the task": 6, "zone of the thread": 2}  # one for each trap


@pytest.mark.parametrize("case, count", [("trap handler", 2), ("trap longjmp", 3)])
def test_a_handler_of_traps(record, program, case, count):
    """The first one allocates; the second one leaves the zone by longjmp."""
    recording = record([program, case], "--trap")
    assert (recording.process.returncode, recording.process.stdout) == (0, f"{count} traps\ndone\n")


@pytest.mark.parametrize("case, text, path, numbers", [
    ("warm up", "only the first 3 of 50 instances of cycle allocate", ["cycle"], (50, 3, 3, 3)),
    ("late", "1 of 1,000 instances of control > cycle allocates after the first 3: number 812", ["control", "cycle"], (1000, 4, 3, 812)),
])
def test_a_warm_up_stands_out(record, program, hw, case, text, path, numbers):
    recording = record([program, case])
    found = [finding for finding in recording.report["findings"] if finding["kind"] == "warm_up"]
    assert [finding["text"] for finding in found] == [text] and found[0]["path"] == path
    keys = "instances", "allocating_instances", "warm_up_instances", "last_allocating_instance"
    assert figures(found[0], *keys) == numbers
    assert f"warm-up {text}" in " ".join(hw("report", recording.trace).stdout.split())


def test_nothing_stands_out_where_each_instance_allocates(record, program):
    for case in "threads", "attribute", "names", "none":
        assert "warm_up" not in {finding["kind"] for finding in record([program, case]).report["findings"]}


def test_a_handler_is_within_the_interrupted_scope(scopes_of):
    scopes = scopes_of("signals")
    assert scopes["interrupted > handler"]["allocated_bytes"] == 9
    assert scopes["interrupted"]["self"]["allocated_bytes"] == 4


def test_scopes_survive_a_kill(record, program):
    recording = record([program, "die"])
    assert recording.process.returncode == 128 + signal.SIGKILL
    scope = by_path(recording.report)["before > at the end"]
    assert figures(scope, "instances", "instances_left_open", "allocated_bytes") == (1, 1, 77)


def test_raw_and_packed_are_the_same(record, program, hw, tmp_path):
    raw = record([program, "threads"], "--no-pack")
    packed = tmp_path / "packed.hwt"
    assert hw("import", raw.trace, "-o", packed).returncode == 0
    assert raw.report["scopes"] == json.loads(hw("report", "--json", packed).stdout)["scopes"]


def test_without_a_recorder(program, folder):
    for words in ["attribute"], ["threads"], ["exceptions"], ["fork"], ["forbidden"], ["notes"], ["tasks"]:
        assert subprocess.run([program, *words], capture_output=True, check=True).stdout.endswith(b"done\n")
    for name, flags in ("off", [MONITOR_OFF]), ("static", ["-static"]):
        other = build_program(folder, name, "-O1", "-Wno-unused", *flags)
        assert subprocess.run([other, "attribute"], capture_output=True, check=True).stdout == b"done\n"


def test_a_recording_without_scopes_has_none(record, program, hw):
    recording = record([program, "none"])
    assert "scopes" not in recording.report
    assert "marked no scopes" in text_of(hw, recording)


def test_the_example_of_the_document(build, tmp_path):
    """docs/scopes.md shows what its program prints, but for the times."""
    page = (ROOT / "docs/scopes.md").read_text()
    (tmp_path / "frames.c").write_text(re.search(r"```c\n(.*?)```", page, re.S)[1])
    session = re.search(r"```\n(\$ gcc.*?)```", page, re.S)[1]
    commands = [line[2:].replace("$(pkg-config --cflags heapwright)", f"-I{ROOT}/include") for line in session.splitlines() if line.startswith("$ ")]
    shown = session.split("frames.hwt\n")[-1]
    environment = {"PATH": f"{build}/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "COLUMNS": "100"}
    done = subprocess.run(" && ".join(commands), shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)

    def plain(text):
        return " ".join(re.sub(r"(mean|longest) [\d.]+ \w+", r"\1 TIME", " ".join(text.split())).split())

    assert plain(shown) in plain(done.stdout)


def test_an_instance_by_block_size(record, program, hw):
    recording = record([program, "attribute"])
    region, inside = (by_path(recording.report_with("--instances"))[path]["worst"] for path in ("region", "region > inside"))
    assert [worst["sizes"] for worst in region + inside] == [{"8": -1, "16": 2}, {"1144": 1}]
    assert figures(region[0], "number", "total_bytes", "children_bytes", "allocation_calls", "thread") == (1, 24, 1144, 3, "program")
    assert figures(inside[0], "total_bytes", "children_bytes") == (1144, 0)
    assert "value" not in region[0] and "text" not in region[0] and "other_sizes" not in region[0]
    assert "worst" not in by_path(recording.report)["region"]
    text = " ".join(hw("report", "--instances", recording.trace).stdout.split())
    assert "8 B -1, 16 B +2, total +24 B, inside +1,144 B" in text


@pytest.mark.parametrize("options", [[], ["--no-pack"]])
def test_instances_have_their_numbers_and_texts(record, program, hw, options):
    recording = record([program, "instances"], *options)
    scopes = by_path(recording.report_with("--instances", "--cost", "calls"))
    frame, request = (scopes[path]["worst"] for path in ("frame", "frame > request"))
    assert len(frame) == len(request) == 10
    assert figures(frame[0], "number", "value", "sizes") == (7, 1006, {})
    assert figures(frame[1], "number", "value", "sizes") == (8, 1007, {"1007": 1})
    assert figures(request[0], "number", "text", "allocated_bytes", "sizes") == (7, '/6?"\x1b[31m<b>\n\ufffd', 6000, {})
    shown = hw("report", "--instances", "--cost", "bytes", recording.trace).stdout
    assert "\x1b" not in shown and r'request "/6?"\x1b[31m<b>\n\xff"' in " ".join(shown.split()) and "frame 1007" in shown


def test_what_instances_are_ranked_by(record, program, hw):
    recording = record([program, "instances"])
    for cost, number in ("peak", 7), ("live", 8), ("calls", 7), ("bytes", 7), ("temporary", 7):
        assert by_path(recording.report_with("--instances", "--cost", cost))["frame"]["worst"][0]["number"] == number, cost
    longest = by_path(recording.report_with("--instances=longest"))["frame"]
    assert longest["worst"][0]["duration_ns"] == longest["max_duration_ns"]


def test_a_million_instances_are_bounded(record, program, build, tmp_path):
    """Only the worst instances have sizes, and only their texts are read again."""
    recording = record([program, "instances", "1000000"])
    peaks = []
    for options in [], ["--instances"]:
        with open(tmp_path / "report.json", "w+") as out:
            report = subprocess.Popen([build / "bin/heapwright", "report", "--json", *options, recording.trace], stdout=out)
            _, status, usage = os.wait4(report.pid, 0)
            report.returncode = os.waitstatus_to_exitcode(status)
            assert report.returncode == 0
            out.seek(0)
            scope = by_path(json.load(out))["frame > request"]
        peaks.append(usage.ru_maxrss)
        assert scope["instances"] == 1000000
    assert len(scope["worst"]) == 10 and all(worst["text"].startswith("/") for worst in scope["worst"])
    assert peaks[1] < peaks[0] + 32 * 1024


def test_instances_of_several_images(record, program):
    """A text is looked up in the trace of its image."""
    recording = record(["sh", "-c", f"'{program}' instances 5; '{program}' instances 30; true"])
    worst = by_path(recording.report_with("--children", "--instances", "--cost", "bytes"))["frame > request"]["worst"]
    assert worst[0]["text"].startswith("/6?") and worst[0]["number"] == 12


def test_a_tree_of_scopes(record, program, hw):
    recording = record([program, "recurse"])
    shown = hw("report", "--tree=scopes", "--cost", "calls", recording.trace).stdout.splitlines()
    rows = [line for line in shown if line.endswith("level")]
    assert [line.split()[0] for line in rows] == ["5", "4", "3", "2", "1"]
    assert [len(line) - len(rows[0]) for line in rows] == [0, 2, 4, 6, 8]
    threads = record([program, "threads"])
    assert hw("report", "--tree=scopes", "--by", "function", threads.trace).returncode == 2
    assert "thread" in text_of(hw, threads)


@pytest.mark.parametrize("other", [["--by", "size"], ["--leaks"], ["--tree"], ["--rss"], ["--durations"], ["--lifetimes"]])
def test_instances_are_about_scopes(record, program, hw, other):
    done = hw("report", "--instances", *other, record([program, "attribute"]).trace)
    assert done.returncode == 2 and "--instances is about scopes" in done.stderr and other[0] in done.stderr


def test_a_report_of_one_scope(record, program):
    recording = record([program, "attribute"])
    whole, inside = recording.report_with("--only", "scope=region"), recording.report_with("--only", "scope=ins*")
    assert whole["selected"]["bytes"] == 1176 and inside["selected"]["bytes"] == 1144
    assert recording.report_with("--ignore", "scope=region", "--only", "size=1144")["selected"]["bytes"] == 0
    assert recording.report_with("--only", "scope=regio")["filters"][0]["nearest"] == "region"


@pytest.mark.parametrize("rule, status", [("calls(scope=region)=3", 0), ("calls(scope=region)=2", 1), ("bytes(scope=inside)=1144", 0),
                                          ("live(scope=region)=1175", 1), ("calls(scope=cycle)=0", 0), ("own_peak(scope=inside)=1143", 1)])
def test_a_budget_of_one_scope(record, program, hw, rule, status):
    recording = record([program, "attribute"])
    assert hw("check", recording.trace, "--max", rule).returncode == status


def test_events_of_one_scope(record, program, hw, tmp_path):
    """Formats that follow the events know the scope of each."""
    recording = record([program, "threads"])
    assert hw("export", recording.trace, "--only", "scope=work", "-o", tmp_path / "a.massif").returncode == 0
    heaps = [int(line.split("=")[1]) for line in (tmp_path / "a.massif").read_text().splitlines() if line.startswith("mem_heap_B=")]
    assert max(heaps) >= recording.report_with("--only", "scope=work")["selected"]["live_bytes"] > 0
    assert heaps[-1] == recording.report_with("--only", "scope=work")["selected"]["live_bytes"]


@pytest.mark.parametrize("options", [[], ["--durations"], ["--no-usable"], ["--paused"]])
def test_what_a_thread_has_done(record, folder, options):
    """The program asserts the counts itself. Recording it does not change."""
    counts = folder / "counts"
    subprocess.run(["g++", *FLAGS, "-O1", "-UNDEBUG", str(PROGRAMS / "counts.cc"), "-o", str(counts)], check=True)
    assert subprocess.run([counts], capture_output=True, check=True).stdout == b"done\n"
    recording = record([counts], *options)
    assert (recording.process.returncode, recording.process.stdout) == (0, "counted\ndone\n"), recording.process.stderr
    assert recording.report["lost_events"] == 0


def test_a_linked_recorder_counts_and_records(build, hw, tmp_path):
    """-lheapwright-record instead of a preloaded one."""
    (tmp_path / "linked.c").write_text("""
#include <heapwright/monitor.h>
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
  struct hw_counts before = hw_thread_counts();
  {
    HW_SCOPE("work");
    void *volatile block = malloc(100);
    free(block);
  }
  struct hw_counts after = hw_thread_counts();
  printf("%llu %llu\\n", (unsigned long long)(after.allocation_calls - before.allocation_calls),
         (unsigned long long)(after.allocated_bytes - before.allocated_bytes));
}
""")
    subprocess.run(["gcc", "-O1", "-I", str(ROOT / "include"), "linked.c", "-o", "linked", f"-L{build / 'lib'}", "-lheapwright-record",
                    f"-Wl,-rpath,{build / 'lib'}"], cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "linked"], env={**os.environ, "HEAPWRIGHT_OUTPUT": str(tmp_path / "linked.hwt")}, capture_output=True,
                          text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1 100\n", "")
    (scope,) = json.loads(hw("report", "--json", tmp_path / "linked.hwt").stdout)["scopes"]
    assert (scope["path"], scope["allocation_calls"], scope["free_calls"]) == (["work"], 1, 1)
