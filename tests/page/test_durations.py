"""test_durations.py - the page of a recording with durations shows the same durations as `report --durations --json`

Breaks if the second reading of the recording times calls twice, or not at all; if a slow call is shown for another
stack; or if a page shows durations that were not recorded.
"""

from collections import Counter

from page_document import read_page, unpack_durations

PROGRAM = """
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *kept[500];

__attribute__((noinline)) void *small(size_t bytes) { return malloc(bytes); }
__attribute__((noinline)) void *large(size_t bytes) { return memset(calloc(1, bytes), 1, bytes); }

int main(void)
{
  for (int i = 0; i < 500; i++)
    kept[i] = i % 50 == 0 ? large(1 << 20) : small((size_t)i + 1);
  for (int i = 0; i < 500; i++)
    kept[i] = realloc(kept[i], 2000);
  usleep(20000);
  for (int i = 0; i < 500; i++)
    free(kept[i]);
  return 0;
}
"""
OF_ALL = ("clock_cost_ns", "durations", "durations_of_all")
OF_A_CALL = ("entry", "took_ns", "time_ns", "size", "address", "failed", "thread", "tid", "stack_of")


def page_of(recording, hw, tmp_path):
    path = tmp_path / "run.page.json"
    done = hw("report", "-o", path, recording.trace)
    assert (done.returncode, done.stderr) == (0, "")
    return read_page(path)


def test_durations(record, compile_c, hw, tmp_path):
    recording = record([compile_c(PROGRAM, "-fno-builtin")], "--durations")
    page, report = page_of(recording, hw, tmp_path), recording.report_with("--durations")
    for key in OF_ALL:
        assert page.document[key] == report[key], key
    calls = page.document["slowest_calls"]
    assert len(calls) == len(report["slowest_calls"]) == 100
    for shown, told in zip(calls, report["slowest_calls"]):
        assert {key: shown[key] for key in OF_A_CALL} == {key: told[key] for key in OF_A_CALL}
        functions = [function for function, *_ in page.frames_of(page.stacks["node"][shown["row"]])] if "row" in shown else []
        assert functions == [frame["function"] for frame in told["stack"]]


def band_from(band):
    return band if band < 16 else (8 + band % 8) << (band // 8 - 1)


def test_durations_of_intervals(record, compile_c, hw, tmp_path):
    """Of the whole run, and of parts of it; one of these has no calls."""
    recording = record([compile_c(PROGRAM, "-fno-builtin")], "--durations")
    page = page_of(recording, hw, tmp_path)
    entries = [row["entry"] for row in page.document["durations"]]
    series = unpack_durations(page.document["durations_series"], len(entries))
    begins, count = page.slices["from_ns"], page.slices.count
    for first, last in ((0, count - 1), (0, count // 3), (count // 3, count // 2), (count // 2, count - 2)):
        until = f"{begins[last + 1]}ns" if last + 1 < count else "1000s"
        report = recording.report_with("--durations", "--from", f"{begins[first]}ns", "--to", until)
        told = {row["entry"]: row for row in report["durations"]}
        for entry, parts in zip(entries, series):
            chosen = [part for part in parts if first <= part[0] <= last]
            bands = sum((Counter(part[4]) for part in chosen), Counter())
            expected = told.get(entry, {"calls": 0, "untimed_calls": 0})
            assert (bands.total(), sum(part[1] for part in chosen)) == (expected["calls"], expected["untimed_calls"])
            assert sum(part[2] for part in chosen) == expected.get("total_ns", 0)
            assert max((part[3] for part in chosen), default=0) == expected.get("max_ns", 0)
            ranges = Counter()
            for from_ns, to_ns, calls in expected.get("histogram", []):
                (band,) = [band for band in range(496) if band_from(band) <= from_ns and to_ns < band_from(band + 1)]
                ranges[band] += calls
            assert ranges == bands


def test_without_durations(record, compile_c, hw, tmp_path):
    page = page_of(record([compile_c(PROGRAM, "-fno-builtin")]), hw, tmp_path)
    assert not {*OF_ALL, "slowest_calls", "durations_series"} & page.document.keys()
