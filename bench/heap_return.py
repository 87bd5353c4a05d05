"""heap_return.py - memory that is returned to the system, and the cost of a program that goes up and down"""
import statistics

import heap_peers

MEGABYTES, CYCLES, CYCLE_MEGABYTES, ROUNDS, CYCLE_ROUNDS = 1000, 30, 100, 3, 9
WHEN = ("before", "with all blocks", "after the last free", "a second later", "after a second of little use")
THREADS = 64
PAGE_BYTES = 4096
IDLE = ("before", "after the last free", "after a second of little use")

# How each one is asked to return nothing. glibc returns only the end of its heap.
KEEP = {"heap": {"HEAPWRIGHT_HEAP_RETURNS": "on-collect"}, "glibc": {"GLIBC_TUNABLES": "glibc.malloc.trim_threshold=9223372036854775807"},
        "jemalloc": {"MALLOC_CONF": "dirty_decay_ms:-1,muzzy_decay_ms:-1"}, "tcmalloc": {"TCMALLOC_RELEASE_RATE": "0"},
        "mimalloc": {"MIMALLOC_ALLOW_DECOMMIT": "0", "MIMALLOC_ALLOW_RESET": "0", "MIMALLOC_PURGE_DELAY": "-1"}}


def cycles(program, libraries, megabytes):
    """{allocator: (milliseconds of a cycle, page faults of a cycle, time as a ratio to that if nothing is returned, or None)}; medians."""
    kept = {f"{name}, kept": choice for name, choice in heap_peers.asked(libraries, KEEP).items()}
    found = heap_peers.taking_turns(program, {**heap_peers.asked(libraries), **kept}, CYCLE_ROUNDS, ("cycles", megabytes, CYCLES))
    of_cycle = lambda name, figure: statistics.median(run[figure] for run in found[name]) / (CYCLES - 1)
    ratio = lambda name: statistics.median(run[0] / other[0] for run, other in zip(found[name], found[f"{name}, kept"]))
    return {name: (of_cycle(name, 0) / 1e6, of_cycle(name, 1), ratio(name) if name in KEEP else None) for name in libraries}


def lost(ratio):
    return "-" if ratio is None else f"{100 * (ratio - 1):+.0f} %"


def table_of_rss(program, libraries, title, moments, arguments):
    found = heap_peers.taking_turns(program, heap_peers.asked(libraries), ROUNDS, arguments)
    rows = [(when, [f"{statistics.median(run[i] for run in found[name]) / 1000:.1f}" for name in libraries]) for i, when in enumerate(moments)]
    return heap_peers.table(f"RSS in MB: {title}", libraries, rows)


def table(libraries, folder, _share):
    program = heap_peers.build_program("heap_return", folder)
    text = table_of_rss(program, libraries, f"{MEGABYTES:,} MB of blocks of all sizes are freed", WHEN, ("down", MEGABYTES))
    text += table_of_rss(program, libraries, f"{THREADS} threads free all that they have, some 1.6 MB each", IDLE, ("idle", THREADS))
    found = cycles(program, libraries, CYCLE_MEGABYTES)
    rows = [("processor time", [f"{found[name][0]:.1f} ms" for name in libraries]),
            ("pages touched again", [f"{100 * found[name][1] * PAGE_BYTES / CYCLE_MEGABYTES / 1e6:.0f} %" for name in libraries]),
            ("time lost by returning", [lost(found[name][2]) for name in libraries])]
    return text + heap_peers.table(f"{CYCLES} times up to {CYCLE_MEGABYTES} MB and down, a cycle", libraries, rows)
