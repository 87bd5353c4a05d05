"""heap_locality.py - cache misses of a program that visits a million small objects, counted by cachegrind"""
import os
import subprocess

import heap_peers

OBJECTS = 1_000_000
# Always the same caches, whatever the machine has.
CACHES = ("--cache-sim=yes", "--I1=32768,8,64", "--D1=32768,8,64", "--LL=8388608,16,64")
FIRST, LAST = ("D1mr", "D1mw"), ("DLmr", "DLmw")


def totals(path):
    """{event: count} of a file of cachegrind."""
    with open(path, encoding="utf-8", errors="replace") as lines:
        words = {line.split(":")[0]: line.split(":")[1].split() for line in lines if line.startswith(("events:", "summary:"))}
    return dict(zip(words["events"], map(int, words["summary"])))


def count(program, library, arguments, folder):
    out = os.path.join(folder, "cachegrind")
    subprocess.run(["valgrind", "-q", "--tool=cachegrind", *CACHES, f"--cachegrind-out-file={out}", program, *map(str, arguments)],
                   env=heap_peers.environment(library), check=True, stderr=subprocess.DEVNULL)
    return totals(out)


def misses_per_object(program, library, order, objects, folder):
    """(misses of the first cache, of the last one) of a visit. The second visit, since the first begins with what allocation left in the caches."""
    once, twice = (count(program, library, (objects, order, visits), folder) for visits in (1, 2))
    return [sum(twice[event] - once[event] for event in events) / objects for events in (FIRST, LAST)]


def table(libraries, folder, share):
    """The table, for `share` of a million objects."""
    program = heap_peers.build_program("heap_locality", folder)
    objects, rows = int(OBJECTS * share), []
    for order, title in (("in-order", "in order"), ("shuffled", "shuffled")):
        found = {name: misses_per_object(program, library, order, objects, folder) for name, library in libraries.items()}
        for i, cache in enumerate(("32 KiB", "8 MiB")):
            rows.append((f"{title}, misses of {cache}", [f"{found[name][i]:.3f}" for name in libraries]))
    return heap_peers.table(f"a visit to {objects:,} objects of 32 bytes, per object", libraries, rows)
