"""test_alike.py - rows whose memory the same function wanted say who called it

What would break: rows with the same words; callers where one frame says it all; lines wider than the terminal; what --top
leaves out without its sum.
"""

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
    """The lines from the table's heading up to the empty one below it."""
    lines = hw("report", *options, trace, env={"COLUMNS": str(columns), "PATH": "/bin"}).stdout.splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith("How "))
    found = lines[begin:lines.index("", begin)]
    assert max(map(len, found)) <= columns, found
    return found


def chains(lines):
    """Who wanted the memory and who called it, places left out."""
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
