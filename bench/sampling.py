"""sampling.py - what a sampled recording costs: a pair of malloc and free, next to the sampling profilers of tcmalloc and
jemalloc, and whole programs, with the launcher and the packer"""
import dataclasses
import os
import shutil
import socket
import subprocess
import time

import measure
import workloads

DEPTH, PAIRS = 50, 20_000_000
MEAN_BYTES, MEAN_LOG2 = 512 << 10, 19
ALLOCATORS = (("tcmalloc", "libtcmalloc.so.4", {"TCMALLOC_SAMPLE_PARAMETER": str(MEAN_BYTES)}),
              ("jemalloc", "libjemalloc.so.2", {"MALLOC_CONF": f"prof:true,lg_prof_sample:{MEAN_LOG2},prof_final:false"}))
PAIR_GOAL_NS, MEMORY_GOAL_MB = 4, 4
ROUNDS, EXACT_EVERY = 6, 4  # an exact recording in every fourth round
TRUES = 200
SERVER, REQUESTS = "/usr/bin/redis-server", 800_000
PARTS, PART = 3, "g++ -std=c++17 -O2 -fPIC -c -DPART=part{n} {source} -o part{n}.o"


@dataclasses.dataclass
class Program:
    """`goal` is the share of CPU time that may be added. `use` is called while the program runs, and ends it."""

    name: str
    text: str
    argv: list
    goal: float
    env: dict = dataclasses.field(default_factory=dict)
    use: object = None
    is_one_process: bool = True


# --- a pair of malloc and free ---

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


def _measure_pairs(recorder, settings, work):
    program, pairs = workloads.compile_c("loop.c", work), int(PAIRS * settings.scale)
    variants = list(_variants(recorder, work))
    settings.say(f"sampling: {pairs:,} pairs in {len(variants)} ways")
    times = [[_cpu_s([program, str(DEPTH), "1", str(pairs)], env, work) for _, env, _ in variants] for _ in range(settings.rounds)]
    return [{"text": text, "ns": min(column) / pairs * 1e9, "against": against}
            for (text, _, against), column in zip(variants, zip(*times))]


# --- programs ---

def _can_connect(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _redis(work, scale):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]

    def use():
        while not _can_connect(port):
            time.sleep(0.01)
        subprocess.run(["redis-benchmark", "-p", str(port), "-t", "set,get", "-n", str(int(REQUESTS * scale / 2)), "-r", "100000", "-P", "16", "-q"],
                       check=True, capture_output=True)
        subprocess.run(["redis-cli", "-p", str(port), "shutdown", "nosave"], check=True, capture_output=True)

    return Program("redis", f"redis-server, {int(REQUESTS * scale):,} requests of redis-benchmark",
                   [SERVER, "--port", str(port), "--save", "", "--dir", work], 0.01, use=use)


def _build(work):
    source = os.path.join(workloads.HERE, "debug_part.cc")
    script = [PART.format(n=n, source=source) for n in range(PARTS)] + ["g++ -shared part*.o -o parts.so"]
    return Program("build", f"a C++ build: g++ -O2 of {PARTS} sources, and a link", ["sh", "-ec", f"cd {work}; " + "; ".join(script)], 0.01,
                   is_one_process=False)


def _programs(settings, work):
    """The programs that are installed."""
    goals = {"sqlite3": 0.05, "python3": 0.08, "cc1plus": 0.01}
    for name, goal in goals.items():
        workload, = workloads.prepare(work, settings.scale, [name])
        yield Program(name, workload.text, workload.argv, goal, workload.env)
    if os.path.exists(SERVER) and shutil.which("redis-benchmark"):
        yield _redis(work, settings.scale)
    else:
        settings.say("sampling: redis-server not measured: redis is not installed (tools/setup.sh bench)")
    yield _build(work)


def _cost(tools, program, options, work):
    """CPU time of the program, recorded with these options, and of the recorder's processes; options None: not recorded."""
    folder = os.path.join(work, "traces")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    argv = program.argv if options is None else [tools.tool, "record", "-q", *options, "-o", os.path.join(folder, "run.hwt"), "--", *program.argv]
    return measure.run_while(argv, program.env, os.path.join(work, "log"), program.use or (lambda: None)).cpu_s


def _memory_added(tools, program, work):
    """Bytes added to the peak PSS of the program."""
    sampled = {"LD_PRELOAD": tools.library, "HEAPWRIGHT_OUTPUT": os.path.join(work, "%p.hwt"), "HEAPWRIGHT_SAMPLE": str(MEAN_BYTES)}
    without, with_it = (measure.peak_memory(program.argv, {**program.env, **env}, os.path.join(work, "log"), os.path.realpath(program.argv[0]))
                        for env in ({}, sampled))
    return with_it["target_peak_pss_bytes"] - without["target_peak_pss_bytes"]


def _measure_program(tools, program, settings, work):
    """Rounds without and with a sample, in alternating order, since the load of the machine changes."""
    settings.say(f"sampling: {program.text}")
    ways = {"plain": None, "sample": ["--sample"]}
    found = {"text": program.text, "goal": program.goal, "plain": [], "sample": [], "exact": []}
    for n in range(settings.sampling_rounds):
        for way in sorted(ways, reverse=n % 2):
            found[way].append(_cost(tools, program, ways[way], work))
        if n % EXACT_EVERY == 0:
            found["exact"].append((_cost(tools, program, [], work), found["plain"][-1]))
    if program.is_one_process and not program.use:
        found["memory_bytes"] = _memory_added(tools, program, work)
    return found


def _measure_starts(tools, settings, work):
    """CPU seconds that a run of one short process adds, and each further process."""
    found = {}
    for count in (1, 1 + TRUES):
        script = f"i=1; while [ $i -lt {count} ]; do /bin/true; i=$((i+1)); done"
        program = Program("true", "", ["sh", "-c", script], 0)
        costs = [[_cost(tools, program, options, work) for options in (None, ["--sample"])] for _ in range(settings.rounds)]
        found[count] = min(cost for _, cost in costs) - min(cost for cost, _ in costs)
    return {"run_s": found[1], "process_s": (found[1 + TRUES] - found[1]) / TRUES}


def measure_sampling(tools, settings, work):
    """{"pairs": each way to run a loop, "programs": CPU seconds by way, "starts"}. Raises measure.Failed."""
    pairs = _measure_pairs(tools.library, settings, work)
    return {"goal_ns": 2 * PAIR_GOAL_NS, "pair_count": int(PAIRS * settings.scale), "pairs": pairs, "memory_goal_mb": MEMORY_GOAL_MB,
            "programs": [_measure_program(tools, program, settings, work) for program in _programs(settings, work)],
            "starts": _measure_starts(tools, settings, work)}
