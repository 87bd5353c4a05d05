"""pool_mix.py - the pool and other allocators under the sizes and lifetimes of real programs: pool_mix.py --build BUILD [memory] [latency] [threads]

The programs are recorded with heapwright. Each block's size, and the number of allocations that it lived for, are taken from the
recording; pool_mix.c then allocates and frees accordingly. An allocator that is not installed is left out. With --document the tables
are written to docs/pool.md, with the number of cores that other programs kept busy meanwhile.
"""
import argparse
import os
import random
import struct
import subprocess
import sys
import tempfile

import pool
import workloads
from run import OtherLoad

KINDS = 300_000  # at most, from each recording
POOL_SIZE = "400MB"
HEADERS = {"pool": 8, "glibc": 8}  # bytes before each block; the other allocators store their data elsewhere
THREADS = (1, 2, 8)
DRAWS = 5  # for memory: it depends much on a few large blocks, which come at random times
NOTHING = "(an empty call)"  # measured like the allocators: the time that the machine itself adds
PART_OF_OPERATIONS = {"threads": 5}  # a fifth: threads that wait for one lock take long
SOURCE = "".join(f"#include <{name}>\n" for name in ("map", "string", "vector", "regex")) + \
    "int main() { std::map<std::string, std::vector<int>> m; std::regex r(\"a*b\"); return m[\"x\"].size() + r.mark_count(); }\n"


def programs(folder):
    """Name, command and environment of each program that is recorded."""
    chosen = {work.name: work for work in workloads.prepare(folder, 0.2, ["sqlite3", "python3"])}
    source = os.path.join(folder, "mix.cc")
    with open(source, "w", encoding="ascii") as out:
        out.write(SOURCE)
    for name, work in chosen.items():
        yield name, work.argv, work.env
    yield "cc1plus", [*workloads.compiler_command(), source, "-o", os.path.join(folder, "mix.s")], {}


def kinds_of(log):
    """(size, lifetime) of each block in a heap log. A lifetime counts allocations; a block that is never freed gets all of them."""
    live, kinds = {}, []

    def end(address):
        if address in live:
            size, born = live.pop(address)
            kinds.append((size, count - born))

    count = 0
    with open(log, encoding="ascii") as lines:
        for line in lines:
            words = line.split(", ")
            if words[0] == "dealloc":
                end(words[1])
                continue
            if words[0] == "realloc":
                end(words[1])
            count += 1
            size, address = {"alloc": (1, 3), "alloc_zeroed": (1, 2), "realloc": (2, 3)}[words[0]]
            end(words[address])
            live[words[address]] = int(words[size]), count
    return kinds + [(size, count) for size, _ in live.values()]


def record(build, folder, name, command, environment):
    """Records the program. Returns the path of its mix."""
    tool, trace, log, mix = (os.path.join(build, "bin", "heapwright"), *(os.path.join(folder, name + end) for end in (".hwt", ".log", ".mix")))
    subprocess.run([tool, "record", "--quiet", "-o", trace, "--", *command], env={**os.environ, **environment}, check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run([tool, "export", trace, "--format", "heaplog", "-o", log], check=True)
    kinds = kinds_of(log)
    kinds = random.Random(1).sample(kinds, min(KINDS, len(kinds)))
    with open(mix, "wb") as out:
        for size, lifetime in kinds:
            out.write(struct.pack("=II", size, lifetime))
    return mix


def run(program, library, *arguments):
    env = {**os.environ, "HEAPWRIGHT_POOL_SIZE": POOL_SIZE, **({"LD_PRELOAD": library} if library else {})}
    done = subprocess.run([program, *map(str, arguments)], env=env, check=True, capture_output=True, text=True)
    if done.stderr:
        raise SystemExit(f"pool_mix.py: {done.stderr}")
    return [float(word) for word in done.stdout.split()]


# --- the tables ---

def percent(part, whole):
    return f"{100 * part / whole - 100:.1f} %"


def drawn(program, library, mix, operations, allocator):
    """The figures of each draw: peak requested, peak rounded, live at the end, memory; sorted by memory per requested byte."""
    found = []
    for draw in range(DRAWS):
        asked, rounded, _, at_end, span, anonymous = run(program, library, mix, operations, "memory", HEADERS.get(allocator, 0), draw)
        found.append((asked, rounded, at_end, span if allocator == "pool" else anonymous))
    return sorted(found, key=lambda one: one[3] / one[1])


def memory(program, libraries, mixes, settings):
    table = ("| sizes of | allocator | live, asked for | rounded | | at the end | memory | over rounded | least to most | over asked for |\n"
             "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|\n")
    for name, mix in mixes.items():
        for allocator, library in libraries.items():
            draws = drawn(program, library, mix, settings.operations, allocator)
            asked, rounded, at_end, taken = draws[DRAWS // 2]
            least, most = (percent(one[3], one[1]) for one in (draws[0], draws[-1]))
            table += (f"| {name} | {allocator} | {asked / 1e6:.1f} MB | {rounded / 1e6:.1f} MB | +{percent(rounded, asked)} | {at_end / 1e6:.1f} MB | {taken / 1e6:.1f} MB | "
                      f"{percent(taken, rounded)} | {least} to {most} | {percent(taken, asked)} |\n")
    return table


def shortest(kinds, column):
    """Text: the allocator with the smallest value in a column, for each mix."""
    return ", ".join(f"{min((name for name in rows if name != NOTHING), key=lambda name: rows[name][column])} ({kind})" for kind, rows in kinds.items())


def latency(program, libraries, mixes, settings):
    """Each quantile is the smallest of the rounds: other load on the machine only adds time."""
    table = "| sizes of | allocator | median | 99.9 % | 99.99 % | most |\n|---|---|---:|---:|---:|---:|\n"
    kinds = {}
    for name, mix in mixes.items():
        found = pool.taking_turns({**libraries, NOTHING: NOTHING}, settings.rounds, lambda library: run(
            program, None if library is NOTHING else library, mix, settings.operations, "nothing" if library is NOTHING else "latency"))
        kinds[name] = {allocator: [min(column) for column in zip(*rounds)] for allocator, rounds in found.items()}
        for allocator, best in kinds[name].items():
            table += f"| {name} | {allocator} | " + " | ".join(f"{ns:,.0f} ns" for ns in best[:4]) + " |\n"
    urgent = all(best[4] for rows in kinds.values() for best in rows.values())
    return table + (f"\nThe smallest at 99.99 %: {shortest(kinds, 2)}. The smallest maximum: {shortest(kinds, 3)}." +
                    ("" if urgent else " Real-time priority was not available: the maxima come from the scheduler.") + "\n")


def threads(program, libraries, mixes, settings):
    table = "| sizes of | allocator |" + "".join(f" {count} thread{'s' * (count > 1)} |" for count in THREADS) + "\n|---|---|" + "---:|" * len(THREADS) + "\n"
    for name, mix in mixes.items():
        found = pool.taking_turns(libraries, settings.rounds,
                             lambda library: [run(program, library, mix, settings.operations, "threads", count)[0] for count in THREADS])
        for allocator, rounds in found.items():
            table += f"| {name} | {allocator} |" + "".join(f" {max(column) / 1e6:.1f} |" for column in zip(*rounds)) + "\n"
    return table


def conditions(part, settings, others):
    rounds = f", the median of {DRAWS} draws" if part == "memory" else f", the best of {settings.rounds} rounds in which the allocators took turns" if settings.rounds > 1 else ", one round"
    return (f"\n{settings.operations:,} operations{rounds}; {len(os.sched_getaffinity(0))} processors, "
            f"of which other programs kept {others:.1f} busy.\n")


PARTS = {"memory": memory, "latency": latency, "threads": threads}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help="memory, latency, threads (default: all)")
    parser.add_argument("--build", default=os.path.join(os.path.dirname(pool.HERE), "build"))
    parser.add_argument("--operations", type=int, default=10_000_000, help="operations per run; with threads a fifth of it (default: 10,000,000)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of latency and threads (default: 3)")
    parser.add_argument("--document", action="store_true", help="write the tables to docs/pool.md")
    given = parser.parse_args()
    unknown = set(given.parts) - set(PARTS)
    if unknown:
        raise SystemExit(f"pool_mix.py: no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    build = os.path.abspath(given.build)
    with tempfile.TemporaryDirectory(prefix="heapwright-pool-") as folder:
        program = os.path.join(folder, "pool_mix")
        subprocess.run(["gcc", "-std=gnu17", "-D_GNU_SOURCE", "-O2", "-fno-builtin", "-pthread", "-Wl,-z,now", os.path.join(pool.HERE, "pool_mix.c"), "-o", program],
                       check=True)
        mixes = {name: record(build, folder, name, command, environment) for name, command, environment in programs(folder)}
        for part in given.parts or PARTS:
            others = OtherLoad()
            settings = argparse.Namespace(rounds=given.rounds, operations=given.operations // PART_OF_OPERATIONS.get(part, 1))
            table = PARTS[part](program, pool.find_libraries(build), mixes, settings)
            table += conditions(part, settings, others.cores())
            sys.stdout.write(table)
            if given.document:
                pool.document(table, f"pool_mix.py {part}")


if __name__ == "__main__":
    main()
