"""collected.py - programs that state what they do by ITT or NVTX: without a collector, and with the recorder as nothing but one"""

import json
import os
import subprocess

from report_scopes import by_path


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
