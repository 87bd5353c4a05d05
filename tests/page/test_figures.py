"""test_figures.py - the page's document has the figures of `report --json`: in total, stack by stack, and in any slice
of time

Breaks if a figure is lost or counted twice where stacks, sizes or threads are summed; if a slice contains events of
the next one; or if a moment or an interval of the page differs from the report's.
"""

import pytest
from page_document import Table, lifetimes_within, live_at, read_page, within

ADD_UP = ("calls", "bytes", "temporary_calls", "peak_bytes", "peak_blocks", "peak_usable_bytes", "live_bytes", "live_blocks")
OF_A_STACK = ADD_UP + ("free_calls", "failed_calls", "own_peak_bytes", "smallest", "largest", "first_ns", "last_ns")
# key: the name of a figure of rows; value: that of the run
OF_THE_RUN = {"calls": "allocation_calls", "bytes": "allocated_bytes", "temporary_calls": "temporary_calls",
              "peak_bytes": "peak_bytes", "peak_blocks": "peak_blocks", "peak_usable_bytes": "peak_usable_bytes",
              "live_bytes": "live_bytes_at_end", "live_blocks": "live_blocks_at_end"}

PHASES = """
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <heapwright/monitor.h>

static void *kept[400];

__attribute__((noinline)) void *load(size_t bytes) { return malloc(bytes); }
__attribute__((noinline)) void *parse(size_t bytes) { return calloc(1, bytes); }

static void *work(void *unused)
{
  for (int i = 0; i < 200; i++) {
    free(parse(i + 1));
    kept[200 + i] = realloc(load(i + 1), 2 * (size_t)i + 2);
    if (i % 20 == 0)
      usleep(1000);
  }
  return unused;
}

int main(void)
{
  pthread_t workers[3];
  for (int i = 0; i < 200; i++)
    kept[i] = load(1000);
  for (int i = 0; i < 3; i++)
    pthread_create(&workers[i], NULL, work, NULL);
  for (int i = 0; i < 3; i++)
    pthread_join(workers[i], NULL);
  usleep(2000);
  for (int i = 0; i < 390; i++)
    free(kept[i]);
  return malloc((size_t)-1 / 2) != NULL;
}
""".replace("#include <heapwright/monitor.h>\n", "")
TWO_WAYS = """
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
static void *volatile kept[30];
__attribute__((noinline)) static void *take(void) { return malloc(64); }
static void *work(void *name)
{
  pthread_setname_np(pthread_self(), name);
  for (int i = 0; i < 30; i++) {
    void *block = take();
    if (strcmp(name, "keeps") == 0)
      kept[i] = block;
    else
      free(block);
  }
  return NULL;
}
int main(void)
{
  for (int i = 0; i < 2; i++) {
    pthread_t worker;
    pthread_create(&worker, NULL, work, i ? "drops" : "keeps");
    pthread_join(worker, NULL);
  }
  return 0;
}
"""
PYTHON = "import json\nd=[{'a':i,'b':[str(i)]*5} for i in range(5000)]\nprint(len(json.loads(json.dumps(d))))"


@pytest.fixture(params=["phases", "python", "shell"])
def recording(request, record, compile_c):
    if request.param == "phases":
        return record([compile_c(PHASES, "-fno-builtin", "-fno-optimize-sibling-calls", "-pthread")])
    return record(["/usr/bin/python3", "-c", PYTHON] if request.param == "python" else ["/bin/bash", "-c", "for i in 1 2 3; do echo $i; done"])


@pytest.fixture
def page(recording, hw, tmp_path):
    done = hw("report", "-o", tmp_path / "run.page.json", recording.trace)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return read_page(tmp_path / "run.page.json")


def by_frames(report):
    """The report's stacks, in the form of Page.rows_by_frames."""
    bias = {module["path"]: module["bias"] for module in report["modules"]}
    found = {}
    for stack in report["top"]:
        frames = [(frame["function"], frame["file"], frame["line"], frame["address"] - bias.get(frame["module"], 0)) for frame in stack["stack"]]
        found[(*frames, stack["entry"])] = stack
    assert len(found) == report["stacks"]
    return found


def test_the_run(recording, page):
    report = recording.report
    assert {key: report[key] for key in page.run} == page.run
    for name, of_run in OF_THE_RUN.items():
        assert page.stacks.sum(name) == report[of_run], name
        if name in page.sizes.columns:
            assert page.sizes.sum(name) == report[of_run], name
        if of_run in page.threads.columns:
            assert page.threads.sum(of_run) == report[of_run], name
    for step, count in report["lifetimes"].items():
        assert page.stacks.sum(step) == count
    frees = page.stacks.sum("free_calls") + report["unmatched_frees"] + report["frees_of_silent_blocks"] + report["inherited_frees"]
    assert frees == report["free_calls"] == page.threads.sum("free_calls")
    assert page.stacks.sum("failed_calls") == report["failed_calls"]
    assert page.document["stacks"]["recorded"] == page.document["stacks"]["kept"] == page.stacks.count
    leaks = recording.report_with("--leaks")["runtime_blocks"]
    assert (page.stacks.sum("runtime_live_blocks"), page.stacks.sum("runtime_live_bytes")) == (leaks["live_blocks"], leaks["live_bytes"])


def test_each_stack(recording, page):
    rows = {frames: row for frames, row in page.rows_by_frames().items() if page.stacks["calls"][row]}
    stacks = by_frames(recording.report)
    assert rows.keys() == stacks.keys()
    for frames, row in rows.items():
        assert {key: page.stacks[key][row] for key in OF_A_STACK} == {key: stacks[frames][key] for key in OF_A_STACK}
        assert {key: page.stacks[key][row] for key in stacks[frames]["lifetimes"]} == stacks[frames]["lifetimes"]


@pytest.mark.parametrize("table", ["stacks", "sizes", "threads"])
def test_slices_add_up(page, table):
    table = getattr(page, table) if table != "sizes" else page.size_series
    end = page.slices.count - 1
    for row, entries in enumerate(table.series):
        if "calls" in table.columns:
            assert within(entries, 0, end) == (table["calls"][row], table["bytes"][row])
            assert live_at(entries, end) == (table["live_blocks"][row], table["live_bytes"][row])
            assert sum(entry.ended["temporary"] for entry in entries) == table["temporary_calls"][row]
        if "until_end" in table.columns:
            assert lifetimes_within(entries, 0, end) == {step: table[step][row] for step in page.run["lifetimes"]}
    for i in range(page.slices.count):
        here = [entry for entries in table.series for entry in entries if entry.slice == i]
        assert sum(entry.calls for entry in here) == page.slices["allocation_calls"][i]
        assert sum(entry.bytes for entry in here) == page.slices["allocated_bytes"][i]
        assert sum(entry.ended["temporary"] for entry in here) == page.slices["temporary_calls"][i]
        live = [live_at(entries, i) for entries in table.series]
        assert (sum(blocks for blocks, _ in live), sum(size for _, size in live)) == (page.slices["live_blocks"][i], page.slices["live_bytes"][i])


def test_slices(page):
    slices, run = page.slices, page.run
    assert slices["from_ns"][0] == 0 and slices["from_ns"] == sorted(set(slices["from_ns"]))
    for name in ("allocation_calls", "free_calls", "failed_calls", "temporary_calls", "allocated_bytes"):
        assert slices.sum(name) == run[name]
    assert max(slices["max_bytes"]) == slices["max_bytes"][page.document["slices"]["peak_slice"]] == run["peak_bytes"]
    for i in range(slices.count):
        assert slices["min_bytes"][i] <= slices["live_bytes"][i] <= slices["max_bytes"][i]
    assert (slices["live_bytes"][-1], slices["live_blocks"][-1]) == (run["live_bytes_at_end"], run["live_blocks_at_end"])


def test_moments(recording, page):
    """The ends of selected slices are moments of the report, and so is the peak."""
    rows, begins = page.rows_by_frames(), page.slices["from_ns"]
    peak = page.document["slices"]["peak_slice"]
    chosen = {peak, 10, page.slices.count // 2, page.slices.count - 2} - {page.slices.count - 1}
    assert live_at([entry for entries in page.stacks.series for entry in entries], peak)[1] <= page.run["peak_bytes"]
    for last in chosen:
        report = recording.report_with("--at", f"{begins[last + 1] - 1}ns")
        expected = {frames: (stack["live_blocks"], stack["live_bytes"]) for frames, stack in by_frames(report).items() if stack["live_blocks"]}
        found = {frames: live_at(page.stacks.series[row], last) for frames, row in rows.items()}
        assert {frames: live for frames, live in found.items() if live[0]} == expected


def test_intervals(recording, page):
    rows, begins = page.rows_by_frames(), page.slices["from_ns"]
    for first, last in ((0, 5), (7, 90), (page.slices.count // 3, page.slices.count - 2)):
        report = recording.report_with("--from", f"{begins[first]}ns", "--to", f"{begins[last + 1]}ns")
        expected = {frames: (stack["calls"], stack["bytes"]) for frames, stack in by_frames(report).items() if stack["calls"]}
        found = {frames: within(page.stacks.series[row], first, last) for frames, row in rows.items()}
        assert {frames: sums for frames, sums in found.items() if sums[0]} == expected
        temporary = sum(page.slices["temporary_calls"][first : last + 1])
        assert 0 <= temporary - report["temporary_calls"] <= page.threads.count


def test_lifetimes_of_intervals(recording, page):
    """Those of blocks that were freed within, or are live at the end; `temporary` may differ by one block per
    thread."""
    begins = page.slices["from_ns"]
    for first, last in ((0, page.slices.count // 2), (7, 90), (page.slices.count // 3, page.slices.count - 2)):
        report = recording.report_with("--from", f"{begins[first]}ns", "--to", f"{begins[last + 1]}ns")
        lifetimes = [lifetimes_within(entries, first, last) for entries in page.stacks.series]
        found = {step: sum(each[step] for each in lifetimes) for step in report["lifetimes"]}
        assert sum(found.values()) == sum(report["lifetimes"].values())
        assert found["until_end"] == report["lifetimes"]["until_end"]
        for step, count in report["lifetimes"].items():
            assert abs(found[step] - count) <= page.threads.count


def test_sizes_and_threads(recording, page):
    report = recording.report
    assert [row["size"] for row in report["sizes"]] == page.sizes["from"] == page.sizes["to"]
    for row, size in enumerate(report["sizes"]):
        for key in ("calls", "bytes", "live_bytes", "peak_bytes", "temporary_calls", "own_peak_blocks"):
            assert page.sizes[key][row] == size[key]
    for row, thread in enumerate(report["by_thread"]):
        for key in ("name", "tid", "pid", "allocation_calls", "free_calls", "live_bytes", "peak_bytes", "own_peak_bytes", "foreign_frees"):
            assert page.threads[key][row] == thread[key]


def handed(report):
    """(owner, freer, blocks, bytes), sorted."""
    return sorted((pair["owner_tid"], pair["freer_tid"], pair["blocks"], pair["bytes"]) for pair in report["handovers"])


def test_handovers(recording, page):
    """Of the whole run and of intervals."""
    pairs, tids, begins = page.handovers, page.threads["tid"], page.slices["from_ns"]
    names = [(tids[owner], tids[freer]) for owner, freer in zip(pairs["owner"], pairs["freer"])]
    assert sorted(zip(*zip(*names), pairs["blocks"], pairs["bytes"])) == handed(recording.report)
    for i, entries in enumerate(pairs.series):
        assert within(entries, 0, page.slices.count - 1) == (pairs["blocks"][i], pairs["bytes"][i])
    for first, last in ((0, page.slices.count // 2), (page.slices.count // 2, page.slices.count - 2)):
        report = recording.report_with("--from", f"{begins[first]}ns", "--to", f"{begins[last + 1]}ns")
        found = [(*names[i], *within(entries, first, last)) for i, entries in enumerate(pairs.series)]
        assert sorted(pair for pair in found if pair[2]) == handed(report)


def series_of_pairs(pairs, rows):
    """By row: its pairs as (thread, entries). A row's only pair has the row's own series."""
    found, at = {}, 0
    for i in range(pairs.count):
        at += pairs["row"][i]
        found.setdefault(at, []).append(i)
    for row, members in found.items():
        yield row, [(pairs["thread"][i], i, pairs.series[i] if len(members) > 1 else rows.series[row]) for i in members]
        assert len(members) > 1 or pairs.series[members[0]] == []


def test_each_thread(recording, page):
    """The events of a thread for each stack and size, in total and in each slice; a report narrowed to the thread
    has the same figures."""
    if page.threads.count == 1:
        assert "stack_threads" not in page.document and "size_threads" not in page.document
        return
    steps = recording.report["lifetimes"]
    for key, table in (("stack_threads", page.stacks), ("size_threads", page.size_series)):
        pairs = Table(page.document[key], page.document[key]["count"])
        by_thread = {}
        for row, members in series_of_pairs(pairs, table):
            together = sorted(entry for _, _, entries in members for entry in entries)
            for i in range(page.slices.count):
                assert within(together, i, i) == within(table.series[row], i, i) and live_at(together, i) == live_at(table.series[row], i)
            for thread, i, entries in members:
                by_thread.setdefault(thread, []).extend(entries)
                if key == "stack_threads":
                    end = page.slices.count - 1
                    assert within(entries, 0, end) == (pairs["calls"][i], pairs["bytes"][i])
                    assert live_at(entries, end) == (pairs["live_blocks"][i], pairs["live_bytes"][i])
                    assert live_at(entries, page.document["slices"]["peak_slice"])[1] == pairs["peak_bytes"][i]
            for name in (*ADD_UP, "runtime_live_bytes", "runtime_live_blocks", *steps):
                if name in pairs.columns:
                    assert sum(pairs[name][i] for _, i, _ in members) == table[name][row], name
        for thread, entries in by_thread.items():
            report = recording.report_with("--thread", f"{page.threads['name'][thread]}")["selected"]
            named_alike = page.threads["name"].count(page.threads["name"][thread]) > 1
            assert named_alike or within(entries, 0, page.slices.count) == (report["calls"], report["bytes"])


def test_lifetimes_of_each_thread(hw, record, compile_c, tmp_path):
    """One stack, two threads: the blocks that one of them keeps, the other frees at once, soon, or through another
    thread."""
    run = record([compile_c(TWO_WAYS, "-pthread")], "--durations")
    assert hw("report", "-o", tmp_path / "run.page.json", run.trace).returncode == 0
    page = read_page(tmp_path / "run.page.json")
    pairs = Table(page.document["stack_threads"], page.document["stack_threads"]["count"])
    names = page.threads["name"]
    found = {name: {step: 0 for step in ("temporary", "below_1ms", "below_1s", "until_end")} for name in ("keeps", "drops")}
    for i in range(pairs.count):
        if names[pairs["thread"][i]] in found:
            for step in found[names[pairs["thread"][i]]]:
                found[names[pairs["thread"][i]]][step] += pairs[step][i]
    assert found["keeps"]["until_end"] == 30 and found["keeps"]["temporary"] == 0
    assert found["drops"]["temporary"] == 30 and found["drops"]["until_end"] == 0
    durations = page.document["durations_by_thread"]
    assert len(durations) == page.threads.count
    for row, of_thread in enumerate(durations):
        calls = of_thread["durations_of_all"]["calls"] + of_thread["durations_of_all"]["untimed_calls"]
        assert calls == page.threads["allocation_calls"][row] + page.threads["free_calls"][row]
        for entry in of_thread["durations"]:
            assert sum(count for _, _, count in entry.get("histogram", [])) == entry["calls"]
    for entry in page.document["durations"]:
        assert sum(of["calls"] for by in durations for of in by["durations"] if of["entry"] == entry["entry"]) == entry["calls"]
