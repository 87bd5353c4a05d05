"""Callbacks of ROS 2 as scopes: a stand-in for libtracetools and a program that calls it as rclcpp does.

If this fails, a report by scope blames the wrong callback, or a ROS program behaves differently when it is recorded.
"""

import os
import shutil
import subprocess

import pytest

from conftest import ROOT
from report_scopes import by_path, bytes_of, figures

PROGRAMS = ROOT / "tests/record/programs/ros"
CASES = ["nodes", "intra", "old", "periods", "unknown", "odd", "exceptions", "answers later", "nested", "threads", "again", "many", "fork", "tracing", "errno"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """With libtracetools.so, ros, libplugin.so and host."""
    folder = tmp_path_factory.mktemp("ros")
    warnings, tracetools = ["-g", "-O1", "-Wall", "-Wextra", "-Werror"], [f"-L{folder}", "-ltracetools", f"-Wl,-rpath,{folder}"]
    cxx = ["g++", "-std=c++17", "-fno-builtin", "-pthread", *warnings]
    for command in (["gcc", "-std=c17", *warnings, "-shared", "-fPIC", PROGRAMS / "tracetools.c", "-o", folder / "libtracetools.so"],
                    [*cxx, PROGRAMS / "ros.cc", "-o", folder / "ros", *tracetools],
                    [*cxx, "-shared", "-fPIC", PROGRAMS / "plugin.cc", "-o", folder / "libplugin.so", *tracetools],
                    ["gcc", "-std=c17", *warnings, PROGRAMS / "host.c", "-o", folder / "host"]):
        subprocess.run(list(map(str, command)), check=True)
    return folder


@pytest.fixture
def program(folder):
    return folder / "ros"


def output_of(*command, **environment):
    done = subprocess.run(list(map(str, command)), env={**os.environ, **environment}, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.fixture
def scopes_of(record, program):
    """scopes_of("threads"): the scopes of this case, by path. libtracetools gets the same calls as without a recorder."""

    def run(case):
        recording = record([program, case], "--ros")
        assert recording.process.returncode == 0, recording.process.stderr
        assert recording.process.stdout == output_of(program, case)
        report = recording.report_with("--children")
        assert report["lost_events"] == 0
        scopes = by_path(report)
        assert all(scope["instances_left_open"] == 0 for scope in scopes.values())
        return scopes

    return run


def instances_of(scopes):
    return {path: scope["instances"] for path, scope in scopes.items()}


def test_callbacks_have_the_names_of_node_and_topic(scopes_of):
    scopes = scopes_of("nodes")
    assert bytes_of(scopes) == {"/talker timer 500 ms": 3, "/robot/one/listener /chatter": 60, "/robot/one/listener /robot/one/status": 900,
                                "/talker service /add": 12000}
    assert set(instances_of(scopes).values()) == {3}


def test_both_callbacks_of_a_subscription_within_a_process(scopes_of):
    scopes = scopes_of("intra")
    assert bytes_of(scopes) == {"/listener /image": 21} and instances_of(scopes) == {"/listener /image": 2}


def test_a_callback_of_an_older_rclcpp(scopes_of):
    assert bytes_of(scopes_of("old")) == {"/listener /chatter": 1}


def test_periods_of_timers(scopes_of):
    """Decimals after the third are left out, so that two of the periods are 1 s."""
    once = ["0 ns", "7 ns", "999 ns", "1 us", "250 us", "1 ms", "33.333 ms", "1.05 ms", "1.5 s", "3600 s", "30 ms"]
    without_node = {"timer 20 ms": 1, "timer 30 ms": 1}
    assert instances_of(scopes_of("periods")) == {**{f"/talker timer {period}": 1 for period in once}, "/talker timer 1 s": 2, **without_node}


def test_callbacks_that_nothing_is_known_of(scopes_of):
    assert bytes_of(scopes_of("unknown")) == {"callback": 1 + 50000, "Planner::on_map(Map)": 20, "Planner::on_goal(Goal)": 300,
                                              "/listener /chatter": 4000, "service /add": 600000}


def test_ends_that_do_not_match(scopes_of):
    assert bytes_of(scopes_of("odd")) == {"/listener /outer": 0, "/listener /outer > /listener /inner": 20 + 300, "callback": 50000}


def test_an_exception_ends_a_callback(scopes_of):
    scopes = scopes_of("exceptions")
    bad, good, outer = "/listener /bad", "/listener /good", "/listener /outer"
    assert instances_of(scopes) == {bad: 30, good: 20, outer: 1, f"{outer} > {bad}": 1, f"{outer} > {good}": 1}
    assert bytes_of(scopes)[good] == 20 * 20 and bytes_of(scopes)[f"{outer} > {good}"] == 20


def test_a_service_that_answers_later(scopes_of):
    scopes = scopes_of("answers later")
    assert bytes_of(scopes)["/adder service /add"] == 10
    assert instances_of(scopes) == {"/adder service /add": 10, "/adder timer 1 ms": 10}


def test_callbacks_that_wait_for_others(scopes_of):
    scopes = scopes_of("nested")
    deep = "/waiter service /deep"
    assert instances_of(scopes) == {"/waiter service /wait": 1, "/waiter service /wait > /waiter timer 1 ms": 1, "/waiter timer 1 ms": 1,
                                    **{" > ".join([deep] * depth): 1 for depth in range(1, 33)}}
    assert [bytes_of(scopes)[" > ".join([deep] * depth)] for depth in range(1, 33)] == [315] * 31 + [315 * 69 - 8]


def test_one_callback_on_several_threads(scopes_of):
    timers = {f"/worker timer {number} ms": 100 for number in range(1, 9)}
    scopes = scopes_of("threads")
    assert instances_of(scopes) == {"/worker /shared": 800, "/worker service /call": 800, "/worker service /call > /worker /shared": 800, **timers}
    assert bytes_of(scopes)["/worker service /call > /worker /shared"] == 800 * 16
    assert all(bytes_of(scopes)[f"/worker timer {number} ms"] == 100 * (99 + number) for number in range(1, 9))


def test_what_is_created_at_the_same_address(scopes_of):
    topics = {f"/node_{node} /topic_{topic}": 5 for node in range(3) for topic in range(2)}
    assert instances_of(scopes_of("again")) == {**topics, **{f"/node_{node} timer 1 ms": 10 for node in range(3)}}


def test_more_callbacks_than_there_is_room_for(scopes_of):
    assert bytes_of(scopes_of("many")) == {"/of /chatter": 1, "callback": 1}


def test_a_forked_child_continues_in_the_callback(scopes_of):
    scopes = scopes_of("fork")
    assert figures(scopes["/forker timer 1 ms"], "instances", "allocation_calls", "allocated_bytes") == (2, 2, 300)


def test_what_tracing_allocates_is_not_the_callbacks(scopes_of):
    assert bytes_of(scopes_of("tracing")) == {"/talker timer 1 ms": 1}


def test_errno_is_kept(scopes_of):
    assert "/talker timer 500 ms" in scopes_of("errno")


def test_a_library_that_is_loaded_and_unloaded(record, folder):
    """Its libtracetools is not among those that the loader searches for the adapter."""
    command = [folder / "host", folder / "libplugin.so"]
    recording = record(command, "--ros")
    assert recording.process.returncode == 0 and recording.process.stdout == output_of(*command)
    assert bytes_of(by_path(recording.report)) == {f"/plugin timer {period} ms": 10 for period in (1, 2, 3)}


def test_the_adapter_allocates_nothing(check_counts, record, program):
    """A second count is the same, and so is that without the adapter."""
    with_adapter = check_counts([program, "nodes"], "--ros").report
    without = record([program, "nodes"]).report
    assert "scopes" not in without
    assert [with_adapter[key] for key in ("allocation_calls", "free_calls", "allocated_bytes")] == [
        without[key] for key in ("allocation_calls", "free_calls", "allocated_bytes")]


# --- the library ---


def adapter_of(build):
    return build / "lib/libheapwright-ros.so"


@pytest.mark.parametrize("case", CASES)
def test_without_a_recorder(program, build, case, tmp_path):
    alone = output_of(program, case)
    assert output_of(program, case, LD_PRELOAD=str(adapter_of(build)), HEAPWRIGHT_OUTPUT=str(tmp_path / "a.hwt")) == alone
    assert list(tmp_path.iterdir()) == []


def test_preloaded_without_record(preload, program, recorder, build):
    recording = preload([program, "nodes"], env={"LD_PRELOAD": f"{recorder}:{adapter_of(build)}"})
    assert recording.report["lost_events"] == 0 and bytes_of(by_path(recording.report))["/talker timer 500 ms"] == 3


def test_a_program_without_ros(record):
    recording = record(["/usr/bin/sort", os.devnull], "--ros")
    assert recording.process.returncode == 0 and "scopes" not in recording.report


def test_it_is_preloaded_only_if_asked_for(record):
    def preloaded(*options):
        said = record(["/usr/bin/env"], *options).process.stdout
        return [line for line in said.splitlines() if line.startswith("LD_PRELOAD=")][0]

    assert "libheapwright-ros.so" not in preloaded()
    assert preloaded("--ros").index("libheapwright-record.so") < preloaded("--ros").index("libheapwright-ros.so")
    with_both = preloaded("--ros", "--allocator", "tlsf")
    assert "libheapwright-tlsf.so" in with_both and "libheapwright-ros.so" in with_both


def test_a_missing_adapter_is_an_error(build, tmp_path, program):
    """Only the parts that a recording without it needs are installed here."""
    for part in "bin/heapwright", "lib/libheapwright-record.so":
        (tmp_path / part).parent.mkdir(exist_ok=True)
        shutil.copy(build / part, tmp_path / part)
    command = [str(tmp_path / "bin/heapwright"), "record", "-o", str(tmp_path / "a.hwt")]
    without = subprocess.run([*command, "--", program, "nodes"], capture_output=True, text=True)
    assert without.returncode == 0 and (tmp_path / "a.hwt").exists()
    done = subprocess.run([*command, "--ros", "--", program, "nodes"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (125, "")
    assert "cannot find libheapwright-ros.so" in done.stderr and "install all of heapwright" in done.stderr


def test_exports_are_functions_of_libtracetools_alone(build):
    exported = {line.split()[-1] for line in output_of("nm", "-D", "--defined-only", adapter_of(build)).splitlines()}
    assert len(exported) == 15 and all(name.startswith("ros_trace_") for name in exported)
    assert "[libc.so.6]" in output_of("readelf", "-dW", adapter_of(build)) and output_of("readelf", "-dW", adapter_of(build)).count("NEEDED") == 1
