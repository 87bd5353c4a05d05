"""test_entries.py - by entry point: which function of malloc's or new's family allocated the blocks, in a program with
a known answer

If this fails, a call is counted for another function, or a filter is ignored.
"""

import json

PROGRAM = r"""
#include <cstdlib>
#include <new>
static void *volatile kept[200];
__attribute__((noinline)) static void c_side()
{
  for (int i = 0; i < 30; i++)
    kept[i] = malloc(100);
  kept[30] = calloc(10, 10);
  kept[0] = realloc(kept[0], 500);
  kept[31] = aligned_alloc(64, 640);
  for (int i = 0; i < 2; i++)
    kept[32] = malloc(~(size_t)0 / 4);
}
__attribute__((noinline)) static void cxx_side()
{
  for (int i = 0; i < 20; i++)
    kept[40 + i] = operator new(50);
  kept[60] = new (std::nothrow) char[1000];
}
int main()
{
  c_side();
  cxx_side();
  kept[199] = nullptr;
}
"""
KNOWN = {"malloc": (30, 3000), "calloc": (1, 100), "realloc": (1, 500), "aligned_alloc": (1, 640), "operator new": (20, 1000),
         "operator new[](nothrow)": (1, 1000)}


def entries(report):
    return {item["entry"]: item for item in report["by_entry"]}


def test_by_entry(record, compile_cxx, hw, tmp_path):
    recording = record([compile_cxx(PROGRAM)])
    whole = recording.report
    assert sum(item["calls"] for item in whole["by_entry"]) == whole["allocation_calls"]
    assert sum(item["peak_bytes"] for item in whole["by_entry"]) == whole["peak_bytes"]
    assert {name: item["failed_calls"] for name, item in entries(whole).items() if item["failed_calls"]} == {"malloc": 2}
    ours = entries(recording.report_with("--only", "func=*_side"))  # without allocations of the runtime
    assert {name: (item["calls"], item["bytes"]) for name, item in ours.items()} == KNOWN
    assert ours["malloc"]["failed_calls"] == 2
    sized = entries(recording.report_with("--only", "func=*_side", "--only", "size=1000"))
    assert list(sized) == ["operator new[](nothrow)"] and "failed_calls" not in sized["operator new[](nothrow)"]
    text = hw("report", "--by", "entry", "--cost", "calls", "--only", "func=*_side", recording.trace).stdout
    rows = text.partition("Entry points by allocations")[2].splitlines()
    assert [row.split("   ")[-1] for row in rows if row[:3].strip().isdigit()][:2] == ["malloc", "operator new"]
    assert "  failed: 2 of malloc" in rows
    saved = tmp_path / "saved.json"
    saved.write_text(json.dumps(whole))
    same = json.loads(hw("diff", "--json", "--by", "entry", saved, recording.trace).stdout)
    assert same["rows"] == []


def test_diff(record, compile_cxx, hw):
    old = record([compile_cxx(PROGRAM, name="old")])
    new = record([compile_cxx(PROGRAM.replace("i < 20", "i < 25").replace("calloc(10, 10)", "malloc(100)"), name="new")])
    done = hw("diff", "--json", "--by", "entry", "--cost", "calls", old.trace, new.trace)
    rows = {row["entry"]: (row["match"], row["change"]["calls"]) for row in json.loads(done.stdout)["rows"]}
    assert rows["operator new"] == ("both", 5)
    assert rows["malloc"] == ("both", 1)
    assert rows["calloc"] in (("gone", -1), ("both", -1))  # the loader may also have called it
    assert "Entry points that changed by allocations" in hw("diff", "--by", "entry", "--cost", "calls", old.trace, new.trace).stdout


def test_what_it_is_not_for(record, hw):
    recording = record(["/bin/true"])
    done = hw("report", "--tree", "--by", "entry", recording.trace)
    assert done.returncode == 2 and "--tree needs stacks" in done.stderr
