"""heap_rates.py - metamalloc's figures of speed: blocks per microsecond of one thread, on normal and on huge pages, and of four threads"""
import math

import heap_peers

ONE_ROUNDS, FOUR_ROUNDS = 20, 10
BLOCKS = 37_000
WHAT = ("mallocs", "mallocs with first writes", "frees")  # an allocator may touch memory in malloc, or leave that to the program


def percentile(values, share):
    """The smallest value that at least this share of the values do not exceed."""
    return sorted(values)[math.ceil(share * len(values)) - 1]


def rates(program, libraries, settings, rounds):
    """{allocator: blocks per microsecond of each of WHAT}; the fastest round. An allocator without settings is left out."""
    found = {}
    for _ in range(rounds):
        for name, library in libraries.items():
            if settings is None or name in settings:
                found.setdefault(name, []).append(heap_peers.run(program, library, ["one"], settings and settings[name]))
    return {name: [BLOCKS / min(run[i] for run in runs) * 1000 for i in range(len(WHAT))] for name, runs in found.items()}


def table(libraries, folder, share):
    """The table. `share` of the usual rounds."""
    program = heap_peers.build_program("heap_rates", folder)
    rows = []
    for pages, settings in (("normal", None), ("huge", heap_peers.HUGE)):
        found = rates(program, libraries, settings, math.ceil(ONE_ROUNDS * share))
        for i, what in enumerate(WHAT):
            rows.append((f"{what} per µs, {pages} pages", [f"{found[name][i]:.0f}" if name in found else "-" for name in libraries]))
    times = {name: [] for name in libraries}
    for _ in range(math.ceil(FOUR_ROUNDS * share)):
        for name, library in libraries.items():
            times[name] += heap_peers.run(program, library, ["four"])
    rows.append(("4 threads, P90", [f"{percentile(times[name], 0.9) / 1e6:.0f} ms" for name in libraries]))
    return heap_peers.table("speed", libraries, rows)
