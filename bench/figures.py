"""figures.py - figures computed from the measurements: time added per event, ratios, memory added, bytes per event."""
import statistics

import recorders

GOAL_USERS = 1 / 5  # of heaptrack's added time, as users run it
GOAL_MEMORY_BYTES = 32_000_000
GOAL_RAW_BYTES = 6.0
GOAL_PACKED_BYTES = 1.5
GOAL_LARGE_MB = 512  # to report on a recording that is larger than memory
GOAL_SHORT_MS = 1  # added to a process that allocates little
GOAL_DEBUG_INFO_S = 5  # to name the frames of a report on a program with a gigabyte of debug information
GOAL_CORE_SUMMARY_US, GOAL_CORE_LEAKS_US = 1.2, 3.6  # for each block of a core dump with 50 million
GOAL_CORE_MORE_MB = 4000  # of memory beyond that core dump
GOAL_ANALYSIS = 1 / 4  # of heaptrack_interpret plus heaptrack_print


def events(result):
    return result["counts"]["allocation_calls"] + result["counts"]["free_calls"]


def added_ns(result, name, clock):
    """Time added per event, from the fastest run of each, since other load only adds time. None if not measured. A negative
    value is noise, and is shown."""
    run, plain = result["runs"].get(name), result["runs"].get(recorders.PLAIN)
    if not run or not run[clock]:
        return None
    return (min(run[clock]) - min(plain[clock])) / events(result) * 1e9


def ratio(result, name, peer, clock):
    ours, theirs = added_ns(result, name, clock), added_ns(result, peer, clock)
    return ours / theirs if ours is not None and theirs else None


def added_count(result, name, figure):
    """The increase per event in a case of instructions.py, or None if not measured."""
    ways = result["ways"]
    if name not in ways:
        return None
    return (ways[name][figure] - ways[recorders.PLAIN][figure]) / result["events"]


def spread(result, name, clock):
    """(slowest - fastest) / fastest."""
    times = result["runs"][name][clock]
    return (max(times) - min(times)) / min(times)


def memory_added(result, name):
    memory = result["memory"]
    if name not in memory:
        return None
    return memory[name]["target_peak_pss_bytes"] - memory[recorders.PLAIN]["target_peak_pss_bytes"]


def bytes_per_event(result, name):
    trace = result["traces"].get(name)
    if not trace:
        return None
    # The length of a packed trace; a raw trace is sparse, so its size on the disk.
    return (trace["bytes"] if name == recorders.RAW else trace["length"]) / events(result)


def added_shares(with_it, without):
    """(median, lower quartile, upper quartile) of the added shares of pairs of runs, which were made one after the other."""
    shares = sorted(each / other - 1 for each, other in zip(with_it, without))
    quartiles = statistics.quantiles(shares, n=4, method="inclusive") if len(shares) > 1 else shares * 3
    return statistics.median(shares), quartiles[0], quartiles[2]


def peer_analysis_s(result):
    analysis = result["analysis"]
    if "heaptrack_interpret" not in analysis:
        return None
    return analysis["heaptrack_interpret"]["wall_s"] + analysis["heaptrack_print"]["wall_s"]
