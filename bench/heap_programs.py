"""heap_programs.py - real programs on each allocator: a database, an interpreter, a compiler and a prover"""
import math
import os
import random
import shutil
import statistics

import heap_peers
import measure
import pool
import workloads

ROUNDS = 7
SCALE = 0.2  # of sqlite3 and python3 in bench/run.py
JOBS, MACHINES, MINUTES = 8, 6, 70
SOURCE = "".join(f"#include <{name}>\n" for name in ("algorithm", "functional", "iostream", "map", "memory", "regex", "string", "vector")) + \
    "int main() { std::map<std::string, std::vector<int>> m; std::regex r(\"a*b\"); return m[\"x\"].size() + r.mark_count(); }\n"


def problem():
    """Can each job visit the machines one after the other, no machine with two jobs at once, within the minutes? In SMT-LIB."""
    times = random.Random(1)
    takes = [[times.randrange(1, 10) for _ in range(MACHINES)] for _ in range(JOBS)]
    lines = ["(set-logic QF_IDL)"]
    for job in range(JOBS):
        lines += [f"(declare-const s{job}_{machine} Int) (assert (>= s{job}_{machine} 0))" for machine in range(MACHINES)]
        lines += [f"(assert (>= (- s{job}_{machine + 1} s{job}_{machine}) {takes[job][machine]}))" for machine in range(MACHINES - 1)]
        lines.append(f"(assert (<= s{job}_{MACHINES - 1} {MINUTES - takes[job][-1]}))")
    lines += [f"(assert (or (>= (- s{one}_{machine} s{other}_{machine}) {takes[other][machine]}) "
              f"(>= (- s{other}_{machine} s{one}_{machine}) {takes[one][machine]})))"
              for machine in range(MACHINES) for one in range(JOBS) for other in range(one)]
    return "\n".join([*lines, "(check-sat)\n"])


def _written(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="ascii") as out:
        out.write(text)
    return path


def commands(folder):
    """(title, command, environment) of each program that is installed."""
    for work in workloads.prepare(folder, SCALE, ["sqlite3", "python3"]):
        yield work.name, work.argv, work.env
    source = _written(folder, "program.cc", SOURCE)
    yield "cc1plus", [*workloads.compiler_command(), source, "-o", os.path.join(folder, "program.s")], {}
    if shutil.which("z3"):
        yield "z3", [shutil.which("z3"), _written(folder, "problem.smt2", problem())], {}


def run(command, env, library, log):
    """(seconds of processor time, peak RSS in bytes)."""
    cost, peak = measure.run_one_process(command, log, env={**env, **({"LD_PRELOAD": library} if library else {})})
    return cost.cpu_s, peak


def measure_programs(libraries, folder, rounds):
    """{program: {allocator: (median of the times, median of the peaks)}}, in rounds that take turns."""
    found, log = {}, os.path.join(folder, "errors")
    for title, command, env in commands(folder):
        runs = pool.taking_turns(libraries, rounds, lambda library: run(command, env, library, log))
        found[title] = {name: tuple(map(statistics.median, zip(*ones))) for name, ones in runs.items()}
    return found


def rows(found, libraries):
    """(title, ratio to glibc of each allocator)."""
    for figure, title in enumerate(("time", "peak RSS")):
        for program, by_name in found.items():
            yield f"{title}, {program}", [f"{by_name[name][figure] / by_name[heap_peers.BASE][figure]:.2f}" for name in libraries]


def table(libraries, folder, share):
    """The table, from `share` of the usual rounds."""
    found = measure_programs(libraries, folder, math.ceil(ROUNDS * share))
    return heap_peers.table("real programs", libraries, rows(found, libraries))
