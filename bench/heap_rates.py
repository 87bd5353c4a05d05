"""heap_rates.py - metamalloc's figures of speed: blocks per microsecond of one thread, by default and with huge pages, and of four threads"""
import math
import statistics

import heap_peers

ONE_ROUNDS, FOUR_ROUNDS = 20, 10
BLOCKS = 37_000
WHAT = ("mallocs", "mallocs with first writes", "frees")  # an allocator may touch memory in malloc, or leave that to the program


def percentile(values, share):
    """The smallest value that at least this share of the values do not exceed."""
    return sorted(values)[math.ceil(share * len(values)) - 1]


def rates(program, choices, rounds):
    """{name: blocks per microsecond of each of WHAT}; medians."""
    found = heap_peers.taking_turns(program, choices, rounds, ["one"])
    return {name: [BLOCKS / statistics.median(run[i] for run in runs) * 1000 for i in range(len(WHAT))] for name, runs in found.items()}


def rate_text(rate):
    return f"{rate:.0f}" if rate >= 10 else f"{rate:.1f}"


def table(libraries, folder, share):
    """The table. `share` of the usual rounds."""
    program = heap_peers.build_program("heap_rates", folder)
    rows = []
    for pages, settings in heap_peers.PAGES.items():
        found = rates(program, heap_peers.asked(libraries, settings), math.ceil(ONE_ROUNDS * share))
        for i, what in enumerate(WHAT):
            rows.append((f"{what} per µs, {pages}", [rate_text(found[name][i]) if name in found else "-" for name in libraries]))
    times = heap_peers.taking_turns(program, heap_peers.asked(libraries), math.ceil(FOUR_ROUNDS * share), ["four"])
    rows.append(("4 threads, P90", [f"{percentile(sum(times[name], []), 0.9) / 1e6:.0f} ms" for name in libraries]))
    return heap_peers.table("speed", libraries, rows)
