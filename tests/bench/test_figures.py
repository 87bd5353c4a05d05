"""The arithmetic for docs/benchmarks.md, and the measurement of a command's cost. If it is wrong, the figures
flatter or understate a tool.
"""
import argparse
import json
import os
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "bench"))

import figures  # noqa: E402
import measure  # noqa: E402
import run  # noqa: E402
import tables  # noqa: E402


def result(plain, ours, theirs):
    runs = {"plain": plain, "record": ours, "heaptrack": theirs}
    return {
        "text": "a program",
        "goal_raw": 0.2,
        "counts": {"allocation_calls": 600, "free_calls": 400},
        "runs": {name: {"wall_s": times, "cpu_s": times} for name, times in runs.items()},
        "memory": {"plain": {"target_peak_pss_bytes": 1000}, "record": {"target_peak_pss_bytes": 5000}},
        "traces": {"raw": {"bytes": 4096, "length": 1 << 33}, "record": {"bytes": 4096, "length": 1500}},
    }


def test_added_time_is_of_the_fastest_runs_per_event():
    assert figures.added_ns(result([3.0, 1.0], [2.0, 9.0], [5.0]), "record", "wall_s") == pytest.approx(1e6)


def test_a_ratio_is_of_added_times_not_of_times():
    assert figures.ratio(result([1.0], [2.0], [6.0]), "record", "heaptrack", "cpu_s") == pytest.approx(0.2)


def test_what_was_not_measured_has_no_figure():
    each = result([1.0], [2.0], [6.0])
    assert figures.added_ns(each, "heaptrack-r", "wall_s") is None
    assert figures.ratio(each, "record", "heaptrack-r", "wall_s") is None
    assert figures.memory_added(each, "heaptrack") is None


def test_a_raw_trace_counts_what_it_takes_on_the_disk():
    each = result([1.0], [2.0], [6.0])
    assert figures.bytes_per_event(each, "raw") == pytest.approx(4.096)
    assert figures.bytes_per_event(each, "record") == pytest.approx(1.5)
    assert figures.memory_added(each, "record") == 4000


def test_a_missed_goal_is_marked():
    shown = tables.ratios({"workloads": {"w": result([1.0], [3.0], [6.0])}})
    assert "0.40!" in shown.rows[0]


def test_cpu_time_of_a_child_left_behind_counts(tmp_path):
    """heaptrack's interpreter does not outlive its command, but a recorder's helper may: its time must be counted."""
    pid = os.fork()
    if pid == 0:
        try:
            measure.adopt_orphans()
            spin = "import time\nwhile time.process_time() < 0.3: pass"
            script = f"{sys.executable} -c '{spin}' & exit 0"
            cost = measure.run(["/bin/sh", "-c", script], {}, str(tmp_path / "stderr"))
            os._exit(0 if cost.cpu_s >= 0.3 else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_a_failed_command_is_no_figure(tmp_path):
    with pytest.raises(measure.Failed, match="sh ended with status 3: broken"):
        measure.run(["/bin/sh", "-c", "echo broken >&2; exit 3"], {}, str(tmp_path / "stderr"))


def own_run():
    """The data of a part that is measured separately."""
    return {"command": "make bench BENCH_FLAGS='--large 9'", "date": "2026-11-01", "other_busy_cores": 0.2,
            "machine": {"cpu": "a processor", "cores": 2, "memory_bytes": 1 << 30}}


def large():
    first = {"wall_s": 9.0, "cpu_s": 8.0, "max_rss_bytes": 600e6}
    return {"text": "a program", "rounds": 10, "events": 160_000_000, "bytes": 40e6, **own_run(),
            "first": first, "again": {"wall_s": 0.2, "cpu_s": 0.1, "max_rss_bytes": 20e6}}


def test_a_large_recording_is_told_by_cpu_time_and_memory():
    table = tables.large({"large": large()})
    assert table.rows[0] == ["the first", "9.0", "8.0", "20", "600!"]
    assert table.rows[1][4] == "20"
    assert "160,000,000" in table.text and "10 times" in table.text
    assert "Measured by `make bench BENCH_FLAGS='--large 9'`, 2026-11-01" in table.text


def test_names_from_debug_information_have_a_goal_of_their_own():
    costs = {"report --json": 9.0, "report": 6.0, "second report": 1.0, "heaptrack_print": 3.0}
    found = {"parts": 2000, "debug_bytes": 1e9, "file_bytes": 2e9, **own_run(),
             "analysis": {step: {"wall_s": wall, "cpu_s": 1.0, "max_rss_bytes": 5e6} for step, wall in costs.items()}}
    table = tables.debug_info({"debug-info": found})
    assert [row[:2] for row in table.rows] == [["report --json", "9.00"], ["report", "6.00!"], ["second report", "1.00"]]
    assert "2,000 C++ sources with 1,000 MB" in table.text


def test_what_is_measured_on_its_own_outlives_other_runs(tmp_path):
    kept = tmp_path / "results.json"
    kept.write_text(json.dumps({"workloads": {"w": 1}, "large": {"events": 9}, "date": "then"}), encoding="utf-8")
    given = argparse.Namespace(add=False)
    assert run.results_to_begin_with(given, str(kept)) == {"workloads": {}, "instructions": {}, "latency": {}, "large": {"events": 9}}
    assert "large" not in run.results_to_begin_with(given, str(tmp_path / "none"))


def test_added_instructions_are_per_event_between_two_sizes():
    case = {"text": "a program", "events": 200,
            "ways": {"plain": {"instructions": 1000}, "raw": {"instructions": 7000}}}
    assert figures.added_count(case, "raw", "instructions") == pytest.approx(30)
    assert figures.added_count(case, "heaptrack-r", "instructions") is None


def test_added_shares_are_of_runs_that_were_made_in_pairs():
    assert figures.added_shares([1.1, 2.4, 3.0], [1.0, 2.0, 3.0]) == pytest.approx((0.1, 0.05, 0.15))
    assert figures.added_shares([1.1], [1.0]) == pytest.approx((0.1, 0.1, 0.1))


def test_a_missed_goal_of_samples_is_marked():
    conditions = {"command": "make bench", "date": "2026-01-01", "machine": {"cpu": "x", "memory_bytes": 1, "cores": 2}, "other_busy_cores": 0}
    pairs = [{"text": "passed on", "ns": 5, "against": None}, {"text": "a sample", "ns": 14, "against": "passed on"}]
    programs = [{"text": "a program", "goal": goal, "plain": [1.0, 2.0], "sample": [1.02, 2.04], "exact": [(1.5, 1.0)], "memory_bytes": 5_000_000}
                for goal in (0.01, 0.05)]
    found = {"pairs": pairs, "programs": programs, "goal_ns": 8, "pair_count": 9, "memory_goal_mb": 4, "starts": {"run_s": 0.005, "process_s": 0.001}}
    results = {"sampling": {**found, **conditions}}
    assert [row[2] for row in tables.sampled_pairs(results).rows] == ["", "+9.0!"]
    assert [row[2] for row in tables.sampled_programs(results).rows] == ["+2.0!", "+2.0"]
    assert [row[6:] for row in tables.sampled_programs(results).rows] == [["+50", "5.0!"]] * 2
