"""test_durations.py - the page of a recording with durations says how long calls took as `report --durations --json` does

What would break: calls that the second reading of the recording times twice, or not at all; a slow call at another stack's door; a
page that claims durations which nobody recorded.
"""

from page_document import read_page

PROGRAM = """
#include <stdlib.h>
#include <string.h>

static void *kept[500];

__attribute__((noinline)) void *small(size_t bytes) { return malloc(bytes); }
__attribute__((noinline)) void *large(size_t bytes) { return memset(calloc(1, bytes), 1, bytes); }

int main(void)
{
  for (int i = 0; i < 500; i++)
    kept[i] = i % 50 == 0 ? large(1 << 20) : small((size_t)i + 1);
  for (int i = 0; i < 500; i++)
    kept[i] = realloc(kept[i], 2000);
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


def test_without_durations(record, compile_c, hw, tmp_path):
    page = page_of(record([compile_c(PROGRAM, "-fno-builtin")]), hw, tmp_path)
    assert not {*OF_ALL, "slowest_calls"} & page.document.keys()
