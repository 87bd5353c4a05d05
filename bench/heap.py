"""heap.py - the heap and other allocators under the workloads of heap_work.c: heap.py --build BUILD [WORKLOAD...]

Prints the processor time and the peak RSS of each allocator as ratios to those of glibc, with their geometric means; the address
space and the RSS after 16 threads have ended; and the instructions of single calls, counted by callgrind (with the call itself and the
test's own, some 6). The rounds take turns, and the smallest time and the median RSS count: other load on the machine affects all
allocators alike. An allocator that is not installed is left out. With --document the tables are written to docs/heap.md.
"""
import argparse
import math
import os
import statistics
import subprocess
import sys
import tempfile

import pool
from run import OtherLoad

PAGE = os.path.join(os.path.dirname(pool.HERE), "docs", "heap.md")
WORKLOADS = ("server", "pass", "exchange", "lifetimes", "small", "large", "grow", "scratch", "thrash", "up-down", "many")
BASE = "glibc"
AFTERWARDS = "many"  # the workload after which address space and RSS are of interest


def find_libraries(build):
    peers = pool.find_libraries(build)
    del peers["pool"]
    return {"heap": os.path.join(build, "lib", "libheapwright-heap.so"), **peers}


def run(program, library, workload, percent):
    """(nanoseconds of processor time, peak RSS, address space and RSS at the end in kB)."""
    env = {**os.environ, **({"LD_PRELOAD": library} if library else {})}
    done = subprocess.run([program, workload, str(percent)], env=env, check=True, capture_output=True, text=True)
    if done.stderr:
        raise SystemExit(f"heap.py: {done.stderr}")
    return [int(word) for word in done.stdout.split()]


def measure(program, libraries, workloads, settings):
    """{workload: {allocator: (time, peak, space, at the end)}}."""
    found = {}
    for workload in workloads:
        rounds = {name: [] for name in libraries}
        for _ in range(settings.rounds):
            for name, library in libraries.items():
                rounds[name].append(run(program, library, workload, settings.percent))
        found[workload] = {name: (min(one[0] for one in ones), *(statistics.median(one[i] for one in ones) for i in (1, 2, 3)))
                           for name, ones in rounds.items()}
    return found


def geometric_mean(ratios):
    return math.exp(statistics.fmean(math.log(ratio) for ratio in ratios))


def ratios(found, libraries, figure):
    """Rows of (workload, ratio of each allocator to glibc), and at the end their geometric means."""
    rows = [(workload, [by_name[name][figure] / by_name[BASE][figure] for name in libraries]) for workload, by_name in found.items()]
    return [*rows, ("geometric mean", [geometric_mean(column) for column in zip(*(row[1] for row in rows))])]


def table_of_ratios(found, libraries):
    text = "| | " + " | ".join(libraries) + " |\n|---|" + "---:|" * len(libraries) + "\n"
    for title, figure in (("time", 0), ("peak RSS", 1)):
        for workload, row in ratios(found, libraries, figure):
            text += f"| {title}, {workload} | " + " | ".join(f"{ratio:.2f}" for ratio in row) + " |\n"
    return text


def table_afterwards(found, libraries):
    text = "\n| after `many` | " + " | ".join(libraries) + " |\n|---|" + "---:|" * len(libraries) + "\n"
    for title, figure in (("address space", 2), ("RSS", 3), ("peak RSS", 1)):
        text += f"| {title} | " + " | ".join(f"{found[AFTERWARDS][name][figure] / 1000:.1f} MB" for name in libraries) + " |\n"
    return text


def table_of_instructions(libraries, folder):
    text = "\n| instructions | " + " | ".join(libraries) + " |\n|---|" + "---:|" * len(libraries) + "\n"
    program = pool.build_program(folder)
    counts = {name: pool.count(program, library, "random", folder) for name, library in libraries.items()}
    for called in ("malloc", "free"):
        for title, figure in (("median", statistics.median), ("mean", statistics.fmean)):
            text += f"| {called}, {title} | " + " | ".join(f"{figure(counts[name][called]):.0f}" for name in libraries) + " |\n"
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help=f"{', '.join(WORKLOADS)} (default: all)")
    parser.add_argument("--build", default=os.path.join(os.path.dirname(pool.HERE), "build"))
    parser.add_argument("--percent", type=int, default=20, help="how much of each workload is done (default: 20)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each allocator (default: 3)")
    parser.add_argument("--document", action="store_true", help="write the tables to docs/heap.md")
    given = parser.parse_args()
    unknown = set(given.workloads) - set(WORKLOADS)
    if unknown:
        raise SystemExit(f"heap.py: no workload {', '.join(sorted(unknown))}; there are {', '.join(WORKLOADS)}")
    libraries = find_libraries(os.path.abspath(given.build))
    workloads = given.workloads or WORKLOADS
    with tempfile.TemporaryDirectory(prefix="heapwright-heap-") as folder:
        program = os.path.join(folder, "heap_work")
        subprocess.run(["gcc", "-std=gnu17", "-D_GNU_SOURCE", "-O2", "-fno-builtin", "-pthread", os.path.join(pool.HERE, "heap_work.c"), "-o", program], check=True)
        others = OtherLoad()
        found = measure(program, libraries, workloads, given)
        text = table_of_ratios(found, libraries)
        text += (f"\n{given.percent} % of each workload, {given.rounds} rounds in which the allocators took turns; {len(os.sched_getaffinity(0))} processors, "
                 f"of which other programs kept {others.cores():.1f} busy.\n")
        if AFTERWARDS in found:
            text += table_afterwards(found, libraries)
        text += table_of_instructions(libraries, folder)
    sys.stdout.write(text)
    if given.document:
        pool.document(text, "heap.py", PAGE)


if __name__ == "__main__":
    main()
