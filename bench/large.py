"""large.py - a report on a recording far larger than memory: one program's events, repeated until there are enough."""
import json
import os
import subprocess

import measure
import recorders
import workloads

SOURCE = "python3"


def _figures(tool, trace):
    """(allocation calls, events, nanoseconds) from the report."""
    done = subprocess.run([tool, "report", "--json", "--top", "1", trace], check=True, capture_output=True)
    found = json.loads(done.stdout)
    return found["allocation_calls"], found["allocation_calls"] + found["free_calls"] + found["failed_calls"], found["duration_ns"]


def _report(tool, trace, log, *options):
    cost, peak = measure.run_one_process([tool, "report", trace, *options], log)
    return {"wall_s": cost.wall_s, "cpu_s": cost.cpu_s, "max_rss_bytes": peak}


def measure_large(tools, event_count, settings, work):
    """The cost of a report on a trace of at least `event_count` events, the first time and again, and of one on a fifth of its time,
    with the summary of the first report and without. Raises measure.Failed, also if the report does not count all events."""
    say, log = settings.say, os.path.join(work, "stderr")
    workload = workloads.prepare(work, settings.scale, [SOURCE])[0]
    argv, env, source = tools.command(recorders.PACKED, workload.argv, workload.env, os.path.join(work, "source"))
    say(f"large: records {workload.text}")
    measure.run(argv, env, log)
    calls, events, _ = _figures(tools.tool, source)
    rounds = -(-event_count // events)
    trace = os.path.join(work, "large.hwt")
    say(f"large: repeats its {events:,} events {rounds:,} times")
    measure.run([workloads.compile_c("repeat_trace.c", work), source, trace, str(rounds)], {}, log)
    say("large: reports")
    first = _report(tools.tool, trace, log)
    again = _report(tools.tool, trace, log)
    seen_calls, seen_events, all_ns = _figures(tools.tool, trace)
    interval = "--from", f"{all_ns * 2 // 5}ns", "--to", f"{all_ns * 3 // 5}ns"
    part = _report(tools.tool, trace, log, *interval)
    os.remove(trace + ".sum")
    part_replayed = _report(tools.tool, trace, log, *interval)
    if (seen_calls, seen_events) != (calls * rounds, events * rounds):
        raise measure.Failed([tools.tool, "report", trace], 0,
                             f"{seen_events:,} events instead of {events * rounds:,}")
    found = {"text": workload.text, "rounds": rounds, "events": seen_events, "bytes": os.path.getsize(trace),
             "first": first, "again": again, "part": part, "part_replayed": part_replayed}
    os.remove(trace)
    return found
