"""run.py - runs the benchmarks and compares with heaptrack: tables on stdout, results as JSON, docs/benchmarks.md on request.

Every workload runs in rounds of: no recorder, `heapwright record`, the same without its summary, our library alone,
heaptrack, `heaptrack -r`. The figure for each is its fastest run.
"""
import argparse
import datetime
import json
import os
import platform
import resource
import shlex
import shutil
import sys
import tempfile
import time
import types

import annotate
import core
import debug_info
import instructions
import large
import latency
import live
import measure
import page
import recorders
import sampling
import scopes
import short
import suite
import tables
import workloads

ROOT = os.path.dirname(workloads.HERE)
QUICK_SCALE, QUICK_ROUNDS = 0.2, 2
APART = ("instructions", "latency", "scopes", "sampling", "annotate", "page", "short", "live", "large", "debug-info", "core")  # names for --only that are no workloads
ON_THEIR_OWN = ("sampling", "annotate", "short", "live", "large", "debug-info", "core")  # stay in results.json with the conditions of their measurement; the last three run only on request
ROUNDS, LATENCY_ROUNDS, LATENCY_CALLS = 5, 3, 10_000_000


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"), help="build tree to measure (build)")
    parser.add_argument("--quick", action="store_true", help="a fifth of the size, two rounds, no instructions, no latency, no sampling, no annotation, no page, no short processes, no live view")
    parser.add_argument("--full", action="store_true",
                        help="also heaptrack's interpreter on cc1plus and with --debug-info, which needs minutes and 20 GB")
    parser.add_argument("--scale", type=float, help="size of sqlite3, python3 and the loops, relative to the full size (1)")
    parser.add_argument("--rounds", type=int, help=f"rounds of each workload ({ROUNDS})")
    parser.add_argument("--only", default="", help="workloads, comma-separated, instructions, latency, scopes, sampling, annotate, page, short, live, large, debug-info or core")
    parser.add_argument("--recorders", default="", help="comma-separated; default: all, heaptrack's if it is installed")
    parser.add_argument("--folder", help="folder for inputs and traces during the run (the build tree)")
    parser.add_argument("--large", type=int, metavar="EVENTS", default=0,
                        help="also a report on a trace of this many events; 2000000000 needs minutes and 0.5 GB")
    parser.add_argument("--debug-info", type=int, metavar="BYTES", default=0,
                        help="also a report on a program with this much debug information; 1000000000 needs minutes and 4 GB")
    parser.add_argument("--core", type=int, metavar="BLOCKS", default=0,
                        help="also reading a core dump with this many blocks; 5000000 needs 1.2 GB of disk and of memory, 50000000 12 GB")
    parser.add_argument("--latency-calls", type=int, default=LATENCY_CALLS)
    parser.add_argument("--sampling-rounds", type=int, default=sampling.ROUNDS,
                        help=f"rounds of the programs of sampling ({sampling.ROUNDS}: some three minutes)")
    parser.add_argument("--add", action="store_true", help="keep the results of workloads that are not run now in results.json")
    parser.add_argument("--document", action="store_true", help="write docs/benchmarks.md from results.json")
    parser.add_argument("--show", action="store_true", help="measure nothing: print (or document) results.json")
    return parser.parse_args()


def machine():
    """The properties of the machine that affect the figures, without its name."""
    with open("/proc/cpuinfo", encoding="utf-8") as cpuinfo:
        model = next((line.split(":")[1].strip() for line in cpuinfo if line.startswith("model name")), "unknown")
    with open("/proc/meminfo", encoding="ascii") as meminfo:
        memory_kib = int(next(line for line in meminfo if line.startswith("MemTotal")).split()[1])
    with open("/etc/os-release", encoding="utf-8") as release:
        system = next((line.split("=")[1].strip().strip('"') for line in release if line.startswith("PRETTY_NAME")), "")
    virtual = os.path.exists("/proc/cpuinfo") and " hypervisor " in open("/proc/cpuinfo", encoding="utf-8").read()
    return {
        "cpu": model,
        "cores": len(os.sched_getaffinity(0)),
        "virtual": virtual,
        "memory_bytes": memory_kib * 1024,
        "kernel": ".".join(platform.release().split("-")[0].split(".")[:3]),
        "system": system,
    }


class OtherLoad:
    """Measures how many cores other programs kept busy, from its creation to `cores`."""

    def __init__(self):
        self.start = self._now()

    @staticmethod
    def _now():
        """(all busy CPU seconds of the machine, ours, time)."""
        with open("/proc/stat", encoding="ascii") as stat:
            user, nice, system, _idle, _wait, irq, softirq = (int(text) for text in stat.readline().split()[1:8])
        busy = (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")
        usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return busy, sum(usage.ru_utime + usage.ru_stime for usage in usages), time.monotonic()

    def cores(self):
        busy, ours, seconds = (now - then for now, then in zip(self._now(), self.start))
        return max(0.0, busy - ours) / seconds


def settings_of(given):
    quick = given.quick
    return types.SimpleNamespace(
        scale=given.scale or (QUICK_SCALE if quick else 1.0),
        rounds=given.rounds or (QUICK_ROUNDS if quick else ROUNDS),
        full=given.full,
        latency_rounds=LATENCY_ROUNDS,
        latency_calls=given.latency_calls,
        sampling_rounds=given.sampling_rounds,
        say=lambda text: print(text, file=sys.stderr, flush=True),
    )


def choose_recorders(tools, given):
    names = given.recorders.split(",") if given.recorders else tools.names()
    unknown = set(names) - set(recorders.TITLES)
    if unknown or recorders.PLAIN not in names:
        raise SystemExit(f"bench: --recorders takes {', '.join(recorders.TITLES)}, and needs plain")
    if not tools.heaptrack:
        print("bench: heaptrack is not installed; only heapwright is measured", file=sys.stderr)
    return names


def run_all(given, settings, results, work):
    tools = recorders.Recorders(os.path.abspath(given.build), recorders.find_heaptrack())
    names = choose_recorders(tools, given)
    only = [name for name in given.only.split(",") if name]
    chosen = [name for name in only if name not in APART]
    if chosen or not only:
        suit = suite.Suite(tools, names, work, settings)
        for workload in workloads.prepare(work, settings.scale, chosen):
            results["workloads"][workload.name] = suit.measure(workload)
    if "instructions" in only or (not only and not given.quick):
        results["instructions"] = instructions.measure_instructions(tools, settings, work)
    if "latency" in only or (not only and not given.quick):
        program = workloads.compile_c("latency.c", work)
        results["latency"] = latency.measure_latency(tools, names, program, settings, work)
    if "scopes" in only or (not only and not given.quick):
        results["scopes"] = scopes.measure_scopes(tools, settings, work)
    if "sampling" in only or (not only and not given.quick):
        results["sampling"] = on_its_own(lambda: sampling.measure_sampling(tools, settings, work))
    if "annotate" in only or (not only and not given.quick):
        results["annotate"] = on_its_own(lambda: annotate.measure_annotate(tools, settings, work))
    if "page" in only or (not only and not given.quick):
        results["page"] = page.measure_page(tools, settings, work)
    if "short" in only or (not only and not given.quick):
        results["short"] = on_its_own(lambda: short.measure_short(tools, settings, work))
    if "live" in only or (not only and not given.quick):
        results["live"] = on_its_own(lambda: live.measure_live(tools, settings, work))
    if given.large:
        results["large"] = on_its_own(lambda: large.measure_large(tools, given.large, settings, work))
    if given.debug_info:
        results["debug-info"] = on_its_own(lambda: debug_info.measure_debug_info(tools, given.debug_info, settings, work))
    if given.core:
        results["core"] = on_its_own(lambda: core.measure_core(tools, given.core, settings, work))


def on_its_own(measure_it):
    """The result of `measure_it`, with the conditions of the measurement."""
    others = OtherLoad()
    found = measure_it()
    return {**found, "command": command(), "date": datetime.date.today().isoformat(), "machine": machine(),
            "other_busy_cores": others.cores()}


def load(path):
    try:
        with open(path, encoding="utf-8") as kept:
            return json.load(kept)
    except FileNotFoundError:
        raise SystemExit(f"bench: no {path} yet; run without --show and --add first") from None


def command():
    """The command with which a user gets the same figures."""
    words = sys.argv[1:]
    for option in ("--build", "--folder"):
        if option in words:
            at = words.index(option)
            del words[at : at + 2]
    flags = shlex.join(words)
    return "make bench" + (f" BENCH_FLAGS={shlex.quote(flags)}" if flags else "")


def commands(results):
    """The commands that made the results, this one last; with --add there are several."""
    return [each for each in results.get("commands", []) if each != command()] + [command()]


def results_to_begin_with(given, path):
    """The results that are not measured now and stay."""
    fresh = {"workloads": {}, "instructions": {}, "latency": {}}
    if given.add:
        return load(path)
    if not os.path.exists(path):
        return fresh
    return {**fresh, **{name: found for name, found in load(path).items() if name in ON_THEIR_OWN}}


def measured(given, path):
    settings = settings_of(given)
    results = results_to_begin_with(given, path)
    conditions = dict(commands=commands(results), machine=machine(), scale=settings.scale, rounds=settings.rounds,
                      date=datetime.date.today().isoformat())
    folder = os.path.abspath(given.folder or os.path.join(given.build, "bench"))
    os.makedirs(folder, exist_ok=True)
    work = tempfile.mkdtemp(prefix="run.", dir=folder)
    os.chmod(work, 0o755)  # apache2 serves and records as another user
    measure.adopt_orphans()
    measure.volunteer_for_oom_killer()
    start, others = time.monotonic(), OtherLoad()
    try:
        run_all(given, settings, results, work)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    conditions.update(took_s=time.monotonic() - start, other_busy_cores=others.cores())
    if not given.add or not set(given.only.split(",")) <= set(ON_THEIR_OWN):  # otherwise the conditions of the kept figures stay
        results.update(conditions)
    results["workloads"] = {name: results["workloads"][name] for name in workloads.NAMES if name in results["workloads"]}
    with open(path, "w", encoding="utf-8") as out:
        json.dump(results, out, indent=1)
    return results


def main():
    given = options()
    os.makedirs(os.path.join(given.build, "bench"), exist_ok=True)
    path = os.path.join(given.build, "bench", "results.json")
    results = load(path) if given.show else measured(given, path)
    print(tables.as_text(results))
    if given.document:
        with open(os.path.join(ROOT, "docs", "benchmarks.md"), "w", encoding="utf-8") as out:
            out.write(tables.as_document(results))
    print(f"results: {path}", file=sys.stderr)


if __name__ == "__main__":
    try:
        main()
    except measure.Failed as failure:
        raise SystemExit(f"bench: {failure}") from None
