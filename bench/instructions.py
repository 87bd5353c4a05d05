"""instructions.py - the instructions and cache misses that a recorder adds to its target, counted by valgrind's cachegrind.

Times depend on the load of the machine; these counts do not. But they do not include waiting for a lock, a system call or
memory. Each program runs at two sizes, and the difference of the counts is divided by the difference of the events, so that
a recorder's work at its start and end is not included.
"""
import dataclasses
import glob
import json
import os
import re
import subprocess

import measure
import recorders
import workloads

TOOL_FOLDER = "/usr/libexec/valgrind"
# The tool itself, not `valgrind`: heaptrack's library removes itself from the environment of the first program that loads it.
CACHEGRIND = os.path.join(TOOL_FOLDER, "cachegrind-amd64-linux")
WAYS = (recorders.PLAIN, recorders.RAW, recorders.HEAPTRACK_RAW)
LIBRARY_OF_HEAPTRACK = "/usr/lib/heaptrack/libheaptrack_preload.so"
FIGURES = {"instructions": "I *refs", "d1_misses": "D1 *misses", "ll_misses": "LLd *misses"}

SMALL_SOURCE = "#include <vector>\nint first(const std::vector<int> &all) { return all.at(0); }\n"
LARGE_SOURCE = SMALL_SOURCE + "#include <map>\n#include <string>\nint at(std::map<std::string, int> &all) { return all[\"at\"]++; }\n"


@dataclasses.dataclass
class Case:
    """A program at two sizes."""

    name: str
    text: str
    small: list
    large: list
    env: dict = dataclasses.field(default_factory=dict)


def _sqlite(work, rows):
    script = os.path.join(work, f"work.{rows}.sql")
    with open(script, "w", encoding="ascii") as out:
        out.write(workloads.SQL.format(rows=rows))
    return ["/usr/bin/sqlite3", ":memory:", f".read {script}"]


def _cc1plus(work, compiler, size, text):
    source = os.path.join(work, f"{size}.cc")
    with open(source, "w", encoding="ascii") as out:
        out.write(text)
    return [*compiler, source, "-o", os.path.join(work, f"{size}.s")]


def cases(work):
    json_work = [workloads.PYTHON, os.path.join(workloads.HERE, "json_work.py")]
    compiler = workloads.compiler_command()
    loop = workloads.compile_c("loop.c", work)
    return [
        Case("sqlite3", "sqlite3, 5,000 and 25,000 rows", _sqlite(work, 5_000), _sqlite(work, 25_000)),
        Case("python3", "python3 with PYTHONMALLOC=malloc, 300 and 1,500 rows of JSON", [*json_work, "300"],
             [*json_work, "1500"], {"PYTHONMALLOC": "malloc"}),
        Case("cc1plus", "cc1plus -O2, a source with <vector>, and one with <map> and <string> too",
             _cc1plus(work, compiler, "small", SMALL_SOURCE), _cc1plus(work, compiler, "large", LARGE_SOURCE)),
        *(Case(f"loop-{depth}", f"malloc/free loop, depth {depth}, 50,000 and 250,000 pairs",
               [loop, str(depth), "1", "50000"], [loop, str(depth), "1", "250000"]) for depth in (5, 50, 150)),
    ]


def _environment(tools, way, work):
    if way == recorders.RAW:
        return {"LD_PRELOAD": tools.library, "HEAPWRIGHT_OUTPUT": os.path.join(work, "counted.hwt")}
    if way == recorders.HEAPTRACK_RAW:
        return {"LD_PRELOAD": LIBRARY_OF_HEAPTRACK, "DUMP_HEAPTRACK_OUTPUT": os.path.join(work, "counted.heaptrack")}
    return {}


def _counts(argv, env, work):
    """What cachegrind counts in one run."""
    log = os.path.join(work, "cachegrind")
    command = [CACHEGRIND, "--tool=cachegrind", "--cache-sim=yes", f"--cachegrind-out-file={os.devnull}",
               f"--log-file={log}", *argv]
    env = {"VALGRIND_LAUNCHER": "/usr/bin/valgrind", "VALGRIND_LIB": TOOL_FOLDER, **env}
    measure.run(command, env, os.path.join(work, "stderr"))
    with open(log, encoding="utf-8", errors="replace") as lines:
        text = lines.read()
    return {name: int(re.search(rf"{pattern}: *([\d,]+)", text)[1].replace(",", "")) for name, pattern in FIGURES.items()}


def _events(tools, argv, env, work):
    trace = os.path.join(work, "events.hwt")
    measure.run([tools.tool, "record", "-q", "-o", trace, "--", *argv], env, os.path.join(work, "stderr"))
    report = subprocess.run([tools.tool, "report", "--json", "--top", "1", trace], check=True, capture_output=True)
    figures = json.loads(report.stdout)
    return figures["allocation_calls"] + figures["free_calls"]


def _remove(work, pattern):
    for path in glob.glob(os.path.join(work, pattern)):
        os.remove(path)


def _measure(tools, case, ways, work):
    events = [_events(tools, argv, case.env, work) for argv in (case.small, case.large)]
    result = {"text": case.text, "events": events[1] - events[0], "ways": {}}
    for way in ways:
        small, large = (_counts(argv, {**case.env, **_environment(tools, way, work)}, work)
                        for argv in (case.small, case.large))
        result["ways"][way] = {figure: large[figure] - small[figure] for figure in FIGURES}
        _remove(work, "counted.*")
    return result


def measure_instructions(tools, settings, work):
    """{case: {text, events, ways: {recorder: {figure: difference of the two sizes}}}}; {} if cachegrind is not installed."""
    if not os.path.exists(CACHEGRIND):
        settings.say("instructions: not measured: valgrind is not installed")
        return {}
    ways = [way for way in WAYS if way != recorders.HEAPTRACK_RAW or os.path.exists(LIBRARY_OF_HEAPTRACK)]
    found = {}
    for case in cases(work):
        settings.say(f"instructions: {case.text}")
        found[case.name] = _measure(tools, case, ways, work)
    return found
