"""scopes.py - what scopes and heaps of the program's own cost it, with and without the recorder, and what ten million scopes
cost a report"""
import os
import resource
import subprocess
import time

import workloads

ROUNDS, SCOPES = 5, 10_000_000
GOALS = ("Goals: 2 ns without a recorder, 60 ns with it; a report within 1.2 times of that without scopes, plus 0.5 s. For comparison, "
         "Tracy publishes 2.25 ns for a zone, which has no allocations and no stacks.")


def _round_ns(command):
    return min(float(subprocess.run(command, check=True, capture_output=True, text=True).stderr.split()[-1]) for _ in range(ROUNDS))


def _report_s(tools, trace):
    """[wall, CPU] seconds of the fastest first report."""
    found = []
    for _ in range(ROUNDS):
        for left in (f"{trace}.sum", f"{trace}.names"):
            if os.path.exists(left):
                os.unlink(left)
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        subprocess.run([tools.tool, "report", trace], check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append([time.monotonic() - began, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime])
    return [min(figure) for figure in zip(*found)]


def measure_scopes(tools, settings, work):
    program = workloads.compile_c("scopes.c", work)
    settings.say(f"scopes: {SCOPES:,} of them")
    found = {"count": SCOPES, "goals": GOALS, "traces": {}, "reports": {}}

    def recorded(kind):
        trace = os.path.join(work, f"{kind}.hwt")
        return [tools.tool, "record", "-q", "-o", trace, "--", program, str(SCOPES), kind], trace

    for kind, of in ("empty", ""), ("heap", "heap_"):
        found[f"{of}plain_ns"] = _round_ns([program, str(SCOPES), kind])
        found[f"{of}recorded_ns"] = _round_ns(recorded(kind)[0])
    for kind in "calls", "scopes":
        command, trace = recorded(kind)
        subprocess.run(command, check=True, capture_output=True)
        found["traces"][kind] = os.stat(trace).st_blocks * 512
        found["reports"][kind] = _report_s(tools, trace)
    return found
