"""Programs with ITT, without a change: their tasks, regions, frames and events are scopes of the recording.

If this fails, a report by scope is wrong for programs on oneTBB, oneDNN, OpenCV and the like, or such a program behaves
differently when it is recorded.
"""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from collected import PROGRAMS, build_case_program, instances_of, report_of_collector, run_without_a_recorder, scopes_of_case
from report_scopes import by_path, bytes_of, figures

VARIABLE = "INTEL_LIBITTNOTIFY64"
IMPLEMENTED = """domain_create string_handle_create thread_set_name thr_name_set task_begin task_begin_fn task_end task_begin_ex
task_begin_fn_ex task_end_ex task_begin_overlapped task_begin_overlapped_ex task_end_overlapped task_end_overlapped_ex
clock_domain_create frame_create frame_begin frame_end frame_begin_v3 frame_end_v3 region_begin region_end get_timestamp
event_create event_start event_end api_version marker marker_ex counter_create counter_create_typed counter_set_value
counter_create_v3 counter_set_value_v3 counter_set_value_ex counter_inc counter_inc_delta counter_dec counter_dec_delta counter_inc_v3 counter_inc_delta_v3 counter_dec_v3
counter_dec_delta_v3 heap_function_create heap_allocate_end heap_free_begin heap_reallocate_begin heap_reallocate_end""".split()
CASES = ["attribute", "each kind", "odd", "overlap", "elsewhere", "events", "crowd", "endless", "deep", "threads", "names", "every", "errno", "early", "early and late", "old", "count", "locked", "fork",
         "same ids", "closed"]


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return build_case_program("itt", tmp_path_factory.mktemp("itt"))


@pytest.fixture
def scopes_of(record, program):
    """scopes_of("threads"): the scopes of this case of the program, by path."""
    return lambda case: scopes_of_case(record([program, case]))


def test_nested_tasks(scopes_of):
    scopes = scopes_of("attribute")
    region, inside = scopes["region"], scopes["region > inside"]
    assert list(scopes) == ["region", "region > inside"]
    assert figures(region, "instances", "allocation_calls", "free_calls", "allocated_bytes", "net_bytes", "net_blocks") == (1, 3, 1, 1176, 1168, 2)
    assert figures(region["self"], "allocation_calls", "free_calls", "allocated_bytes", "net_bytes") == (2, 1, 32, 24)
    assert figures(inside, "allocation_calls", "free_calls", "net_bytes", "live_bytes_at_end") == (1, 0, 1144, 1144)


def test_each_kind_is_a_scope(scopes_of):
    scopes = scopes_of("each kind")
    (nested,) = [path for path in scopes if path.startswith("timed > program+0x")]
    (of_library,) = [path for path in scopes if ".so" in path]
    assert bytes_of(scopes) == {"timed": 1, nested: 2, of_library: 3, "a region": 9, "old frame": 6, "new frame": 15, "event": 9,
                                "overlapped": 10, "overlapped in time": 11}
    assert scopes["new frame"]["instances"] == 2
    assert all(scope["instances_left_open"] == 0 for scope in scopes.values())


def test_ends_that_do_not_match(scopes_of):
    scopes = scopes_of("odd")
    assert bytes_of(scopes) == {"left": 3, "left > left inside": 1, "left > left inside > other": 2}
    assert [scope["instances_left_open"] for scope in scopes.values()] == [0, 0, 1]


def test_overlapped_tasks_end_after_those_inside(scopes_of):
    scopes = scopes_of("overlap")
    assert bytes_of(scopes) == {"first": 1, "first > second": 2 + 4, "first > second > task": 3}
    assert all(scope["instances_left_open"] == 0 for scope in scopes.values())


def test_ids_belong_to_a_domain(scopes_of):
    scopes = scopes_of("same ids")
    assert bytes_of(scopes) == {"region": 0, "region > inner region": 1, "task": 0, "task > inner task": 2, "mine": 0, "mine > other": 3}
    assert all(scope["instances_left_open"] == 0 for scope in scopes.values())


def test_a_task_that_ends_in_another_thread(scopes_of):
    scopes = scopes_of("elsewhere")
    assert list(scopes) == ["request", "after"] or list(scopes) == ["after", "request"]
    assert figures(scopes["request"], "instances", "instances_left_open") == (100, 0)
    assert figures(scopes["after"], "instances", "allocation_calls", "allocated_bytes") == (100, 100, 2000)


def test_events_belong_to_a_thread_and_need_no_end(scopes_of):
    scopes = scopes_of("events")
    assert bytes_of(scopes)["event > inside"] == 1
    assert figures(scopes["tick"], "instances", "instances_left_open", "allocated_bytes") == (20, 0, 40)
    assert not [path for path in scopes if "tick > " in path]


def test_no_end_in_another_thread_is_lost(scopes_of):
    scopes = scopes_of("crowd")
    assert set(scopes) == {"request", "last"}
    assert figures(scopes["request"], "instances", "instances_left_open", "allocation_calls") == (4000, 0, 4000)


def test_tasks_that_never_end_do_not_pile_up(scopes_of):
    scopes = scopes_of("endless")
    assert len(scopes) == 8 and max(scopes, key=len) == " > ".join(["request"] * 8)


def test_a_deep_nest(scopes_of):
    scopes = scopes_of("deep")
    assert len(scopes) == 100
    innermost = scopes[" > ".join(["deeper"] * 100)]
    assert figures(innermost, "instances", "instances_left_open", "allocated_bytes") == (3, 0, 30)
    assert scopes["deeper"]["instances_left_open"] == 0


def test_sixteen_threads(record, program):
    recording = record([program, "threads"])
    work = by_path(recording.report)["thread > work"]
    assert figures(work, "instances", "allocation_calls", "free_calls") == (1600, 1600, 800)
    assert work["allocated_bytes"] == sum(100 * 7 * (number + 1) for number in range(16))
    assert work["net_bytes"] == work["allocated_bytes"] // 2
    names = {thread["name"] for thread in recording.report["by_thread"]}
    assert {f"worker {number}" for number in range(16)} <= names


def test_a_forked_child_continues_in_the_tasks(record, program):
    scopes = by_path(record([program, "fork"]).report_with("--children"))
    assert bytes_of(scopes) == {"outer": 10 + 20, "outer > inner": 100 + 200}
    assert all(figures(scope, "instances", "instances_left_open") == (2, 0) for scope in scopes.values())


def test_scopes_survive_a_kill(record, program):
    recording = record([program, "die"])
    assert recording.process.returncode == 128 + signal.SIGKILL
    scope = by_path(recording.report)["before > at the end"]
    assert figures(scope, "instances", "instances_left_open", "allocated_bytes") == (1, 1, 77)


def test_unusual_names(scopes_of):
    assert set(scopes_of("names")) == {'"quoted" \\ and <b>', "\U0001f418 emoji", "x" * 10000, ""}


def test_counters_and_markers(record, program):
    report = record([program, "count"]).report
    counters = {counter["name"]: figures(counter, "sets", "min", "max", "last") for counter in report["counters"]}
    of_types = [2**40, -5, 4000000000, -7, 60000, -9, 0.5, -1e300]
    assert counters == {**{f"type {i + 1}": (1, value, value, value) for i, value in enumerate(of_types)},
                        "requests": (4, 6, 10, 6), "by string": (2, 2, 3, 2), "of a domain": (1, 0.5, 0.5, 0.5)}
    assert [mark["text"] for mark in report["marks"]] == ["loaded", "ready"]


def test_every_function_can_be_called(scopes_of):
    scopes = scopes_of("every")
    assert scopes["around all"]["instances_left_open"] == 0
    assert bytes_of(scopes)["around all"] >= 1000 and "around all > a region" in scopes


def test_a_thread_is_named_by_a_name_and_its_length(record, program):
    assert [thread["name"] for thread in record([program, "every"]).report["by_thread"]] == ["by its"]


@pytest.mark.parametrize("options, calls", [((), (1, 3, 3, 0, 40, 20, 0)), (("--itt-ignore", "domain"), None)])
def test_heap_functions(record, program, options, calls):
    report = record([program, "every"], *options).report
    heaps = {heap["name"]: heap for heap in report.get("heaps", [])}
    assert list(heaps) == (["domain/heap"] if calls else [])
    keys = ("created", "allocation_calls", "free_calls", "failed_calls", "allocated_bytes", "peak_bytes", "live_blocks_at_end")
    assert all(figures(heap, *keys) == calls for heap in heaps.values())


def test_locked_memory(scopes_of):
    """mlockall, which real-time programs call, must not make the tables resident."""
    assert "around all > a region" in scopes_of("locked")


def test_errno_is_kept(scopes_of):
    assert scopes_of("errno")


def test_functions_that_are_ignored_stay_as_without_a_collector(record, program):
    said = record([program, "list"]).process.stdout.splitlines()
    assert sorted(said[:-2]) == sorted(f"__itt_{name}" for name in IMPLEMENTED)
    assert said[-2:] == ["version heapwright, clock runs", "done"]


@pytest.mark.parametrize("list, paths", [("other", ["left", "left > left inside"]), ("m?ne", ["other"]), ("x,o*,m*", []), ("min", None), (",", None)])
def test_domains_that_are_switched_off(record, program, list, paths):
    recording = record([program, "odd"], "--itt-ignore", list)
    assert recording.process.stdout == "done\n"
    everything = ["left", "left > left inside", "left > left inside > other"]
    assert sorted(by_path(recording.report)) == (everything if paths is None else paths)


@pytest.mark.parametrize("case", ["early", "old"])
def test_a_domain_from_before_the_collector(record, program, case):
    """Older static parts make domains that the collector must switch on."""
    recording = record([program, case], "--itt-ignore", "early too")
    assert recording.process.stdout == "done\n"
    assert bytes_of(by_path(recording.report)) == {"early": 7}


def test_two_objects_of_a_domain(scopes_of):
    scopes = scopes_of("early and late")
    assert bytes_of(scopes) == {"task": 1, "early": 2}
    assert all(scope["instances_left_open"] == 0 for scope in scopes.values())


@pytest.mark.parametrize("options, expected", [((), {"counter": (2, 3, 4, 4), "ratio": (1, 0.5, 0.5, 0.5)}),
                                               (("--itt-ignore", "early too"), {"counter": (2, 3, 4, 4)})])
def test_counters_from_before_the_collector(record, program, options, expected):
    counters = record([program, "early"], *options).report["counters"]
    assert {counter["name"]: figures(counter, "sets", "min", "max", "last") for counter in counters} == expected


# --- which collector ---


@pytest.mark.parametrize("case", CASES)
def test_without_a_recorder(program, case, tmp_path):
    run_without_a_recorder(program, case, tmp_path)


@pytest.mark.parametrize("case", CASES)
def test_the_variable_alone(program, recorder, record, hw, case, tmp_path):
    """A library that was loaded for ITT alone sees no allocations; scopes and heaps are the same without them."""
    report = report_of_collector(program, case, VARIABLE, recorder, tmp_path / "a.hwt", hw)
    whole = record([program, case]).report
    assert instances_of(report) == instances_of(whole)
    assert [heap["name"] for heap in report.get("heaps", [])] == [heap["name"] for heap in whole.get("heaps", [])]
    assert "Not seen: calls of malloc (the recorder was loaded only for what the program states" in hw("report", tmp_path / "a.hwt").stdout


def test_ignored_functions_are_listed_on_request(record, program, hw):
    ignored = [note["text"] for note in record([program, "every"], "--itt-verbose").report["images"][0]["notes"] if note["kind"] == "ignored"]
    assert {"__itt_id_create", "__itt_metadata_add"} <= set(ignored)
    assert len(set(ignored)) == len(ignored)
    assert not {f"__itt_{name}" for name in IMPLEMENTED} & set(ignored)
    assert all(note["kind"] != "ignored" for note in record([program, "every"]).report["images"][0]["notes"])


def test_preloaded_without_record(preload, program, recorder):
    recording = preload([program, "attribute"], env={VARIABLE: str(recorder)})
    assert by_path(recording.report)["region"]["net_bytes"] == 1168


def test_the_variable_is_the_only_difference(record, build, tmp_path):
    recording = record(["/usr/bin/env"])
    (path,) = [line for line in recording.process.stdout.splitlines() if line.startswith(VARIABLE)]
    library = Path(path.split("=")[1])
    assert library.is_absolute() and library.samefile(build / "lib/libheapwright-record.so")
    assert VARIABLE not in recording.process.stderr


@pytest.mark.parametrize("options", [[], ["-q"]])
def test_a_foreign_collector_is_left_alone(record, program, options):
    recording = record([program, "attribute"], *options, env={VARIABLE: "/nowhere/other.so"})
    assert recording.process.returncode == 0 and "scopes" not in recording.report
    assert recording.process.stderr.count("/nowhere/other.so") == (0 if options else 1)
    assert record(["/usr/bin/env"], env={VARIABLE: "/nowhere/other.so"}).process.stdout.count("/nowhere/other.so") == 1


def test_our_own_library_is_no_foreign_collector(record, program, recorder):
    recording = record([program, "attribute"], env={VARIABLE: str(recorder.resolve())})
    assert VARIABLE not in recording.process.stderr and by_path(recording.report)["region"]["net_bytes"] == 1168


# --- programs of others ---


def run_both(record, tmp_path, source, *flags, env=None):
    """Returns the scopes of a program that prints the same with and without the recorder."""
    binary = tmp_path / "binary"
    subprocess.run(["g++", "-std=c++17", "-O1", "-g", str(PROGRAMS / source), "-o", str(binary), *flags], check=True)
    alone = subprocess.run([binary], env={**os.environ, **(env or {})}, capture_output=True, text=True)
    recording = record([binary], env=env)
    assert (recording.process.returncode, recording.process.stdout) == (alone.returncode, alone.stdout)
    return by_path(recording.report)


@pytest.mark.skipif(not Path("/usr/include/tbb/flow_graph.h").exists(), reason="libtbb-dev is not installed")
def test_tasks_of_onetbb(record, tmp_path):
    scopes = run_both(record, tmp_path, "itt_tbb.cc", "-ltbb")
    bodies = [scope for path, scope in scopes.items() if path.split(" > ")[-1] == "body"]
    assert sum(scope["instances"] for scope in bodies) == 200
    assert sum(scope["self"]["allocated_bytes"] for scope in bodies) == 77 * 100
    assert sum(scope["instances"] for path, scope in scopes.items() if path.endswith("tbb_parallel_for")) == 1


@pytest.mark.skipif(not Path("/usr/include/oneapi/dnnl/dnnl.hpp").exists(), reason="libdnnl-dev is not installed")
def test_primitives_of_onednn(record, tmp_path):
    one_thread = {"OMP_NUM_THREADS": "1", "DNNL_ITT_TASK_LEVEL": "2", "ONEDNN_ITT_TASK_LEVEL": "2"}
    scopes = run_both(record, tmp_path, "itt_dnnl.cc", "-ldnnl", env=one_thread)
    assert scopes["reorder"]["instances"] == 10 and scopes["reorder"]["instances_left_open"] == 0
