"""test_alike.py - rows whose memory was requested by the same function also show its caller

Breaks if two rows have the same words; if the same row appears twice because only addresses differ; if callers are
shown where one frame is enough; if lines are wider than the terminal; or if the rows that --top leaves out have no
sum.
"""

import json
import re

import pytest

ALIKE = """
#include <stdlib.h>

#define KEEP(block) __asm__ volatile("" : "+r"(block))

void *grow(void *block, size_t bytes) { block = realloc(block, bytes); KEEP(block); return block; }
void *helper(void *block, size_t bytes) { block = grow(block, bytes); KEEP(block); return block; }
void *alone(void *block, size_t bytes) { block = realloc(block, bytes); KEEP(block); return block; }

#define GROWS(name, by, times) \\
  void name(void) \\
  { \\
    void *block = NULL; \\
    for (int i = 1; i <= times; i++) \\
      block = by(block, i * 1000); \\
    free(block); \\
  }
GROWS(names, helper, 50)
GROWS(tracks, helper, 40)
GROWS(points, grow, 30)
GROWS(single, alone, 20)

void *node(void) { void *block = malloc(60); KEEP(block); return block; }

void list(void)
{
  static void *blocks[30000];
  for (int i = 0; i < 30000; i++)
    blocks[i] = node();
  for (int i = 0; i < 30000; i++)
    free(blocks[i]);
}

void at_once(void)
{
  for (int i = 0; i < 20000; i++)
    free(node());
}

int main(void)
{
  names(), tracks(), points(), single();
  list(), at_once();
}
"""


@pytest.fixture
def trace(record, compile_c):
    return record([compile_c(ALIKE)]).trace


def table(hw, trace, columns, *options):
    """Returns the lines from the table's heading to the empty line below it."""
    lines = hw("report", *options, trace, env={"COLUMNS": str(columns), "PATH": "/bin"}).stdout.splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith("How "))
    found = lines[begin:lines.index("", begin)]
    assert max(map(len, found)) <= columns, found
    return found


def chains(lines):
    """The function that requested the memory and its caller, without places."""
    words = [line.split("  ")[-1].strip() for line in lines]
    return [" < ".join(part.split(" (")[0] for part in line.split(" < ")) for line in words]


@pytest.mark.parametrize("columns", [80, 110, 200])
def test_rows_that_look_alike_name_callers(hw, trace, columns):
    found = chains(table(hw, trace, columns, "--resizes"))
    for row in ["grow < helper < names", "grow < helper < tracks", "grow < points", "alone"]:
        assert found.count(row) == 1, found
    found = chains(table(hw, trace, columns, "--lifetimes", "--cost", "calls"))
    for row in ["node < list", "node < at_once", "grow < helper < names", "grow < points", "alone"]:
        assert found.count(row) == 1, found


LONG_NAME = "a_function_that_room_would_cut"


@pytest.mark.parametrize("columns", [80, 100, 120])
@pytest.mark.parametrize("option", ["--lifetimes", "--resizes"])
def test_a_name_goes_below_its_figures_before_it_is_cut(hw, record, compile_c, columns, option):
    """Names used to be cut to 20 characters although the line below had room for the whole name."""
    source = """#include <stdlib.h>
void *kept;
__attribute__((noinline)) void NAME(void) { for (int i = 1; i < 9; i++) kept = realloc(kept, 1000u * i); }
int main(void) { NAME(); return 0; }"""
    trace = record([compile_c(source.replace("NAME", LONG_NAME))]).trace
    assert LONG_NAME in "\n".join(table(hw, trace, columns, option))


def test_places_stand_where_there_is_room(hw, trace):
    assert "grow (program.c:6) < helper (program.c:7) < names (program.c:" in "\n".join(table(hw, trace, 200, "--resizes"))
    assert "(program.c" not in "\n".join(line for line in table(hw, trace, 110, "--resizes") if " < " in line)


def test_advice_that_looks_alike_names_callers(hw, trace):
    text = " ".join(hw("report", trace).stdout.split())
    assert re.search(r"an arena saves 29,999 allocations and as many frees in node \(program.c:\d+\) < list \(program.c:\d+\):", text), text
    assert re.search(r"saves 20,000 calls \(39.9 %\) in node \(program.c:\d+\) < at_once \(program.c:\d+\) ", text), text


def test_what_top_leaves_out_is_summed(hw, trace):
    last = table(hw, trace, 200, "--lifetimes", "--cost", "calls", "--top", "2")[-1]
    assert last.split()[0] == "140", last  # of 50, 40, 30 and 20 sizes
    assert last.endswith("   in 4 more stacks (--top 0)")
    assert "100.0 %" in last


# Of three rows that read differently, the one whose two halves are each smaller than the others is the largest.
ONE_LINE = """
#include <stdlib.h>

#define KEEP(block) __asm__ volatile("" : "+r"(block))

void *halves[200], *wholes[2];

void alone(void) { wholes[0] = malloc(60000); KEEP(wholes[0]); }
void other(void) { wholes[1] = malloc(50000); KEEP(wholes[1]); }
void half(int i) { halves[i] = malloc(400); halves[i + 1] = malloc(400); KEEP(halves[i]); }
void grow(void) { void *a = NULL, *b = NULL; for (int i = 1; i < 9; i++) { a = realloc(a, i * 1000); b = realloc(b, i * 1000); } free(a); free(b); }

int main(void)
{
  alone();
  other();
  for (int i = 0; i < 200; i += 2)
    half(i);
  grow();
}
"""


@pytest.fixture(params=["-g", "-g0"])
def one_line(request, record, compile_c):
    return record([compile_c(ONE_LINE, "-O0", request.param)]).trace


def test_calls_that_read_the_same_are_one_row(hw, one_line):
    text = hw("report", "--top", "1", one_line).stdout
    rows = text[text.index("Top stacks"):].splitlines()
    assert re.match(r" +1 +80.0 kB .* 400 B \(200\)", rows[2]), rows
    assert rows[3].split()[0] == "half"
    assert re.match(r" +126.0 kB .* in 4 more stacks", rows[5]), rows
    everything = hw("report", "--top", "0", one_line).stdout
    assert len(re.findall(r"^ +half ", everything, re.M)) == 1


def test_json_has_calls_that_read_the_same_apart(hw, one_line):
    top = json.loads(hw("report", "--json", one_line).stdout)["top"]
    halves = [row for row in top if row["stack"][0]["function"] == "half"]
    assert [row["peak_bytes"] for row in halves] == [40000, 40000]
    assert halves[0]["stack"][0]["address"] != halves[1]["stack"][0]["address"]


def test_lifetimes_of_calls_that_read_the_same_are_one_row(hw, one_line):
    found = table(hw, one_line, 120, "--lifetimes", "--top", "1")
    assert found[3].split()[:2] == ["1", "200"] and "half" in found[3]


def test_growth_of_calls_that_read_the_same_is_one_row(hw, one_line):
    found = table(hw, one_line, 120, "--resizes")
    assert len(found) == 3, found
    assert found[2].split()[:2] == ["1", "14"] and "grow" in found[2]


def test_check_blames_calls_that_read_the_same_as_one(hw, one_line):
    text = hw("check", "--max", "peak=1", "--top", "1", one_line).stdout
    assert re.search(r"^ +1 +80.0 kB .*\n +half ", text, re.M), text
    verdicts = json.loads(hw("check", "--json", "--max", "peak=1", "--top", "1", one_line).stdout)
    blamed = verdicts["rules"][0]["stacks"]
    assert [stack["figure"] for stack in blamed] == [80000]
