"""heap_scale.py - what a block costs in a process of many gigabytes, visiting objects of a gigabyte, and a thread among thousands"""
import statistics

import heap_peers

MEGABYTES, VISIT_MEGABYTES, THREADS, PART, ROUNDS = 8000, 1000, 4000, 8, 3  # the first row of each kind is a part of it


def medians(program, choices, *arguments):
    """{name: the median of each figure that the program prints}."""
    found = heap_peers.taking_turns(program, choices, ROUNDS, arguments)
    return {name: [statistics.median(figures) for figures in zip(*runs)] for name, runs in found.items()}


def table(libraries, folder, share):
    """The table, for `share` of the usual sizes."""
    program, rows, as_they_are = heap_peers.build_program("heap_scale", folder), [], heap_peers.asked(libraries)
    for megabytes in (int(MEGABYTES * share / PART), int(MEGABYTES * share)):
        found = medians(program, as_they_are, "grow", megabytes)
        rows.append((f"a block, while {megabytes:,} MB are allocated", [f"{found[name][0] / 1000:.1f}" for name in libraries]))
    megabytes = int(VISIT_MEGABYTES * share)
    for pages, settings in heap_peers.PAGES.items():
        found = medians(program, heap_peers.asked(libraries, settings), "visit", megabytes)
        rows.append((f"a visit of an object, of {megabytes:,} MB in random order, {pages}",
                     [f"{found[name][0] / 1000:.2f}" if name in found else "-" for name in libraries]))
    for threads in (int(THREADS * share / PART), int(THREADS * share)):
        found = medians(program, as_they_are, "threads", threads)
        for i, what in enumerate(("first block", "end")):
            rows.append((f"the {what} of a thread, of {threads:,} at once", [f"{found[name][i] / 1000:.1f}" for name in libraries]))
    return heap_peers.table("microseconds of processor time", libraries, rows)
