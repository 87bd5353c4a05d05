"""test_saved.py - a report saved as JSON can replace its recording in diff, and the baseline of check

If this fails, a comparison with a saved report differs from one with the recording, or takes a part of a run for all
of it.
"""

import json
import os
import subprocess

import pytest

PROGRAM = r"""
#include <pthread.h>
#include <stdlib.h>
static void *volatile kept[1000];
static int count;
static inline __attribute__((always_inline)) void *make(size_t size) { return malloc(size); }
__attribute__((noinline)) static void tables(void) { for (int i = 0; i < TABLES; i++) kept[count++] = make(1000); }
__attribute__((noinline)) static void churn(void) { for (int i = 0; i < CHURN; i++) free(kept[999] = make(64)); }
__attribute__((noinline)) static void deep(int n) { if (n > 0) deep(n - 1); else kept[count++] = make(4096); kept[998] = 0; }
__attribute__((noinline)) static void refused(void) { kept[997] = malloc(~(size_t)0 / 4); }
static void *work(void *unused) { kept[count++] = make(500); return unused; }
int main(void)
{
  pthread_t thread;
  tables();
  churn();
  deep(4);
  refused();
  pthread_create(&thread, NULL, work, NULL);
  pthread_join(thread, NULL);
  return 0;
}
"""


@pytest.fixture(scope="module")
def runs(build, tmp_path_factory):
    """Two runs of a program: their recordings and their saved reports, "old.hwt", "old.json", "new.hwt", "new.json"."""
    folder = tmp_path_factory.mktemp("saved")
    tool = str(build / "bin/heapwright")
    (folder / "program.c").write_text(PROGRAM)
    for name, tables, churn in (("old", 10, 100), ("new", 15, 300)):
        steps = (["gcc", "-O1", "-g", "-fno-optimize-sibling-calls", f"-DTABLES={tables}", f"-DCHURN={churn}", "-o", name,
                  "program.c", "-pthread"], [tool, "record", "-q", "-o", f"{name}.hwt", "--", f"./{name}"],
                 [tool, "report", "--json", "-o", f"{name}.json", f"{name}.hwt"])
        for step in steps:
            subprocess.run(step, cwd=folder, check=True, capture_output=True)
    return folder


@pytest.mark.parametrize("options", [
    (), ("--cost", "calls"), ("--cost", "live", "--by", "function"), ("--by", "line"), ("--by", "module"), ("--by", "file"),
    ("--only", "func=tables"), ("--ignore", "func=churn", "--cost", "bytes"), ("--leaks",), ("--frames", "all")], ids=" ".join)
@pytest.mark.parametrize("format", ["text", "json"])
def test_diff_says_the_same(hw, runs, options, format):
    def diff(old, new):
        done = hw("diff", "--format", format, "--top", "0", *options, old, new, cwd=runs)
        assert done.returncode == 0, done.stderr
        return done.stdout

    expected = diff("old.hwt", "new.hwt")
    assert "tables" in expected or options
    for old, new in (("old.json", "new.hwt"), ("old.hwt", "new.json"), ("old.json", "new.json")):
        assert diff(old, new) == expected


RULES = ["peak=+10%", "calls=+0", "unfreed=+1MB", "failed=+0", "lost=+0", "peak(func=tables)=+1%", "calls(func=churn)=-10%",
         "live_blocks(module=*/new)=+0", "peak=200MB", "calls(from=50%)=1e6"]


def test_check_says_the_same(hw, runs):
    def check(baseline):
        options = [word for rule in RULES for word in ("--max", rule)]
        done = hw("check", "new.hwt", "--baseline", baseline, "--json", *options, cwd=runs)
        assert done.returncode == 1, done.stderr
        return json.loads(done.stdout)

    assert check("old.json") == check("old.hwt")


def test_a_report_with_its_first_stacks_alone(hw, runs):
    """It is enough for rules about the whole run; it may lack stacks of single functions."""
    assert hw("report", "--json", "--top", "1", "-o", "top.json", "old.hwt", cwd=runs).returncode == 0
    done = hw("check", "new.hwt", "--baseline", "top.json", "--json", "--max", "peak=+10%", "--max", "failed=+0",
              "--max", "calls(func=churn)=+0", "--max", "calls(func=tables)=+9", "--max", "unfreed=+0", cwd=runs)
    assert done.returncode == 1, done.stderr
    rules = json.loads(done.stdout)["rules"]
    assert [rule["verdict"] for rule in rules] == ["failed", "ok", "unknown", "ok", "unknown"]
    assert rules[0]["baseline"] == json.loads((runs / "old.json").read_text())["peak_bytes"]
    assert "leaves out stacks" in rules[2]["why"]
    done = hw("diff", "top.json", "new.hwt", cwd=runs)
    assert done.returncode == 2 and "save it without --top" in done.stderr


def test_names_outlive_the_program(hw, runs, tmp_path):
    """After a rebuild, a recording loses its names, and a report does not."""
    program = runs / "old"
    content = program.read_bytes()
    try:
        program.unlink()
        lost = json.loads(hw("diff", "--json", "old.hwt", "new.hwt", cwd=runs).stdout)
        kept = json.loads(hw("diff", "--json", "old.json", "new.hwt", cwd=runs).stdout)
    finally:
        program.write_bytes(content)
        os.chmod(program, 0o755)
    states = {frame["function"]: row["match"] for row in kept["rows"] for frame in row["stack"]}
    assert states["tables"] == "both"
    assert not any(row["match"] == "both" for row in lost["rows"] if any(f["function"] == "tables" for f in row["stack"]))


@pytest.mark.parametrize("arguments, words", [
    (("diff", "--by", "thread", "old.json", "new.hwt"), "give the recording itself"),
    (("diff", "--only", "size=64", "old.json", "new.hwt"), "give the recording itself"),
    (("check", "old.json", "--max", "peak=1"), "check takes a recording"),
    (("check", "new.hwt", "--baseline", "old.json", "--max", "calls(from=50%)=+0"), "give the baseline's recording"),
    (("check", "new.hwt", "--baseline", "old.json", "--max", "own_peak=+0"), "give the baseline's recording"),
])
def test_what_it_cannot_tell(hw, runs, arguments, words):
    done = hw(*arguments, cwd=runs)
    assert done.returncode == 2 and words in done.stderr, done.stderr


@pytest.mark.parametrize("options", [("--from", "50%"), ("--at", "peak"), ("--leaks",), ("--only", "func=main"), ("--min-calls", "2")],
                         ids=" ".join)
def test_a_part_is_refused(hw, runs, options):
    assert hw("report", "--json", "-o", "part.json", *options, "old.hwt", cwd=runs).returncode == 0
    done = hw("diff", "part.json", "new.hwt", cwd=runs)
    assert done.returncode == 2 and "a part of its run" in done.stderr, done.stderr


@pytest.mark.parametrize("text, words", [
    ("{", "line 1 is not JSON"), ('{"schema": "heapwright-diff/1"}', "neither a recording nor"), (' {"a": 1, "a"', "not JSON"),
    ('{"schema": "heapwright-report/1"}', "neither a recording nor")])
def test_other_documents(hw, runs, text, words):
    (runs / "other.json").write_text(text)
    done = hw("diff", "other.json", "new.hwt", cwd=runs)
    assert done.returncode == 2 and words in done.stderr and "other.json" in done.stderr, done.stderr


@pytest.mark.parametrize("change", [
    {"top": [None, 3, {"stack": 5}, {"calls": -7, "stack": [None, {"inlined": True}, {"address": 1e300, "module": "/no"}]}]},
    {"modules": [{"path": 3}, {"path": "/x", "build_id": "zz" * 1000}], "images": [3, None, {"counted": True, "silences": [{}]}]},
    {"by_thread": [1, {"name": "x" * 10000}], "peak_bytes": "many", "stacks": -1},
    {"top": [{"calls": 2**70, "stack": [{"function": "f", "address": 5, "inlined": True}] * 3}] * 2}], ids=str)
def test_nonsense_is_survived(hw, runs, change):
    report = {**json.loads((runs / "old.json").read_text()), "stacks": 0, **change}
    (runs / "odd.json").write_text(json.dumps(report))
    for options in ((), ("--by", "function", "--leaks"), ("--only", "func=main"), ("--json", "--by", "line")):
        done = hw("diff", *options, "odd.json", "new.hwt", cwd=runs)
        assert done.returncode == 0, done.stderr
