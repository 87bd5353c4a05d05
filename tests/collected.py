"""collected.py - programs that state what they do by ITT or NVTX: without a collector, and with the recorder as nothing but one"""

import json
import os
import subprocess

from conftest import ROOT
from report_scopes import by_path

PROGRAMS = ROOT / "tests/record/programs"


def build_case_program(name, folder):
    """NAME.c of the test programs, which runs the case that its argument names."""
    program = folder / "program"
    subprocess.run(["gcc", "-std=c17", "-O1", "-g", "-pthread", "-fno-builtin", "-Wall", "-Wextra", "-Werror", PROGRAMS / f"{name}.c", "-o", program],
                   check=True)
    return program


def scopes_of_case(recording):
    """The scopes of a recorded case that was done, by path ("a > b")."""
    assert (recording.process.returncode, recording.process.stdout) == (0, "done\n"), recording.process.stderr
    assert recording.report["lost_events"] == 0
    return by_path(recording.report)


def run_without_a_recorder(program, case, folder):
    environment = {**os.environ, "XDG_STATE_HOME": str(folder / "state"), "HEAPWRIGHT_OUTPUT": str(folder / "a.hwt")}
    done = subprocess.run([program, case], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
    assert list(folder.iterdir()) == []


def report_of_collector(program, case, variable, recorder, trace, hw):
    """The report of a run in which only `variable` names the recorder: it sees no calls of malloc, and says so."""
    environment = {**os.environ, "HEAPWRIGHT_OUTPUT": str(trace), variable: str(recorder)}
    done = subprocess.run([program, case], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
    report = json.loads(hw("report", "--json", trace).stdout)
    assert report["allocation_calls"] == report["lost_events"] == report["damaged_chunks"] == 0
    assert {"kind": "loaded late", "text": "calls of malloc"} in report["images"][0]["notes"]
    return report


def instances_of(report):
    """Without paths that name a library: these differ if the recorder is preloaded."""
    return {path: scope["instances"] for path, scope in by_path(report).items() if ".so" not in path}
