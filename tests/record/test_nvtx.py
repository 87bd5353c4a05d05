"""Programs with NVTX, without a change: their ranges are scopes of the recording.

If this fails, a report by scope is wrong for programs that are marked for NVIDIA's profilers, or such a program behaves
differently when it is recorded.
"""

import signal
import subprocess
from pathlib import Path

import pytest

from collected import PROGRAMS, build_case_program, instances_of, report_of_collector, run_without_a_recorder, scopes_of_case
from report_scopes import by_path, bytes_of, figures

VARIABLE = "NVTX_INJECTION64_PATH"
IMPLEMENTED = """MarkEx MarkA MarkW RangeStartEx RangeStartA RangeStartW RangeEnd RangePushEx RangePushA RangePushW RangePop NameOsThreadA
NameOsThreadW DomainMarkEx DomainRangeStartEx DomainRangeEnd DomainRangePushEx DomainRangePop DomainRegisterStringA DomainRegisterStringW
DomainCreateA DomainCreateW""".split()
CASES = ["attribute", "each push", "each start", "nameless", "odd", "wrong handles", "overlap", "elsewhere", "endless", "threads", "payloads", "marks",
         "names", "many", "fork", "every", "errno", "twice"]
HEADERS = [folder for folder in [Path("/usr/include"), Path("/usr/local/cuda/include"), *Path("/usr/local").glob("cuda-*/include")]
           if (folder / "nvtx3/nvtx3.hpp").exists()]


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return build_case_program("nvtx", tmp_path_factory.mktemp("nvtx"))


@pytest.fixture
def scopes_of(record, program):
    """scopes_of("threads"): the scopes of this case of the program, by path."""
    return lambda case: scopes_of_case(record([program, case]))


def test_nested_ranges(scopes_of):
    scopes = scopes_of("attribute")
    region, inside = scopes["region"], scopes["region > inside"]
    assert list(scopes) == ["region", "region > inside"]
    assert figures(region, "instances", "allocation_calls", "free_calls", "allocated_bytes", "net_bytes", "net_blocks") == (1, 3, 1, 1176, 1168, 2)
    assert figures(inside, "allocation_calls", "free_calls", "net_bytes", "live_bytes_at_end") == (1, 0, 1144, 1144)


def test_each_way_to_push(scopes_of):
    scopes = scopes_of("each push")
    assert bytes_of(scopes) == {"plain": 1, "plain > wide": 2, "ex": 3, "ex wide": 4, "registered": 5, "registered wide": 6}
    assert all(scope["instances_left_open"] == 0 for scope in scopes.values())


def test_each_way_to_start(scopes_of):
    scopes = scopes_of("each start")
    assert bytes_of(scopes) == {"start plain": 1, "start wide": 2, "start ex": 3, "start in domain": 4}
    assert all(scope["instances_left_open"] == 0 for scope in scopes.values())


def test_ranges_without_a_message(scopes_of):
    scopes = scopes_of("nameless")
    assert {path: figures(scope, "instances", "allocated_bytes") for path, scope in scopes.items()} == {"mine": (5, 5), "range": (5, 10)}


def test_levels_are_of_a_domain(record, program):
    """Without a collector all are -2: not tracked."""
    assert record([program, "levels"]).process.stdout == "0 1 0, 0 -1 1 0 -1\ndone\n"
    assert subprocess.run([program, "levels"], capture_output=True, text=True).stdout == "-2 -2 -2, -2 -2 -2 -2 -2\ndone\n"
    ignored = record([program, "levels"], "--itt-ignore", "oth*")
    assert ignored.process.stdout == "0 1 -2, -2 -2 1 0 -1\ndone\n" and "a > b > c" not in by_path(ignored.report)


def test_ends_that_do_not_match(scopes_of):
    scopes = scopes_of("odd")
    assert bytes_of(scopes) == {"left": 3, "left > left inside": 1, "left > left inside > of another domain": 2}
    assert [scope["instances_left_open"] for scope in scopes.values()] == [0, 0, 1]


def test_handles_that_were_not_made(scopes_of):
    assert bytes_of(scopes_of("wrong handles")) == {"range": 0, **{f"later {number}": 1 for number in range(30)}}


def test_started_ranges_end_after_those_inside(scopes_of):
    scopes = scopes_of("overlap")
    assert bytes_of(scopes) == {"first": 1, "first > second": 2 + 4, "first > second > pushed": 3}
    assert all(scope["instances_left_open"] == 0 for scope in scopes.values())


def test_a_range_that_ends_in_another_thread(scopes_of):
    scopes = scopes_of("elsewhere")
    assert set(scopes) == {"request", "after"}
    assert figures(scopes["request"], "instances", "instances_left_open") == (100, 0)
    assert figures(scopes["after"], "instances", "allocation_calls", "allocated_bytes") == (100, 100, 2000)


def test_ranges_that_never_end_do_not_pile_up(scopes_of):
    scopes = scopes_of("endless")
    assert len(scopes) == 8 and max(scopes, key=len) == " > ".join(["request"] * 8)


def test_sixteen_threads(record, program):
    recording = record([program, "threads"])
    work = by_path(recording.report)["thread > work"]
    assert figures(work, "instances", "allocation_calls", "free_calls") == (1600, 1600, 800)
    assert work["allocated_bytes"] == sum(100 * 7 * (number + 1) for number in range(16))
    names = {thread["name"] for thread in recording.report["by_thread"]}
    assert names == {"program", *(f"worker {number}" for number in range(16))}


def test_payloads_are_numbers_of_instances(record, program):
    report = record([program, "payloads"]).report_with("--instances")
    numbers = [{instance.get("value") for instance in scope["worst"]} for scope in report["scopes"]]
    assert [len(scope["worst"]) for scope in report["scopes"]] == [2] * 15
    assert numbers[:7] == [{2**64 - 1}, {2**63 - 1}, {10**6}, {2**32 - 1}, {7}, {3}, {0}]
    assert numbers[7:] == [{None}] * 8


def test_marks(record, program):
    assert [mark["text"] for mark in record([program, "marks"]).report["marks"]] == ["plain", "wide", "by ex", "in a domain", "mine"]


def test_unusual_names(scopes_of):
    assert set(scopes_of("names")) == {'"quoted" \\ and <b>', "\U0001f418 emoji", "x" * 10000, "", "a\u00e9\u20ac\U0001f418", "\u00e9" * 512,
                                       "half \ufffd a pair", "far \ufffd out"}


def test_more_names_than_there_is_room_for(scopes_of):
    assert bytes_of(scopes_of("many")) == {"number 0": 1, "(other scopes)": 1}


def test_a_forked_child_continues_in_the_ranges(record, program):
    scopes = by_path(record([program, "fork"]).report_with("--children"))
    assert bytes_of(scopes) == {"outer": 10 + 20, "outer > inner": 100 + 200}
    assert all(figures(scope, "instances", "instances_left_open") == (2, 0) for scope in scopes.values())


def test_scopes_survive_a_kill(record, program):
    recording = record([program, "die"])
    assert recording.process.returncode == 128 + signal.SIGKILL
    scope = by_path(recording.report)["before > at the end"]
    assert figures(scope, "instances", "instances_left_open", "allocated_bytes") == (1, 1, 77)


def test_every_function_can_be_called(scopes_of):
    scopes = scopes_of("every")
    assert scopes["around all"]["instances_left_open"] == 0
    assert bytes_of(scopes)["around all"] == 1201 and "around all > ex" in scopes


def test_errno_is_kept(scopes_of):
    assert scopes_of("errno")


def test_a_second_library_with_nvtx(scopes_of):
    assert bytes_of(scopes_of("twice")) == {"before": 0, "before > after": 1}


def test_functions_that_are_ignored_stay_as_without_a_collector(record, program):
    assert record([program, "list"]).process.stdout.split() == [*IMPLEMENTED, "done"]


@pytest.mark.parametrize("list, paths", [("other", ["left", "left > left inside"]), ("m?ne", ["of another domain"]), ("x,o*,m*", []), ("*", []), ("min", None)])
def test_domains_that_are_switched_off(record, program, list, paths):
    recording = record([program, "odd"], "--itt-ignore", list)
    assert recording.process.stdout == "done\n"
    everything = ["left", "left > left inside", "left > left inside > of another domain"]
    assert sorted(by_path(recording.report)) == (everything if paths is None else paths)


@pytest.mark.parametrize("list, paths", [("mine", {"start plain", "start wide", "start ex"}), ("*", set())])
def test_started_ranges_of_domains_that_are_switched_off(record, program, list, paths):
    recording = record([program, "each start"], "--itt-ignore", list)
    assert recording.process.stdout == "done\n" and set(by_path(recording.report)) == paths


# --- which collector ---


@pytest.mark.parametrize("case", CASES)
def test_without_a_recorder(program, case, tmp_path):
    run_without_a_recorder(program, case, tmp_path)


@pytest.mark.parametrize("case", CASES)
def test_the_variable_alone(program, recorder, record, hw, case, tmp_path):
    """A library that was loaded for NVTX alone sees no allocations; scopes are the same without them."""
    report = report_of_collector(program, case, VARIABLE, recorder, tmp_path / "a.hwt", hw)
    whole = record([program, case]).report
    assert instances_of(report) == instances_of(whole)


def test_preloaded_without_record(preload, program, recorder):
    recording = preload([program, "attribute"], env={VARIABLE: str(recorder)})
    assert by_path(recording.report)["region"]["net_bytes"] == 1168


def test_the_variable_names_the_recorder(record, build):
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
    assert options or "NVTX ranges are not recorded" in recording.process.stderr
    assert record(["/usr/bin/env"], env={VARIABLE: "/nowhere/other.so"}).process.stdout.count("/nowhere/other.so") == 1


def test_our_own_library_is_no_foreign_collector(record, program, recorder):
    recording = record([program, "attribute"], env={VARIABLE: str(recorder.resolve())})
    assert VARIABLE not in recording.process.stderr and by_path(recording.report)["region"]["net_bytes"] == 1168


# --- programs of others ---


@pytest.mark.skipif(not HEADERS, reason="NVTX is not installed")
def test_the_real_nvtx_for_cxx(record, compile_cxx):
    program = compile_cxx(PROGRAMS / "nvtx_cxx.cc", "-isystem", HEADERS[0], "-pthread", "-ldl", "-fno-builtin")
    alone = subprocess.run([program], capture_output=True, text=True)
    recording = record([program])
    assert (recording.process.returncode, recording.process.stdout) == (alone.returncode, alone.stdout) == (0, "done\n")
    scopes = by_path(recording.report_with("--instances"))
    assert all(scope["instances_left_open"] == 0 for scope in scopes.values())
    assert set(scopes) == {"outer", "outer > step", "failing", "moves", "last"} and scopes["outer"]["instances"] == 4
    assert bytes_of(scopes)["outer > step"] == 40
    assert sorted(instance["value"] for instance in scopes["outer > step"]["worst"]) == [0, 1, 2, 3]
    assert [mark["text"] for mark in recording.report["marks"]] == ["a mark"]
