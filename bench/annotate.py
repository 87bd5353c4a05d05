"""annotate.py - what owners in front of blocks cost: a pair of malloc and free at several depths, and whole programs"""
import os
import subprocess

import measure
import workloads

DEPTHS, PAIRS = (1, 16, 50), 20_000_000
PROGRAMS = ("sqlite3", "python3", "cc1plus")
GOAL = "Goal: at most 1.3 times glibc's time at depth 16."


def _compile_library(name, work):
    library = os.path.join(work, f"{name}.so")
    subprocess.run(["gcc", "-std=gnu17", "-O2", "-fPIC", "-shared", "-fno-builtin", "-o", library,
                    os.path.join(workloads.HERE, f"{name}.c")], check=True)
    return library


def _fastest(runs, rounds, work):
    """The least CPU time of each command in rounds of all of them."""
    times = [[measure.run(argv, env, os.path.join(work, "log")).cpu_s for argv, env in runs] for _ in range(rounds)]
    return [min(column) for column in zip(*times)]


def _ways(tools, work):
    annotated = {"LD_PRELOAD": os.path.join(os.path.dirname(tools.library), "libheapwright-annotate.so")}
    yield "glibc", {}
    yield "passed on by a preloaded library", {"LD_PRELOAD": _compile_library("passing_on", work)}
    yield "passed on, 15 words of the stack compared", {"LD_PRELOAD": _compile_library("comparing", work)}
    yield "annotated, 4 frames", {**annotated, "HEAPWRIGHT_FRAMES": "4"}
    yield "annotated, 16 frames", annotated


def measure_annotate(tools, settings, work):
    program, pairs = workloads.compile_c("loop.c", work), int(PAIRS * settings.scale)
    ways = dict(_ways(tools, work))
    found = {"goal": GOAL, "loops": {}, "programs": {}}
    for depth in DEPTHS:
        settings.say(f"annotate: {pairs:,} pairs at depth {depth}")
        times = _fastest([([program, str(depth), "1", str(pairs)], env) for env in ways.values()], settings.rounds, work)
        found["loops"][depth] = {text: time / pairs * 1e9 for text, time in zip(ways, times)}
    for workload in workloads.prepare(work, settings.scale, list(PROGRAMS)):
        settings.say(f"annotate: {workload.name}")
        times = _fastest([(workload.argv, {**workload.env, **env}) for env in ways.values()], settings.rounds, work)
        found["programs"][workload.name] = dict(zip(ways, times))
    return found
