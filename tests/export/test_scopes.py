"""test_scopes.py - the scopes that a program marked, in each format that can hold them"""

import csv
import json
import re
import shutil
import sqlite3
import subprocess
from collections import Counter

import pytest
from pprof_file import Pprof

from conftest import ROOT

ALL_CASES = ["attribute", "recurse", "threads", "fork", "longjmp", "thread exits", "names", "die", "none"]
LONGEST = "x" * 10000


@pytest.fixture(scope="module")
def marked(build, tmp_path_factory):
    """marked("attribute"): the recording of this case of tests/record/programs/scopes.cc."""
    folder = tmp_path_factory.mktemp("marked")
    program = folder / "program"
    source = ROOT / "tests/record/programs/scopes.cc"
    subprocess.run(["g++", "-std=c++17", "-g", "-O1", "-fno-builtin", "-pthread", f"-I{ROOT}/include", source, "-o", program], check=True)
    traces = {}

    def recording(case):
        if case not in traces:
            traces[case] = folder / f"{case.replace(' ', '-')}.hwt"
            command = [build / "bin/heapwright", "record", "-q", "-o", traces[case], program, case]
            assert subprocess.run(command, capture_output=True, timeout=60).returncode in (0, 137)
        return traces[case]

    return recording


# --- chrome ---


def slices_of(path):
    """The slices of scopes, each with the names around it; they must nest in each thread."""
    found, open_of_thread = [], {}
    for event in json.loads(path.read_bytes().decode("utf-8"))["traceEvents"]:
        stack = open_of_thread.setdefault((event["pid"], event.get("tid")), [])
        if event["ph"] == "B":
            assert event["cat"] == "scope" and event["ts"] >= (stack[-1]["ts"] if stack else 0)
            stack.append(event)
        elif event["ph"] == "E":
            begun = stack.pop()
            assert begun["name"] == event["name"] and begun["ts"] <= event["ts"]
            path = tuple(outer["name"] for outer in [*stack, begun])
            found.append({"path": path, "tid": event["tid"], "ts": begun["ts"], "end": event["ts"], "begin_args": begun.get("args", {}), **event["args"]})
    assert not any(open_of_thread.values())
    return found


def memory_of(path):
    return {found["path"]: found["Memory(size,count)"] for found in slices_of(path)}


def test_a_slice_has_what_its_scope_did_by_size(export, marked):
    assert memory_of(export(marked("attribute"), "x.trace.json")) == {
        ("region", "inside"): {"1144": 1, "TOTAL": 1144, "CHILDREN": 0},
        ("region",): {"8": -1, "16": 2, "TOTAL": 24, "CHILDREN": 1144},
    }


def test_slices_are_the_instances_of_the_report(export, report, marked):
    for case in ALL_CASES:
        shown = report(marked(case)).get("scopes", [])
        found = slices_of(export(marked(case), "x.trace.json"))
        assert Counter(s["path"] for s in found) == {tuple(scope["path"]): scope["instances"] for scope in shown}
        for scope in shown:
            same = [s for s in found if s["path"] == tuple(scope["path"])]
            assert sum(s["Memory(size,count)"]["TOTAL"] for s in same) == scope["self"]["net_bytes"]
            assert sum(s["Memory(size,count)"]["TOTAL"] + s["Memory(size,count)"]["CHILDREN"] for s in same) == scope["net_bytes"]
            assert sum("left_open" in s for s in same) == scope["instances_left_open"]
            assert abs(sum(s["end"] - s["ts"] for s in same) * 1000 - scope["duration_ns"]) < 1 + len(same)


def test_slices_of_sixteen_threads(export, report, marked):
    found = slices_of(export(marked("threads"), "x.trace.json"))
    threads = {s["begin_args"]["number"]: s for s in found if s["path"] == ("thread",)}
    assert sorted(threads) == list(range(16)) and len({s["tid"] for s in threads.values()}) == 16
    for number, thread in threads.items():
        work = [s["Memory(size,count)"] for s in found if s["tid"] == thread["tid"] and s["path"] == ("thread", "work")]
        size = (number + 1) * 7
        kept, freed = {str(size): 1, "TOTAL": size, "CHILDREN": 0}, {"TOTAL": 0, "CHILDREN": 0}
        assert work == [kept, freed] * 50
        assert thread["Memory(size,count)"] == {"TOTAL": 0, "CHILDREN": 50 * size}


def test_recursive_slices_have_their_numbers(export, marked):
    found = slices_of(export(marked("recurse"), "x.trace.json"))
    assert {len(s["path"]): s["begin_args"] for s in found} == {depth: {"number": 6 - depth} for depth in range(1, 6)}
    assert {len(s["path"]): s["Memory(size,count)"] for s in found} == {
        depth: {"10": 1, "TOTAL": 10, "CHILDREN": 50 - 10 * depth} for depth in range(1, 6)
    }


def test_slices_left_open_end_with_the_last_event(export, marked):
    found = {s["path"][-1]: s for s in slices_of(export(marked("die"), "x.trace.json"))}
    assert found["at the end"]["Memory(size,count)"] == {"77": 1, "TOTAL": 77, "CHILDREN": 0}
    assert found["at the end"]["end"] == found["before"]["end"] > found["at the end"]["ts"]
    assert all(s["left_open"] for s in found.values())


def test_slices_with_strange_names(export, marked):
    assert {s["path"] for s in slices_of(export(marked("names"), "x.trace.json"))} == {
        ('"quoted" \\ and <b>',), ("\U0001f418 emoji",), (LONGEST,), ("",)
    }


def test_slices_of_all_processes(export, marked):
    found = slices_of(export(marked("fork"), "x.trace.json", "--children"))
    child = next(s for s in found if s["path"] == ("outer", "inner", "of the child"))
    assert child["Memory(size,count)"] == {"300": 1, "TOTAL": 300, "CHILDREN": 0}
    inner = [s["Memory(size,count)"] for s in found if s["path"] == ("outer", "inner")]
    assert [sizes["CHILDREN"] for sizes in inner].count(300) == 1 and any(sizes.get("400") == 1 for sizes in inner)


def test_slices_of_an_interval(export, marked):
    """The slices that are open when the interval begins are begun there, and those that are open at its end are ended there."""
    whole = {s["path"]: s for s in slices_of(export(marked("recurse"), "x.trace.json"))}
    innermost = max(whole.values(), key=lambda s: len(s["path"]))
    outer = whole[innermost["path"][:-1]]
    from_ns = round(outer["ts"] * 1000) + 1
    to_ns = round(innermost["end"] * 1000) + 1
    part = {s["path"]: s for s in slices_of(export(marked("recurse"), "y.trace.json", "--from", f"{from_ns}ns", "--to", f"{to_ns}ns"))}
    assert set(part) == set(whole)
    assert all(from_ns - 1 <= round(s["ts"] * 1000) and round(s["end"] * 1000) <= to_ns for s in part.values())
    assert part[("level",)]["Memory(size,count)"]["TOTAL"] == 0 < part[innermost["path"]]["Memory(size,count)"]["TOTAL"]


def test_slices_of_chosen_threads(export, report, marked):
    tid = report(marked("threads"))["by_thread"][-1]["tid"]
    found = slices_of(export(marked("threads"), "x.trace.json", "--thread", str(tid)))
    assert found and {s["tid"] for s in found} == {tid}
