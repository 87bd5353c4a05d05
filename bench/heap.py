"""heap.py - the heap and other allocators, measured: heap.py --build BUILD [PART...]

A part is one of the workloads of heap_work.c (processor time and peak RSS as ratios to those of glibc, with their geometric means, and
the address space and the RSS after 16 threads have ended), or: `instructions` of single calls, counted by callgrind (with the call itself and
the test's own, some 6); `speed`: blocks per microsecond of one thread and four; `locality`: cache misses; `returned`: memory that goes back to
the system, and what that costs; `scale`: many gigabytes and many threads; `programs`: real ones. The allocators take turns, in another
order each time: on a virtual machine, memory that the program before has touched costs less. The median of a workload's times and RSS
counts: other load on the machine affects all allocators alike. An allocator that is not installed is left out. With --document the tables
are written to docs/heap-figures.md.
"""
import argparse
import math
import os
import statistics
import sys
import tempfile

import heap_locality
import heap_peers
import heap_programs
import heap_rates
import heap_return
import heap_scale
import pool
from heap_peers import BASE
from run import OtherLoad

PAGE = os.path.join(os.path.dirname(pool.HERE), "docs", "heap-figures.md")
WORKLOADS = ("server", "pass", "exchange", "lifetimes", "small", "large", "grow", "scratch", "thrash", "up-down", "many")
AFTERWARDS = "many"  # the workload after which address space and RSS are of interest
QUICK_SHARE = 0.1


def with_profiles(libraries):
    """{name: (library, settings)}, with the heap by default and in its other profiles."""
    heap, *others = heap_peers.asked(libraries).items()
    profiles = ((name, (heap[1][0], settings)) for name, settings in heap_peers.PROFILES.items())
    return dict((heap, *profiles, *others))


def measure(program, libraries, workloads, settings):
    """{workload: {allocator: (nanoseconds of processor time, peak RSS, address space and RSS at the end in kB)}}."""
    found = {}
    for workload in workloads:
        rounds = heap_peers.taking_turns(program, libraries, settings.rounds, (workload, settings.percent))
        found[workload] = {name: tuple(statistics.median(one[i] for one in ones) for i in range(4)) for name, ones in rounds.items()}
    return found


def geometric_mean(ratios):
    return math.exp(statistics.fmean(math.log(ratio) for ratio in ratios))


def ratios(found, libraries, figure):
    """Rows of (workload, ratio of each allocator to glibc), and at the end their geometric means."""
    rows = [(workload, [by_name[name][figure] / by_name[BASE][figure] for name in libraries]) for workload, by_name in found.items()]
    return [*rows, ("geometric mean", [geometric_mean(column) for column in zip(*(row[1] for row in rows))])]


def table_of_ratios(found, libraries):
    rows = [(f"{title}, {workload}", [f"{ratio:.2f}" for ratio in row])
            for title, figure in (("time", 0), ("peak RSS", 1)) for workload, row in ratios(found, libraries, figure)]
    return heap_peers.table("compared with glibc", libraries, rows).lstrip()


def table_afterwards(found, libraries):
    figures = (("address space", 2), ("RSS", 3), ("peak RSS", 1))
    rows = [(title, [f"{found[AFTERWARDS][name][figure] / 1000:.1f} MB" for name in libraries]) for title, figure in figures]
    return heap_peers.table(f"after `{AFTERWARDS}`", libraries, rows)


def table_of_workloads(libraries, folder, workloads, settings):
    libraries = with_profiles(libraries)
    found = measure(heap_peers.build_program("heap_work", folder), libraries, workloads, settings)
    text = table_of_ratios(found, libraries)
    return text + table_afterwards(found, libraries) if AFTERWARDS in found else text


def table_of_instructions(libraries, folder, _share):
    program = pool.build_program(folder)
    counts = {name: pool.count(program, library, "random", folder) for name, library in libraries.items()}
    rows = [(f"{called}, {title}", [f"{figure(counts[name][called]):.0f}" for name in libraries])
            for called in ("malloc", "free") for title, figure in (("median", statistics.median), ("mean", statistics.fmean))]
    return heap_peers.table("instructions", libraries, rows)


PARTS = {"instructions": table_of_instructions, "speed": heap_rates.table, "locality": heap_locality.table, "returned": heap_return.table,
         "scale": heap_scale.table,
         "programs": heap_programs.table}


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join((*WORKLOADS, *PARTS))} (default: all)")
    parser.add_argument("--build", default=os.path.join(os.path.dirname(pool.HERE), "build"))
    parser.add_argument("--percent", type=int, default=20, help="how much of each workload is done (default: 20)")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each workload and allocator (default: 5)")
    parser.add_argument("--quick", action="store_true", help="a tenth of all other parts")
    parser.add_argument("--document", action="store_true", help="write the tables to docs/heap-figures.md")
    given = parser.parse_args()
    unknown = set(given.parts) - {*WORKLOADS, *PARTS}
    if unknown:
        raise SystemExit(f"heap.py: no part {', '.join(sorted(unknown))}; there are {', '.join((*WORKLOADS, *PARTS))}")
    return given


def huge_page_setting():
    """always, madvise or never."""
    try:
        with open("/sys/kernel/mm/transparent_hugepage/enabled", encoding="ascii") as file:
            return file.read().split("[")[1].split("]")[0]
    except OSError:
        return "never"


def main():
    given = options()
    libraries = heap_peers.find_libraries(os.path.abspath(given.build))
    chosen = given.parts or (*WORKLOADS, *PARTS)
    workloads, text, others = [name for name in WORKLOADS if name in chosen], "", OtherLoad()
    with tempfile.TemporaryDirectory(prefix="heapwright-heap-") as folder:
        if workloads:
            text = table_of_workloads(libraries, folder, workloads, given)
        for name, table in PARTS.items():
            if name in chosen:
                text += table(libraries, folder, QUICK_SHARE if given.quick else 1)
    text += (f"\n{given.percent} % of each workload (but all of `many`), {given.rounds} rounds in which the allocators took turns; {len(os.sched_getaffinity(0))} processors, "
             f"of which other programs kept {others.cores():.1f} busy. Transparent huge pages: {huge_page_setting()}.\n")
    sys.stdout.write(text)
    if given.document:
        pool.document(text, "heap.py", PAGE)


if __name__ == "__main__":
    main()
