"""test_chrome.py - Chrome's trace events: counters, the leak marker, names of threads, selected allocations"""

import json

COUNTERS = "size<{}>(count)"


def document(path):
    found = json.loads(path.read_bytes().decode("utf-8"))
    last = {}
    for event in found["traceEvents"]:
        assert event["ph"] in "MCi" and isinstance(event["name"], str) and event["ts"] >= 0 and event["pid"] > 0
        if event["ph"] == "C":
            assert event["ts"] >= last.get(event["name"], 0)
            last[event["name"]] = event["ts"]
    return found


def values(found, name):
    return [next(iter(event["args"].values())) for event in found["traceEvents"] if event["ph"] == "C" and event["name"] == name]


def test_counters(export, report, tracks):
    shown, found = report(tracks), document(export(tracks, "x.trace.json"))
    total = values(found, "Memory:Total(bytes)")
    assert max(total) == shown["peak_bytes"] and total[-1] == shown["live_bytes_at_end"]
    for size in shown["sizes"]:  # fewer than 20 of them
        counts = values(found, COUNTERS.format(size["size"]))
        assert (counts or [0])[-1] == size["live_blocks"]
        assert max(counts or [0]) <= size["own_peak_blocks"]
    assert values(found, COUNTERS.format("other")) == []


def test_the_leak_marker_has_what_is_left(export, report, tracks):
    marker = [event for event in document(export(tracks, "x.trace.json"))["traceEvents"] if event["name"].startswith("Memory Leaks")]
    assert len(marker) == 1 and marker[0]["s"] == "p"
    assert marker[0]["args"] == {str(size["size"]): size["live_blocks"] for size in report(tracks)["sizes"] if size["live_blocks"]}


def test_names(export, report, tracks):
    events = document(export(tracks, "x.trace.json"))["traceEvents"]
    names = {(event["pid"], event["tid"]): event["args"]["name"] for event in events if event["name"] == "thread_name"}
    assert names == {(thread["pid"], thread["tid"]): thread["name"] for thread in report(tracks)["by_thread"]}


def test_allocations_of_chosen_stacks(export, tracks):
    found = document(export(tracks, "x.trace.json", "--events", "1", "--cost", "calls"))
    chosen = [event for event in found["traceEvents"] if event.get("cat") == "allocation"]
    assert len(chosen) == 1000 and {event["args"]["bytes"] for event in chosen} == {100}
    names, at = [], chosen[0]["sf"]
    while at is not None:
        names.append(found["stackFrames"][at]["name"])
        at = found["stackFrames"][at].get("parent")
    assert names[:3] == ["inlined", "churn", "work"]
    assert {event["sf"] for event in chosen} == {chosen[0]["sf"]}
    times = [event["ts"] for event in chosen]
    assert times == sorted(times)


def test_at_most_twenty_sizes(export, report, record, compile_c):
    program = compile_c("""
#include <stdlib.h>
int main(void) { for (int i = 1; i <= 50; i++) { void *volatile block = malloc(10000 + i); (void)block; } return 0; }
""")
    trace = record([program]).trace
    found = document(export(trace, "x.trace.json"))
    sizes = {event["name"] for event in found["traceEvents"] if event["ph"] == "C" and event["name"].startswith("size<")}
    assert sizes == {COUNTERS.format(size) for size in range(10031, 10051)} | {COUNTERS.format("other")}
    live = sum(size["live_blocks"] for size in report(trace)["sizes"])
    assert values(found, COUNTERS.format("other"))[-1] == live - 20


def test_strange_names(export, evil):
    found = document(export(evil, "x.trace.json", "--events", "10"))
    names = {frame["name"] for frame in found["stackFrames"].values()}
    assert names >= {"evil\"quo'ted\";<script>alert(1)</script>", "evil\\back,comma &amp; \ufffd( not utf-8 \ufffd\nand a line"}


def test_events_are_for_chrome(hw, tracks, tmp_path):
    done = hw("export", tracks, "-o", tmp_path / "x.folded", "--events", "5")
    assert done.returncode == 2 and "--events is for chrome" in done.stderr
