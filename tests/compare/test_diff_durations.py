"""test_diff_durations.py - heapwright diff --durations: the durations of calls in both runs, and the change

Breaks if a figure differs from the report's of its run, if a change has the wrong sign, or if a function that only
one run calls is wrong. The times are those of logs, so that they are exact: percentiles below 128 ns are, too.
"""

import json
import re

import pytest

# OLD: 100 mallocs of 10 bytes, of 1 to 100 ns, and their frees, of 20 ns each; a calloc of 7 ns.
OLD = [line for i in range(100) for line in (f"alloc, 10, 1, 0x{i + 1:x}0, {i + 1}", f"dealloc, 0x{i + 1:x}0, 20")] + ["alloc_zeroed, 70, 0xff00, 7"]
# NEW: 200 mallocs, each as long as before, except for two of 5 us; frees of 10 ns; a realloc of 40 ns, and no calloc.
NEW = [line for i in range(200) for line in (f"alloc, 10, 1, 0x{i + 1:x}0, {5000 if i >= 198 else i % 100 + 1}", f"dealloc, 0x{i + 1:x}0, 10")]
NEW += ["alloc, 300, 1, 0xff00, 50", "realloc, 0xff00, 600, 0xff10, 40"]


@pytest.fixture
def runs(hw, tmp_path):
    traces = []
    for name, lines in (("old", OLD), ("new", NEW)):
        log, trace = tmp_path / f"{name}.heaplog", tmp_path / f"{name}.hwt"
        log.write_text("\n".join(lines) + "\n")
        assert hw("import", log, "-o", trace).returncode == 0
        traces.append(trace)
    return traces


def test_both_runs_and_the_change(runs, hw):
    found = json.loads(hw("diff", "--durations", "--json", *runs).stdout)
    assert found["schema"] == "heapwright-diff/1" and "rows" not in found
    rows = {row["entry"]: row for row in found["durations"]}
    assert set(rows) == {"malloc", "free", "calloc", "realloc"}
    for side, trace in zip(("old", "new"), runs):
        report = json.loads(hw("report", "--durations", "--json", trace).stdout)
        assert found[side]["allocation_calls"] == report["allocation_calls"] and found["clock_cost_ns"][side] == report["clock_cost_ns"]
        shown = {row.pop("entry"): row for row in report["durations"]}
        for entry, row in rows.items():
            assert row[side] == shown.get(entry, {"calls": 0, "untimed_calls": 0})
        assert found["durations_of_all"][side] == report["durations_of_all"]
    for row in found["durations"] + [found["durations_of_all"]]:
        both = row["old"].keys() & row["new"].keys() - {"histogram", "untimed_calls"}
        assert row["change"].keys() == both
        assert all(row["change"][key] == pytest.approx(row["new"][key] - row["old"][key], abs=0.1) for key in both)
    assert rows["malloc"]["change"] == {
        "calls": 101, "total_ns": 5050 + 98 * 99 // 2 + 10000 + 50 - 5050, "mean_ns": pytest.approx((5050 + 4851 + 10050) / 201 - 50.5, abs=0.1),
        "p50_ns": 0, "p90_ns": 0, "p99_ns": 1, "p99_9_ns": pytest.approx(4900, abs=40), "p99_99_ns": pytest.approx(4900, abs=40), "max_ns": 4900}
    assert rows["free"]["change"]["p50_ns"] == -10 and rows["free"]["change"]["max_ns"] == -10
    assert rows["calloc"]["change"] == {"calls": -1} and rows["realloc"]["change"] == {"calls": 1}


def test_text(runs, hw):
    done = hw("diff", "--durations", *runs)
    assert (done.returncode, done.stderr) == (0, "")
    table = done.stdout.split("How long calls took\n")[1]
    assert re.search(r"^malloc\n  old +100 +51 ns +50 ns +99 ns .*100 ns\n  new +201 .*5\.00 us\n  change +\+101 % ", table, re.M)
    assert re.search(r"^free\n  old +100 +20 ns.*\n  new +200 +10 ns.*\n  change +\+100 % +-50\.0 % +-50\.0 %", table, re.M)
    assert re.search(r"^calloc\n  old +1 +7 ns.*\n  new +0\n\S", table, re.M)  # no change for a missing row
    assert re.search(r"^all calls\n  old +201 ", table, re.M) and "Times are as the recordings have them" in table
    assert max(map(len, done.stdout.splitlines())) <= 100


def test_a_choice(runs, hw):
    found = json.loads(hw("diff", "--durations", "--json", "--only", "size=300..600", *runs).stdout)
    assert {row["entry"]: (row["old"]["calls"], row["new"]["calls"]) for row in found["durations"]} == {"malloc": (0, 1), "realloc": (0, 1)}
    assert "only size=300..600" in hw("diff", "--durations", "--only", "size=300..600", *runs).stdout


def test_what_the_recorder_adds_is_told(record, hw):
    recording = record(["/bin/ls"], "--durations")
    text = hw("diff", "--durations", recording.trace, recording.trace).stdout
    assert re.search(r"Times are of the allocator alone, each with \d+ ns \(old\) and \d+ ns \(new\) for reading\s+the\s+clock", text)
    assert not re.search(r"  change +\S", text)  # compared with itself


def test_what_does_not_go_with_it(runs, record, hw, tmp_path):
    for options, words in ((["--cost", "live"], "leave --cost out"), (["--by", "size"], "leave --by out"), (["--top", "3"], "leave --top out"),
                           (["--threshold", "1%"], "leave --threshold out"), (["--leaks"], "leave --leaks out"),
                           (["--exit-code"], "check --max duration_p99"), (["-o", tmp_path / "x.svg"], "report --chart durations"),
                           (["-o", tmp_path / "x.html"], "leave --durations out")):
        done = hw("diff", "--durations", *options, *runs)
        assert (done.returncode, done.stdout) == (2, "") and words in done.stderr
    untimed = record(["/bin/true"]).trace
    hw("report", "-o", tmp_path / "saved.json", "--durations", runs[0])
    for old, words in ((untimed, "record --durations"), (tmp_path / "saved.json", "is a saved report")):
        done = hw("diff", "--durations", old, runs[1])
        assert (done.returncode, done.stdout) == (2, "") and words in done.stderr
