"""Callbacks of ROS 2 programs, without a change: `record --ros` makes each of them a scope.

ROS 2 is not part of Debian: a stand-in library has the functions of libtracetools, and a program calls them as rcl and rclcpp
do. If this fails, a report by scope is wrong for ROS 2 programs, or such a program behaves differently when it is recorded.
"""

import subprocess

import pytest

from conftest import ROOT
from scopes import by_path, bytes_of

PROGRAMS = ROOT / "tests/record/programs"
NAMES = {"/talker timer 33.333 ms": 1, "timer 2 s": 2, "/robot/listener /chatter": 12, "/talker /other": 16,
         "/robot/listener service /add_two_ints": 32, "callback": 64, "free_function(int)": 128}


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ros")
    subprocess.run(["gcc", "-std=c17", "-O1", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", str(PROGRAMS / "ros_tracetools.c"),
                    "-o", str(folder / "libtracetools.so")], check=True)
    subprocess.run(["g++", "-std=c++17", "-O1", "-g", "-pthread", "-fno-builtin", "-Wall", "-Wextra", "-Werror", str(PROGRAMS / "ros.cc"),
                    "-o", str(folder / "program"), f"-L{folder}", "-ltracetools", f"-Wl,-rpath,{folder}"], check=True)
    return folder / "program"


@pytest.fixture
def recorded(record, program):
    """recorded("each"): a recording of this case, in which the program did what it does without us."""

    def run(*words, options=("--ros",)):
        plain = subprocess.run([str(program), *words], capture_output=True, text=True, check=True)
        recording = record([program, *words], *options)
        assert (recording.process.returncode, recording.process.stdout) == (0, plain.stdout), recording.process.stderr
        return recording

    return run


def test_scopes_are_named_by_what_calls_them(recorded):
    report = recorded("each").report
    assert bytes_of(by_path(report)) == NAMES
    scopes = by_path(report)
    assert scopes["/robot/listener /chatter"]["instances"] == 2
    assert all(scope["instances_left_open"] == 0 for scope in scopes.values())


def test_a_callback_that_waits_for_another_one(recorded):
    report = recorded("nested").report
    assert bytes_of(by_path(report)) == {"/talker timer 33.333 ms": 5, "/talker timer 33.333 ms > /robot/listener service /add_two_ints": 2}


def test_a_callback_that_throws(recorded):
    scopes = by_path(recorded("exception").report)
    assert bytes_of(scopes) == {"/talker timer 33.333 ms": bytes_of(scopes)["/talker timer 33.333 ms"], "/robot/listener /chatter": 2}
    assert bytes_of(scopes)["/talker timer 33.333 ms"] > 1 # with the exception, which is allocated in the callback
    assert [scope["instances"] for scope in scopes.values()] == [1, 1]


def test_an_executor_with_many_threads(recorded):
    scopes = by_path(recorded("threads", "8", "1000").report)
    keys = ("instances", "allocation_calls", "allocated_bytes")
    assert {path: tuple(scope[key] for key in keys) for path, scope in scopes.items()} == {
        "/talker timer 33.333 ms": (4000, 4000, 40000), "/robot/listener /chatter": (4000, 4000, 40000)}


def test_a_forked_child(recorded):
    recording = recorded("fork")
    assert bytes_of(by_path(recording.report_with("--children"))) == {"/talker timer 33.333 ms": 1, "/robot/listener /chatter": 3}


def test_more_objects_than_there_is_room_for(recorded):
    scopes = bytes_of(by_path(recorded("many", "100000").report))
    assert list(scopes.values()) == [1]


def test_without_the_option_there_are_no_scopes(recorded):
    assert by_path(recorded("each", options=()).report) == {}


def test_a_library_that_is_opened_later(record, program, tmp_path):
    """A node that is a component: its library brings libtracetools, which the program does not have."""
    component = tmp_path / "component.so"
    subprocess.run(["g++", "-std=c++17", "-O1", "-fPIC", "-shared", "-fno-builtin", "-Dmain=component_main", str(PROGRAMS / "ros.cc"), "-o", str(component),
                    f"-L{program.parent}", "-ltracetools", f"-Wl,-rpath,{program.parent}"], check=True)
    host = tmp_path / "host"
    source = ('#include <dlfcn.h>\nint main(void) { char *words[] = {"host", "each", 0}; void *library = dlopen("%s", RTLD_NOW); '
              'int (*run)(int, char **) = dlsym(library, "_Z14component_mainiPPc"); return run ? run(2, words) : 1; }' % component)
    subprocess.run(["gcc", "-x", "c", "-", "-o", str(host)], input=source, text=True, check=True)
    plain = subprocess.run([str(host)], capture_output=True, text=True, check=True)
    recording = record([host], "--ros")
    assert (recording.process.returncode, recording.process.stdout) == (0, plain.stdout)
    assert bytes_of(by_path(recording.report)) == NAMES


def test_programs_without_ros(record):
    recording = record(["/bin/echo", "hello"], "--ros")
    assert (recording.process.returncode, recording.process.stdout) == (0, "hello\n")


def test_without_the_recorder_the_adapter_does_nothing(program, build):
    plain = subprocess.run([str(program), "each"], capture_output=True, text=True, check=True)
    alone = subprocess.run([str(program), "each"], capture_output=True, text=True, check=True, env={"LD_PRELOAD": str(build / "lib/libheapwright-ros.so")})
    assert alone.stdout == plain.stdout and alone.stderr == ""
