"""heap_return.py - memory that is returned to the system, and the cost of a program that goes up and down"""
import statistics

import heap_peers

MEGABYTES, CYCLES, CYCLE_MEGABYTES, ROUNDS = 1000, 30, 100, 5
WHEN = ("before", "with all blocks", "after the last free", "a second later", "after a second of little use")
PAGE_BYTES = 4096

# How each one is asked to return nothing. glibc returns only the end of its heap.
KEEP = {"heap": {"HEAPWRIGHT_HEAP_RETURNS": "on-collect"}, "glibc": {"GLIBC_TUNABLES": "glibc.malloc.trim_threshold=9223372036854775807"},
        "jemalloc": {"MALLOC_CONF": "dirty_decay_ms:-1,muzzy_decay_ms:-1"}, "tcmalloc": {"TCMALLOC_RELEASE_RATE": "0"},
        "mimalloc": {"MIMALLOC_ALLOW_DECOMMIT": "0", "MIMALLOC_ALLOW_RESET": "0", "MIMALLOC_PURGE_DELAY": "-1"}}


def cycles(program, libraries, megabytes):
    """{allocator: (milliseconds of a cycle, page faults of a cycle, milliseconds if nothing is returned or None)}."""
    kept = {f"{name}, kept": choice for name, choice in heap_peers.asked(libraries, KEEP).items()}
    found = heap_peers.taking_turns(program, {**heap_peers.asked(libraries), **kept}, ROUNDS, ("cycles", megabytes, CYCLES))
    of_cycle = lambda name, figure, choose: choose(run[figure] for run in found[name]) / (CYCLES - 1)
    milliseconds = {name: of_cycle(name, 0, min) / 1e6 for name in found}
    return {name: (milliseconds[name], of_cycle(name, 1, statistics.median), milliseconds.get(f"{name}, kept")) for name in libraries}


def lost(time, kept):
    return "-" if kept is None else f"{100 * (time / kept - 1):+.0f} %"


def table(libraries, folder, _share):
    program = heap_peers.build_program("heap_return", folder)
    found = {name: heap_peers.run(program, library, ("down", MEGABYTES)) for name, library in libraries.items()}
    rows = [(when, [f"{found[name][i] / 1000:.1f}" for name in libraries]) for i, when in enumerate(WHEN)]
    text = heap_peers.table(f"RSS in MB: {MEGABYTES:,} MB of blocks of all sizes are freed", libraries, rows)
    found = cycles(program, libraries, CYCLE_MEGABYTES)
    rows = [("processor time", [f"{found[name][0]:.1f} ms" for name in libraries]),
            ("pages touched again", [f"{100 * found[name][1] * PAGE_BYTES / CYCLE_MEGABYTES / 1e6:.0f} %" for name in libraries]),
            ("time lost by returning", [lost(found[name][0], found[name][2]) for name in libraries])]
    return text + heap_peers.table(f"{CYCLES} times up to {CYCLE_MEGABYTES} MB and down, a cycle", libraries, rows)
