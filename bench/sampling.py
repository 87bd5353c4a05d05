"""sampling.py - what a sampled recording costs: a pair of malloc and free, beside the sampling profilers of tcmalloc and
jemalloc, and whole programs"""
import os
import subprocess

import measure
import workloads

DEPTH, PAIRS = 50, 20_000_000
MEAN_BYTES, MEAN_LOG2 = 512 << 10, 19
ALLOCATORS = (("tcmalloc", "libtcmalloc.so.4", {"TCMALLOC_SAMPLE_PARAMETER": str(MEAN_BYTES)}),
              ("jemalloc", "libjemalloc.so.2", {"MALLOC_CONF": f"prof:true,lg_prof_sample:{MEAN_LOG2},prof_final:false"}))
PROGRAMS = ("sqlite3", "python3", "cc1plus")
GOALS = ("Goals: a call that is not in the sample, half a pair, costs 4 ns more than passing it on; cc1plus 1 %, sqlite3 5 %, "
         "python3 8 %.")


def _is_installed(library):
    """The loader reports a library that it does not find."""
    return not subprocess.run(["true"], env={**os.environ, "LD_PRELOAD": library}, check=True, capture_output=True).stderr


def _compile_library(work):
    library = os.path.join(work, "passing_on.so")
    subprocess.run(["gcc", "-std=gnu17", "-O2", "-fPIC", "-shared", "-fno-builtin", "-o", library,
                    os.path.join(workloads.HERE, "passing_on.c")], check=True)
    return library


def _variants(recorder, work):
    """(text, environment, text of the variant that it is compared with) of each way to run the loop."""
    recorded = {"LD_PRELOAD": recorder, "HEAPWRIGHT_OUTPUT": os.path.join(work, "loop.%p.hwt")}
    yield "no recorder", {}, None
    yield "passed on by a preloaded library", {"LD_PRELOAD": _compile_library(work)}, "no recorder"
    yield "a sample, 512 KiB", {**recorded, "HEAPWRIGHT_SAMPLE": str(MEAN_BYTES)}, "passed on by a preloaded library"
    yield "recorded exactly", recorded, "passed on by a preloaded library"
    for name, library, settings in ALLOCATORS:
        if _is_installed(library):
            yield name, {"LD_PRELOAD": library}, None
            yield f"{name}, its profiler, 512 KiB", {"LD_PRELOAD": library, **settings}, name


def _cpu_s(argv, env, work):
    cost = measure.run(argv, env, os.path.join(work, "log"))
    for name in os.listdir(work):
        if name.endswith(".hwt"):
            os.unlink(os.path.join(work, name))
    return cost.cpu_s


def _fastest(runs, rounds, work):
    """The least CPU time of each command in rounds of all of them."""
    times = [[_cpu_s(argv, env, work) for argv, env in runs] for _ in range(rounds)]
    return [min(column) for column in zip(*times)]


def measure_sampling(tools, settings, work):
    recorder = tools.library
    program, pairs = workloads.compile_c("loop.c", work), int(PAIRS * settings.scale)
    variants = list(_variants(recorder, work))
    settings.say(f"sampling: {pairs:,} pairs in {len(variants)} ways")
    times = _fastest([([program, str(DEPTH), "1", str(pairs)], env) for _, env, _ in variants], settings.rounds, work)
    found = {"goals": GOALS, "pairs": [{"text": text, "ns": time / pairs * 1e9, "against": against}
                                       for (text, _, against), time in zip(variants, times)], "programs": {}}
    sampled = {"LD_PRELOAD": recorder, "HEAPWRIGHT_OUTPUT": os.path.join(work, "%p.hwt"), "HEAPWRIGHT_SAMPLE": str(MEAN_BYTES)}
    for workload in workloads.prepare(work, settings.scale, list(PROGRAMS)):
        settings.say(f"sampling: {workload.name}")
        found["programs"][workload.name] = _fastest([(workload.argv, workload.env), (workload.argv, {**workload.env, **sampled})],
                                                    settings.rounds, work)
    return found
