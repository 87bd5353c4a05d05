"""test_suppressions.py - known leaks in LeakSanitizer's syntax, in report, diff and check

If this fails, a known leak hides another one, or a list that is out of date is not noticed.
"""

import json

import pytest

PROGRAM = """
#include <stdlib.h>
void *volatile kept[100];
__attribute__((noinline)) void cache_fill(void) { for (int i = 0; i < CACHED; i++) kept[i] = malloc(1000); }
__attribute__((noinline)) void lose(void) { kept[50] = malloc(70); }
int main(void) { cache_fill(); lose(); return 0; }
"""


@pytest.fixture
def run(record, compile_c):
    return record([compile_c(PROGRAM, "-DCACHED=3", name="leaks")])


@pytest.fixture
def listed(tmp_path):
    def write(text):
        path = tmp_path / "known.supp"
        path.write_text(text)
        return path

    return write


@pytest.mark.parametrize("pattern,blocks,left", [
    ("cache_fill", 3, 1),       # a function
    ("ache_f", 3, 1),           # a part of its name
    ("^cache_fill$", 3, 1),
    ("^ache_fill", 0, 4),
    ("cache*ll", 3, 1),
    ("main", 4, 0),             # any frame, not only the innermost
    ("leaks.c", 4, 0),          # the source file
    ("/leaks$", 4, 0),          # the module
    ("lose", 1, 3),
])
def test_what_a_pattern_matches(hw, run, listed, pattern, blocks, left):
    done = hw("report", "--leaks", "--json", "--suppressions", listed(f"leak:{pattern}\n"), run.trace)
    report = json.loads(done.stdout)
    [item] = report["suppressions"]
    assert (item["pattern"], item["line"], item["blocks"]) == (pattern, 1, blocks)
    assert sum(stack["live_blocks"] for stack in report["top"]) == left
    assert ("matches no leak" in done.stderr) == (blocks == 0)


def test_text_counts_each_line(hw, run, listed):
    path = listed("# what we know\n\n  leak:cache_fill  \r\nleak:lose\nleak:main\nleak:gone_since\n")
    done = hw("report", "--leaks", "--suppressions", path, run.trace, env={"COLUMNS": "80", "LC_ALL": "C.UTF-8"})
    lines = done.stdout.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("Suppressed by "))
    table = [line.split() for line in lines[at:] if "leak:" in line]
    assert table == [["3,000", "B", "3", "3", "leak:cache_fill"], ["70", "B", "1", "4", "leak:lose"],
                     ["0", "0", "5", "leak:main"], ["0", "0", "6", "leak:gone_since"]]
    assert "suppressed: 3,070 B in 4 blocks" in " ".join(done.stdout.split())
    assert "line 5: leak:main matches no leak that an earlier line does not match\n" in done.stderr
    assert "line 6: leak:gone_since matches no leak\n" in done.stderr
    assert "line 4" not in done.stderr


def test_difference_without_known_leaks(record, compile_c, hw, listed, run):
    new = record([compile_c(PROGRAM, "-DCACHED=5", name="more")])
    both = ["--leaks", "--json", run.trace, new.trace]
    assert json.loads(hw("diff", *both).stdout)["changed"] == 1
    found = json.loads(hw("diff", "--suppressions", listed("leak:cache_fill\n"), *both).stdout)
    assert found["rows"] == []
    assert found["suppressions"][0]["blocks"] == 3 + 5


@pytest.mark.parametrize("text,complaint", [
    ("race:foo\n", "known.supp, line 1: 'race:foo' is no 'leak:PATTERN'"),
    ("leak:x\nleak:\n", "known.supp, line 2: 'leak:' is no 'leak:PATTERN'"),
])
def test_lines_that_are_none(hw, run, listed, text, complaint):
    done = hw("report", "--leaks", "--suppressions", listed(text), run.trace)
    assert done.returncode == 2
    assert complaint in done.stderr


def test_only_with_leaks(hw, run, listed):
    for command in (["report"], ["diff", run.trace]):
        done = hw(*command, "--suppressions", listed("leak:x\n"), run.trace)
        assert done.returncode == 2
        assert "--leaks" in done.stderr


def test_empty_list(hw, run, listed):
    assert hw("report", "--leaks", "--suppressions", listed(""), run.trace).returncode == 0
