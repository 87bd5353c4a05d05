"""tables.py - the results as tables: for a terminal, and as docs/benchmarks.md."""
import dataclasses

import figures
from recorders import HEAPTRACK, HEAPTRACK_RAW, OURS, PACKED, PLAIN, RAW, TITLES, USUAL

MISSING = "-"
MEGA = 1e6


@dataclasses.dataclass
class Table:
    title: str
    text: str
    head: list
    rows: list


def _number(value, form):
    return MISSING if value is None else format(value, form)


def _goal(value, goal, form=".2f"):
    """The value, marked where it misses its goal."""
    return _number(value, form) + ("!" if value is not None and value > goal else "")


def _ordered(results):
    return results["workloads"].values()


def _names(results):
    """The recorders that any workload ran under, in their order."""
    return [name for name in TITLES if any(name in each["runs"] for each in _ordered(results))]


def time_added(results, clock, title):
    names = [name for name in _names(results) if name != PLAIN]
    head = ["workload", "events", "plain s", *(f"{TITLES[name]} ns" for name in names)]
    rows = []
    for each in _ordered(results):
        cells = [_number(figures.added_ns(each, name, clock), ".1f") for name in names]
        rows.append([each["text"], f"{figures.events(each):,}", f"{min(each['runs'][PLAIN][clock]):.3f}", *cells])
    return Table(title, "Nanoseconds added to each event (an allocation or a free), compared with a run without a recorder.",
                 head, rows)


def ratios(results):
    rows, head = [], ["workload"]
    pairs = [(USUAL, HEAPTRACK), (PACKED, HEAPTRACK_RAW), (RAW, HEAPTRACK_RAW)]
    for name, peer in pairs:
        head += [f"{TITLES[name]} / {TITLES[peer]}: wall", "CPU", "goal"]
    for each in _ordered(results):
        cells = []
        for name, peer in pairs:
            goal = figures.GOAL_USERS if peer == HEAPTRACK else each["goal_raw"]
            cells += [_goal(figures.ratio(each, name, peer, clock), goal) for clock in ("wall_s", "cpu_s")]
            cells.append(f"{goal:.2f}")
        rows.append([each["text"], *cells])
    text = ("The added time of heapwright divided by heaptrack's. `!` marks a missed goal. heaptrack records at most 64 "
            "frames of a stack: at depth 150 it does less work. At depth 5 there is almost nothing to unwind, so the ratio "
            "shows the costs of an event that do not depend on its stack. Two of three allocations of cc1plus have frames "
            "that the previous stack did not have; each of these is looked up and verified.")
    return Table("Time added, against heaptrack", text, head, rows)


def spreads(results):
    rows = []
    for each in _ordered(results):
        cells = []
        for name in _names(results):
            run = each["runs"].get(name)
            cells.append(MISSING if not run else
                         f"{min(run['wall_s']):.2f} +{figures.spread(each, name, 'wall_s'):.0%} ({len(run['wall_s'])})")
        rows.append([each["text"], *cells])
    text = "Wall seconds of the fastest run, how much longer the slowest run took, and the number of runs."
    return Table("The runs", text, ["workload", *(TITLES[name] for name in _names(results))], rows)


def memory(results):
    names = [name for name in _names(results) if name != PLAIN]
    rows = []
    for each in _ordered(results):
        cells = []
        for name in names:
            added = figures.memory_added(each, name)
            shown = None if added is None else added / MEGA
            ours = name in OURS
            cells.append(_goal(shown, figures.GOAL_MEMORY_BYTES / MEGA, ".1f") if ours else _number(shown, ".1f"))
        others = [each["memory"].get(name, {}).get("others_peak_pss_bytes") for name in (USUAL, HEAPTRACK, HEAPTRACK_RAW)]
        plain = each["memory"][PLAIN]["target_peak_pss_bytes"] / MEGA
        rows.append([each["text"], f"{plain:.1f}", *cells,
                     *(_number(other and other / MEGA, ".1f") for other in others)])
    head = ["workload", "plain", *(TITLES[name] for name in names), *(f"others: {TITLES[name]}" for name in (USUAL, HEAPTRACK, HEAPTRACK_RAW))]
    text = ("MB (10^6 bytes) added to the target's peak PSS, including pages of the trace, sampled about every 10 ms in "
            "separate runs. Goal: 32. `Others` is the peak PSS of the recorder's other processes together.")
    return Table("Memory added", text, head, rows)


def traces(results):
    rows = []
    for each in _ordered(results):
        rows.append([each["text"],
                     _goal(figures.bytes_per_event(each, RAW), figures.GOAL_RAW_BYTES),
                     _goal(figures.bytes_per_event(each, PACKED), figures.GOAL_PACKED_BYTES, ".3f"),
                     _number(figures.bytes_per_event(each, HEAPTRACK_RAW), ".3f"),
                     _number(figures.bytes_per_event(each, HEAPTRACK), ".3f")])
    text = ("Bytes per event. Raw: the size of the file on the disk. Goals: 6 raw, 1.5 packed. heaptrack's traces are "
            "compressed by zstd and do not contain the thread, address and time of an event.")
    return Table("Traces", text, ["workload", "raw", "packed", "heaptrack -r", "heaptrack"], rows)


def analysis(results):
    rows = []
    steps = ["report", "second report", "report --json", "heaptrack_interpret", "heaptrack_print"]
    for each in _ordered(results):
        found, theirs = each["analysis"], figures.peer_analysis_s(each)
        cells = []
        for step in steps:
            cost = found.get(step)
            cells += [_number(cost and cost["wall_s"], ".2f"), _number(cost and cost["max_rss_bytes"] / MEGA, ".0f")]
        share = found["report"]["wall_s"] / theirs if theirs else None
        rows.append([each["text"], *cells, _goal(share, figures.GOAL_ANALYSIS)])
    head = ["workload"]
    for step in steps:
        head += [f"{step} s", "MB"]
    text = ("From the packed trace to a finished report, compared with heaptrack_interpret (on the decompressed raw trace) "
            "plus heaptrack_print; seconds and peak RSS. Goal: a quarter. If a report takes more than 0.3 s, it stores a "
            "summary, from which the second report starts. heapwright's reports follow each block across threads and along "
            "time, and merge the events of all threads into one order; heaptrack's threads do this during the recording, by "
            "waiting for each other. The cost of an event is reading it and counting it for its block, stack, size and "
            "thread. Reading and counting run in two threads: two processors that share one core, as in many virtual "
            "machines, gain less than two cores. New frames and stacks cost extra, and cc1plus has by far the most of these.")
    return Table("Analysis", text, [*head, "share"], rows)


def _on_its_own(found):
    """How a part was measured that has its own run."""
    machine = found["machine"]
    return (f"Measured by `{found['command']}`, {found['date']}, on {machine['cpu']} with {machine['memory_bytes'] / 2**30:.0f} GiB; "
            f"other programs kept {found['other_busy_cores']:.1f} of {machine['cores']} cores busy meanwhile.")


def core_dump(results):
    found = results["core"]
    rows = [[title, f"{cost['wall_s']:.1f}", f"{cost['cpu_s']:.1f}", f"{cost['wall_s'] / found['blocks'] * 1e6:.2f}",
             f"{cost['more_bytes'] / MEGA:,.0f}"] for title, cost in found["questions"].items()]
    text = (f"`heapwright core` on a core dump of {found['bytes'] / MEGA:,.0f} MB with {found['blocks']:,} blocks, each with up to three "
            f"references to others, of which {found['lost']:,} are lost (bench/graph.c). The program has debug information: the types of blocks are "
            f"searched, too. Memory is that beyond the mapped file. Goals: "
            f"{figures.GOAL_CORE_SUMMARY_US} us a block for the summary and {figures.GOAL_CORE_LEAKS_US} us for leaks, and at most "
            f"{figures.GOAL_CORE_MORE_MB:,} MB for 50 million blocks. {_on_its_own(found)}")
    return Table("A core dump", text, ["question", "wall s", "CPU s", "us a block", "MB"], rows)


def large(results):
    found = results["large"]
    rows = []
    titles = {"first": "the first", "again": "again", "part": "the middle fifth of the time, from the summary",
              "part_replayed": "the middle fifth of the time, without a summary"}
    for key, title in titles.items():
        cost = found.get(key)
        if not cost:  # measured before this was
            continue
        speed = found["events"] / cost["cpu_s"] / MEGA
        rows.append([title, f"{cost['wall_s']:.1f}", f"{cost['cpu_s']:.1f}", f"{speed:,.0f}",
                     _goal(cost["max_rss_bytes"] / MEGA, figures.GOAL_LARGE_MB, ".0f")])
    text = (f"A report on {found['events']:,} events: those of {found['text']}, {found['rounds']:,} times over, in a packed "
            f"trace of {found['bytes'] / MEGA:,.0f} MB. Goal: at most {figures.GOAL_LARGE_MB} MB of memory. "
            f"{_on_its_own(found)}")
    return Table("A large recording", text, ["report", "wall s", "CPU s", "million events per CPU second", "MB"], rows)


def annotated(results):
    found = results["annotate"]
    rows = [[f"malloc and free, depth {depth}", *(f"{ns:.1f} ns" for ns in ways.values()),
             f"{ways['annotated, 16 frames'] / ways['glibc']:.2f} x"] for depth, ways in found["loops"].items()]
    rows += [[name, *(f"{seconds:.2f} s" for seconds in ways.values()), f"{ways['annotated, 16 frames'] / ways['glibc']:.2f} x"]
             for name, ways in found["programs"].items()]
    text = ("CPU time on libheapwright-annotate.so ([annotate.md](annotate.md)): of a pair of calls (bench/loop.c), and of whole programs; the "
            f"fastest run of each. The last column compares with glibc. {found['goal']} {_on_its_own(found)}")
    return Table("Owners in front of blocks", text, ["", *next(iter(found["loops"].values())), ""], rows)


def debug_info(results):
    found = results["debug-info"]
    rows = []
    for step, cost in found["analysis"].items():
        if step != "heaptrack_print":  # has no names to look up
            goal = figures.GOAL_DEBUG_INFO_S if step == "report" else float("inf")
            rows.append([step, _goal(cost["wall_s"], goal), f"{cost['cpu_s']:.2f}", f"{cost['max_rss_bytes'] / MEGA:,.0f}"])
    text = (f"A report on a program of {found['parts']:,} C++ sources with {found['debug_bytes'] / MEGA:,.0f} MB of debug information in "
            f"a file of {found['file_bytes'] / MEGA:,.0f} MB, which allocates in each of them. `report` looks up the frames that it shows, "
            f"`report --json` those of all sources; pages of the file count as memory. "
            f"Goal: {figures.GOAL_DEBUG_INFO_S} s. {_on_its_own(found)}")
    return Table("A program with much debug information", text, ["step", "wall s", "CPU s", "MB"], rows)


def counts(results):
    rows = [[each["text"], f"{each['counts']['allocation_calls']:,}", _number(each["heaptrack_allocation_calls"], ","),
             f"{each['counts']['free_calls']:,}", f"{each['counts']['lost_events']:,}",
             f"{each['counts']['truncated_stacks']:,}"] for each in _ordered(results)]
    text = "heaptrack counts some calls differently (realloc, and calls before its constructor and after its destructor)."
    head = ["workload", "allocation calls", "heaptrack's", "free calls", "lost events", "truncated stacks"]
    return Table("What was seen", text, head, rows)


def instructions(results):
    names = (RAW, HEAPTRACK_RAW)
    rows = []
    for each in results["instructions"].values():
        cells = []
        for figure, form in (("instructions", ",.0f"), ("d1_misses", ".2f"), ("ll_misses", ".2f")):
            cells += [_number(figures.added_count(each, name, figure), form) for name in names]
        ours, theirs = (figures.added_count(each, name, "instructions") for name in names)
        rows.append([each["text"], f"{each['events']:,}", *cells, _number(theirs and ours / theirs, ".2f")])
    head = ["program", "events between", "instructions", "heaptrack -r", "D1 misses", "heaptrack -r", "LL misses", "heaptrack -r",
            "instructions: share"]
    text = ("Added to the target per event, counted by cachegrind (with its own model of the caches) as the difference of "
            "two sizes of a run: this does not depend on the machine's speed and load. Waiting for a lock, a system call or "
            "memory is not included.")
    return Table("Instructions added", text, head, rows)


def latencies(results):
    rows = []
    for place, found in results.get("latency", {}).items():
        plain = found[PLAIN]
        for name, each in found.items():
            cells = [f"{each[key]:,.0f}" if name == PLAIN else f"{each[key]:,.0f} ({each[key] - plain[key]:+,.0f})"
                     for key in ("p50_ns", "p99_ns", "p99_99_ns", "max_ns")]
            worst = " ".join(f"{ns / 1000:,.0f}" for ns in each["max_ns_of_rounds"])
            rows.append([place, TITLES[name], *cells, worst, "yes" if each["fifo"] else "no"])
    head = ["trace on", "recorder", "p50", "p99", "p99.99", "max", "max of each round, us", "SCHED_FIFO"]
    text = ("Nanoseconds of a single malloc or free in a loop that has its memory locked and sleeps a fifth of the time (in "
            "parentheses: added, compared with no recorder), including the cost of reading the clock; the median of the "
            "rounds.")
    if rows:
        calls = next(iter(found.values()))["calls"]
        text = f"{calls:,} calls. {text}"
    return Table("Latency", text, head, rows)


def scopes(results):
    found = results["scopes"]
    reports, traces, count = found["reports"], found["traces"], found["count"]
    rows = [["a scope without a recorder", f"{found['plain_ns']:.1f} ns"],
            ["a scope that is recorded, with two readings of the clock", f"{found['recorded_ns']:.1f} ns"],
            ["its bytes in the packed trace", f"{(traces['scopes'] - traces['calls']) / count:.2f}"],
            ["a report on a malloc and a free in each: wall, CPU", "{:.2f} s, {:.2f} s".format(*reports["scopes"])],
            ["the same without scopes", "{:.2f} s, {:.2f} s".format(*reports["calls"])],
            ["a block of a heap of the program's own and its free, without a recorder", f"{found['heap_plain_ns']:.1f} ns"],
            ["the same, recorded", f"{found['heap_recorded_ns']:.1f} ns"]]
    text = f"{count:,} scopes (heapwright/monitor.h), each begun and ended; the fastest of five runs. {found['goals']}"
    return Table("Scopes", text, ["", ""], rows)


def sampled_pairs(results):
    found = results["sampling"]
    ns = {pair["text"]: pair["ns"] for pair in found["pairs"]}
    rows = []
    for pair in found["pairs"]:
        more = pair["ns"] - ns[pair["against"]] if pair["against"] else None
        missed = pair["text"].startswith("a sample") and more > found["goal_ns"]
        rows.append([pair["text"], f"{pair['ns']:.1f}", f"{more:+.1f}{'!' if missed else ''}" if pair["against"] else ""])
    text = (f"{found['pair_count']:,} pairs of malloc and free at depth 50 (bench/loop.c): nanoseconds of a pair, of the fastest run. The last "
            "column compares with passing on, with no recorder, or with the same allocator without its profiler. Goal: a pair that is "
            f"not in the sample costs {found['goal_ns']} ns more than passing it on. {_on_its_own(found)}")
    return Table("Samples: a pair of malloc and free", text, ["", "ns", "more"], rows)


def _added_memory(program, goal_mb):
    return _goal(program["memory_bytes"] / MEGA, goal_mb, ".1f") if "memory_bytes" in program else "-"


def sampled_programs(results):
    found = results["sampling"]
    rows = []
    for program in found["programs"]:
        plain = program["plain"]
        median, low, high = figures.added_shares(program["sample"], plain)
        exact, *_ = figures.added_shares(*zip(*program["exact"]))
        fastest = min(program["sample"]) / min(plain) - 1
        rows.append([program["text"], f"{min(plain):.2f}", _goal(fastest * 100, program["goal"] * 100, "+.1f"),
                     f"{program['goal'] * 100:.0f}", f"{median * 100:+.1f}", f"{low * 100:+.1f} to {high * 100:+.1f}",
                     f"{exact * 100:+.0f}", _added_memory(program, found["memory_goal_mb"])])
    starts, rounds = found["starts"], len(found["programs"][0]["plain"])
    text = (f"CPU time of all processes of `heapwright record -q --sample`, compared with the program alone, in {rounds} rounds of both in "
            "alternating order: per cent more, of the fastest round of each, since other load on the machine only adds time; then the "
            "median of the pairs of rounds, and their quartiles. For comparison, what `record -q` without a sample adds; and MB added to "
            "the peak PSS of the program. Of redis-server, the CPU time of redis-benchmark does not count. python3 makes "
            "most calls per second: the way through a preloaded library, which also passing on has, is a part of what it adds. Each process "
            "of a build begins and ends a trace of its own. redis-server calls malloc and free 8 times per request, and malloc_usable_size "
            "as often; what it needs for a request also depends on how many arrive at once. "
            f"Each run has a fixed part: one of a short process needs {starts['run_s'] * 1e3:.1f} ms more, and each further process "
            f"{starts['process_s'] * 1e3:.1f} ms. Goal for memory: {found['memory_goal_mb']} MB. {_on_its_own(found)}")
    return Table("Samples: programs", text, ["", "alone s", "more %", "goal", "median", "quartiles", "exactly", "MB"], rows)


def _longest(times):
    """Of times by view: the longest, and where that is; "-": all are 0."""
    view = max(times, key=times.get)
    return f"{times[view]:.0f} ({view})" if times[view] > 0 else "-"


def pages(results):
    rows = []
    for found in results["page"].values():
        steps, openings, lanes = found["steps_ms"], found["opening_ms"], found.get("lanes_ms")
        rows.append([found["text"], f"{found['bytes'] / MEGA:.2f}", f"{found['written_cpu_s']:.1f}", f"{found['max_rss_bytes'] / MEGA:,.0f}",
                     f"{found['paint_ms']['best']:.0f}", _longest({view: step["median"] for view, step in steps.items()}),
                     _longest({view: step["most"] for view, step in steps.items()}), _longest(found["first_ms"]),
                     _longest({view: opening["median"] for view, opening in openings.items()}),
                     _longest({f"1/{part} of the run": step["median"] for part, step in lanes.items()}) if lanes else ""])
    text = ("`report -o run.html`: the cost of writing the page, and the page in Chromium at 1920 by 1080. First paint: the "
            "best of five loads, wall time; goal: 1,000 ms. Steps: the main thread's CPU time while an interval is dragged "
            "over the chart, in the slowest view; goal: 50 ms. First step: the first step of a drag that begins as soon as "
            "the page is shown, while its views are being prepared. Opening: the longest task of changing to a view, wall "
            "time; `-`: none takes 50 ms. Lanes: a step of dragging the lanes of scopes, CPU time; goal: 50 ms.")
    return Table("The page", text, ["recording", "page MB", "CPU s", "peak MB", "first paint ms", "step ms, median", "step ms, max",
                                    "first step ms", "opening ms", "lanes ms"], rows)


def short_processes(results):
    rows = []
    for found in results["short"]["runs"].values():
        plain = min(found["wall_s"][PLAIN])
        cells = []
        for name in OURS:
            seconds = min(found["wall_s"][name])
            cells += [f"{seconds:.2f}", _goal((seconds - plain) / found["processes"] * 1000, figures.GOAL_SHORT_MS)]
        rows.append([found["text"], f"{found['processes']:,}", f"{plain:.2f}", *cells])
    head = ["run", "processes", "no recorder s", *(cell for name in OURS for cell in (f"{TITLES[name]} s", "ms added to each"))]
    text = ("Runs of many short processes, each of which gets its own trace, packed and counted: seconds until the recorder has "
            "ended, from the fastest of three runs, and the time added per process that left a trace. "
            f"Goal: {figures.GOAL_SHORT_MS} ms. heaptrack records only the first process. {_on_its_own(results['short'])}")
    return Table("Short processes", text, head, rows)


def many_processes(results):
    found = results["short"]["many"]
    rows = [[step, f"{cost['wall_s']:.2f}", f"{cost['max_rss_bytes'] / MEGA:,.0f}"] for step, cost in found["steps"].items()]
    text = f"A report on a run of {found['processes']:,} processes, a shell and its children, each with its own trace."
    return Table("A run of many processes", text, ["step", "wall s", "MB"], rows)


def _updates(found):
    if isinstance(found, str):
        return f"Updates of the page were not measured: {found}."
    each = [f"{view} {figures['longest_cpu_ms']:.0f} ms ({figures['longest_ms']:.0f} ms passed; {figures['updates']} updates)"
            for view, figures in found.items()]
    return ("The page of a program with 500,000 nodes of stacks (bench/many_stacks.c), CPU time of the longest task of the browser's main "
            f"thread: {', '.join(each)}.")


def _began_before(found):
    return (f"A recording that began {found['duration_s']:.0f} s before, with {found['events'] / found['duration_s'] / 1e6:.1f} million events "
            f"per s (bench/steady.c), is read to its present end in {found['seconds']:.1f} s.")


def followed_programs(results):
    rows, short = [], results["live"]["short"]
    for found in results["live"]["runs"]:
        rate = found["events"] / found["followed"][0] / 1e6
        ratios_of = [f"{followed / alone:.2f}" for followed, alone in zip(found["followed"], found["alone"])]
        rows.append([f"{found['stack']}, {found['threads']}", f"{rate:.1f}", f"{found['events_per_cpu_s'] / 1e6:.1f}",
                     f"{found['document_cpu_s'] / max(found['documents'], 1):.3f}", f"{found['peak_rss_bytes'] / MEGA:,.0f}",
                     f"{found['behind_ms'] / 1000:.1f}", *ratios_of])
    head = ["stacks, threads", "million events per s", "followed per CPU s", "CPU s a document", "MB", "behind s", "wall", "CPU"]
    text = ("malloc and free in a loop (bench/loop.c) under `record -q`, followed by a page that asks each second. The process that "
            "follows: million events that it counts per CPU second, its peak RSS, and how far the oldest document was behind (0.2 s is "
            "usual); and the time and the CPU time of the program and the packer of its recording, relative to those without a viewer: on few "
            f"cores, all of these wait for each other. {short['processes']:,} times /bin/true from a shell: the process that follows "
            f"needs {short['cpu_s'] / short['processes'] * 1000:.2f} ms for each and {short['peak_rss_bytes'] / MEGA:,.0f} MB, and the run "
            f"takes {short['followed'][1] / short['alone'][1]:.2f} times the CPU time without a viewer. "
            f"{_updates(results['live']['many_stacks'])} {_began_before(results['live']['before'])} {_on_its_own(results['live'])}")
    return Table("Following a program", text, head, rows)


def _all(results):
    if results["workloads"]:
        yield time_added(results, "wall_s", "Wall time added")
        yield time_added(results, "cpu_s", "CPU time added, all processes")
        yield ratios(results)
        yield memory(results)
        yield traces(results)
        yield analysis(results)
        yield counts(results)
        yield spreads(results)
    if results.get("instructions"):
        yield instructions(results)
    if results.get("latency"):
        yield latencies(results)
    if results.get("scopes"):
        yield scopes(results)
    if results.get("sampling"):
        yield sampled_pairs(results)
        yield sampled_programs(results)
    if results.get("page"):
        yield pages(results)
    if results.get("short"):
        yield short_processes(results)
        yield many_processes(results)
    if results.get("live"):
        yield followed_programs(results)
    if results.get("annotate"):
        yield annotated(results)
    if results.get("large"):
        yield large(results)
    if results.get("debug-info"):
        yield debug_info(results)
    if results.get("core"):
        yield core_dump(results)


def _skipped(results):
    return [f"{each['text']}: no {what}: {why}" for each in _ordered(results) for what, why in each["skipped"].items()]


def _conditions(results):
    machine = results["machine"]
    virtual = ", virtual" if machine["virtual"] else ""
    return (f"{results['date']}; {machine['cpu']}, {machine['cores']} cores{virtual}, "
            f"{machine['memory_bytes'] / 2**30:.0f} GiB; {machine['system']}, Linux {machine['kernel']}; "
            f"size {results['scale']:g}, {results['rounds']} rounds; other programs kept "
            f"{results['other_busy_cores']:.1f} cores busy meanwhile")


def as_text(results):
    """For a terminal."""
    lines = [_conditions(results)]
    for table in _all(results):
        widths = [max(len(row[i]) for row in [table.head, *table.rows]) for i in range(len(table.head))]
        lines += ["", table.title, table.text]
        for row in [table.head, *table.rows]:
            cells = [row[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
            lines.append("  ".join(cells).rstrip())
    skipped = _skipped(results)
    return "\n".join([*lines, *(["", *skipped] if skipped else [])])


INTRODUCTION = """# Benchmarks

The cost of recording, compared with heaptrack 1.4 (Debian's) in the same run. Every workload runs in rounds: without a recorder;
under `heapwright record`, which packs and counts the trace while the program runs, and ends with a summary; under
`heapwright record -q`, which packs but does not count; with our library preloaded alone ("not packed"); under `heaptrack` as
users run it; and under `heaptrack -r`, which only records. A figure is the fastest of its runs, since other load on the machine
only adds time; a table near the end shows the spread of the runs.

{commands}

made the figures below and this page (`--document` writes it from `build/bench/results.json`). {conditions}.
"""


def as_document(results):
    """docs/benchmarks.md."""
    parts = [INTRODUCTION.format(commands="\n".join(f"    {each}" for each in results["commands"]), conditions=_conditions(results))]
    for table in _all(results):
        parts += [f"## {table.title}\n", table.text + "\n"]
        align = ["---"] + ["---:"] * (len(table.head) - 1)
        parts += ["| " + " | ".join(row) + " |" for row in [table.head, align, *table.rows]] + [""]
    skipped = _skipped(results)
    if skipped:
        parts += ["Not measured:\n", *(f"- {each}" for each in skipped), ""]
    return "\n".join(parts)
