"""heap_scale.py - what a block costs in a process of many gigabytes, and a thread among thousands"""
import heap_peers

MEGABYTES, THREADS, PART, ROUNDS = 8000, 4000, 8, 2  # the first row of each kind is a part of it


def best(program, library, arguments):
    return [min(figures) for figures in zip(*(heap_peers.run(program, library, arguments) for _ in range(ROUNDS)))]


def table(libraries, folder, share):
    """The table, for `share` of the usual sizes."""
    program, rows = heap_peers.build_program("heap_scale", folder), []
    for megabytes in (int(MEGABYTES * share / PART), int(MEGABYTES * share)):
        rows.append((f"a block, while {megabytes:,} MB are allocated", [f"{best(program, library, ('grow', megabytes))[0] / 1000:.1f}"
                                                                         for library in libraries.values()]))
    for threads in (int(THREADS * share / PART), int(THREADS * share)):
        figures = [best(program, library, ("threads", threads)) for library in libraries.values()]
        for i, what in enumerate(("first block", "end")):
            rows.append((f"the {what} of a thread, of {threads:,} at once", [f"{figure[i] / 1000:.1f}" for figure in figures]))
    return heap_peers.table("microseconds of processor time", libraries, rows)
