"""heap_scale.py - what a block costs in a process of many gigabytes, visiting objects of a gigabyte, and a thread among thousands"""
import heap_peers

MEGABYTES, VISIT_MEGABYTES, THREADS, PART, ROUNDS = 8000, 1000, 4000, 8, 2  # the first row of each kind is a part of it


def best(program, library, arguments, settings=None):
    return [min(figures) for figures in zip(*(heap_peers.run(program, library, arguments, settings) for _ in range(ROUNDS)))]


def table(libraries, folder, share):
    """The table, for `share` of the usual sizes."""
    program, rows = heap_peers.build_program("heap_scale", folder), []
    for megabytes in (int(MEGABYTES * share / PART), int(MEGABYTES * share)):
        rows.append((f"a block, while {megabytes:,} MB are allocated", [f"{best(program, library, ('grow', megabytes))[0] / 1000:.1f}"
                                                                         for library in libraries.values()]))
    megabytes = int(VISIT_MEGABYTES * share)
    for pages, settings in (("normal", dict.fromkeys(libraries)), ("huge", heap_peers.HUGE)):
        rows.append((f"a visit of an object, of {megabytes:,} MB in random order, {pages} pages", [
            f"{best(program, library, ('visit', megabytes), settings[name])[0] / 1000:.2f}" if name in settings else "-" for name, library in libraries.items()]))
    for threads in (int(THREADS * share / PART), int(THREADS * share)):
        figures = [best(program, library, ("threads", threads)) for library in libraries.values()]
        for i, what in enumerate(("first block", "end")):
            rows.append((f"the {what} of a thread, of {threads:,} at once", [f"{figure[i] / 1000:.1f}" for figure in figures]))
    return heap_peers.table("microseconds of processor time", libraries, rows)
