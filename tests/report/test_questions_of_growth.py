"""test_questions_of_growth.py - blocks that grow and blocks that are freed together, in programs whose answers are
known

Breaks if a realloc in place is taken for one that copied; if the copied bytes of a chain, or its final block, are
wrong; if the growth of a container is overlooked, or seen where there is none; or if an arena is proposed for blocks
that are not freed together.
"""

import pytest

# docs/questions.md shows these programs: change both together.

CHAINS = """
#include <stdlib.h>

static void *volatile pinned;

__attribute__((noinline)) char *in_place(void)
{
  char *text = NULL;
  for (size_t bytes = 1000; bytes <= 16000; bytes *= 2)
    text = realloc(text, bytes);  /* nothing comes after it: it grows in place */
  return text;
}

__attribute__((noinline)) char *moving(void)
{
  char *text = NULL;
  for (size_t bytes = 1000; bytes <= 64000; bytes *= 2) {
    text = realloc(text, bytes);
    pinned = malloc(bytes);       /* now something does, too large for the holes that it left */
  }
  return text;
}

int main(void)
{
  char *first = in_place();
  pinned = malloc(100);
  free(moving());
  free(first);
}
"""

CONTAINERS = """
#include <vector>

__attribute__((noinline)) void fill(std::vector<int> &numbers)
{
  for (int i = 0; i < 1000; i++)
    numbers.push_back(i);
}

__attribute__((noinline)) void fill_reserved(std::vector<int> &numbers)
{
  numbers.reserve(1000);
  for (int i = 0; i < 1000; i++)
    numbers.push_back(i);
}

int main()
{
  std::vector<int> numbers, reserved;
  fill(numbers);
  fill_reserved(reserved);
  return numbers[999] - reserved[999];
}
"""

RESERVE = """
#include <stdlib.h>
#include <string.h>

static void *volatile pinned;

__attribute__((noinline)) char *grow(void)
{
  char *text = NULL;
  for (size_t bytes = 1000; bytes <= 100000; bytes += 1000) {
    text = realloc(text, bytes);
    pinned = malloc(bytes);
  }
  return text;
}

int main(void)
{
  free(grow());
}
"""

ARENA = """
#include <stdlib.h>

struct node { struct node *next; char bytes[40]; };

__attribute__((noinline)) struct node *parse_node(struct node *next)
{
  struct node *node = malloc(sizeof *node);
  node->next = next;
  return node;
}

__attribute__((noinline)) void *cache_entry(void) { return malloc(64); }

int main(void)
{
  for (int request = 0; request < 20; request++) {
    struct node *list = NULL;
    for (int i = 0; i < 1000; i++)
      list = parse_node(list);
    for (struct node *next; list; list = next) {
      next = list->next;
      free(list);
    }
  }
  static void *cache[500];                  /* as many blocks, but each dies when it is the oldest one */
  for (int i = 0; i < 20000; i++) {
    free(cache[i % 500]);
    cache[i % 500] = cache_entry();
  }
}
"""


def resizes_of(report, function):
    """The steps that led to the stacks of `function`; there must be one such stack."""
    found = [
        stack["resizes"] for stack in report["top"]
        if "resizes" in stack and function in str([frame["function"] for frame in stack["stack"]])
    ]
    assert len(found) == 1, found
    return found[0]


def test_chains_of_reallocs(record, compile_c, hw):
    recording = record([compile_c(CHAINS)])
    report = recording.report
    assert resizes_of(report, "in_place") == {
        "estimated": False, "steps": 4, "moved": 0, "copied_bytes": 0, "grown": 4, "grown_copied_bytes": 0,
        "final_blocks": 1, "final_median": 16000, "final_largest": 16000}
    assert resizes_of(report, "moving") == {
        "estimated": False, "steps": 6, "moved": 6, "copied_bytes": 63000, "grown": 6, "grown_copied_bytes": 63000,
        "final_blocks": 1, "final_median": 64000, "final_largest": 64000}
    assert sum("resizes" in stack for stack in report["top"]) == 2
    text = hw("report", "--resizes", recording.trace).stdout
    row = next(line for line in text.splitlines() if "moving" in line)
    assert row.split()[:8] == ["1", "6", "6", "63.0", "kB", "1", "64.0", "kB"], text
    assert next(line for line in text.splitlines() if "in_place" in line).split()[:4] == ["2", "4", "0", "0"]


def test_shrinking_is_no_growth(record, compile_c):
    report = record([compile_c("""
#include <stdlib.h>
__attribute__((noinline)) void *trim(void *block) { return realloc(block, 100); }
int main(void)
{
  void *volatile trimmed = trim(malloc(50000));
  return !trimmed;
}
""")]).report
    trimmed = resizes_of(report, "trim")
    assert (trimmed["steps"], trimmed["grown"], trimmed["final_largest"]) == (1, 0, 100)


def test_growth_of_containers(record, compile_cxx, hw):
    recording = record([compile_cxx(CONTAINERS)])
    assert resizes_of(recording.report, "fill(") == {
        "estimated": True, "steps": 10, "moved": 10, "copied_bytes": 4 * 1023, "grown": 10, "grown_copied_bytes": 4 * 1023,
        "final_blocks": 1, "final_median": 4096, "final_largest": 4096}
    rows = hw("report", "--resizes", recording.trace).stdout
    assert "(estimate)" in rows and "fill_reserved" not in rows


def test_an_exchange_is_no_growth(record, compile_cxx):
    report = record([compile_cxx("""
struct Small { char bytes[100]; };
struct Large { char bytes[200]; };
__attribute__((noinline)) Small *small() { return new Small; }
__attribute__((noinline)) Large *large() { return new Large; }
int main()
{
  for (int i = 0; i < 50; i++) {
    Small *old = small();
    Large *larger = large();  // a larger block, and then the end of a smaller one: but allocated elsewhere
    delete old;
    delete larger;
  }
}
""")]).report
    assert not any("resizes" in stack for stack in report["top"])


def test_advice_to_reserve(record, compile_c, hw):
    recording = record([compile_c(RESERVE)])
    advice = [finding for finding in recording.report["findings"] if finding["kind"] == "reserve"]
    assert len(advice) == 1
    assert advice[0]["stack"][0]["function"] == "grow"
    assert advice[0]["saved_calls"] == 99
    assert advice[0]["largest_size"] == advice[0]["median_size"] == 100000
    steps = resizes_of(recording.report, "grow")
    assert advice[0]["saved_bytes"] == steps["copied_bytes"] == 1000 * 99 * 100 / 2
    text = hw("report", recording.trace, env={"COLUMNS": "200", "PATH": "/bin"}).stdout
    assert "asking for 100.0 kB at once saves 99 calls and" in text, text


def test_arena(record, compile_c, hw):
    recording = record([compile_c(ARENA)])
    report = recording.report
    arenas = [finding for finding in report["findings"] if finding["kind"] == "arena"]
    assert len(arenas) == 1
    assert arenas[0]["stack"][0]["function"] == "parse_node"
    assert (arenas[0]["blocks"], arenas[0]["generations"], arenas[0]["largest_bytes"]) == (20000, 20, 48000)
    assert arenas[0]["saved_calls"] == 20000 - 20
    assert "inline_buffer" not in {finding["kind"] for finding in report["findings"]}  # 1,000 live at once
    for stack in report["top"]:
        if stack["stack"][0]["function"] == "cache_entry":
            assert "together" not in stack
    text = hw("report", recording.trace, env={"COLUMNS": "200", "PATH": "/bin"}).stdout
    assert "an arena saves 19,980 allocations and as many frees in parse_node" in text, text
    assert "1,000 at a time, at most 48.0 kB" in text, text


@pytest.mark.parametrize("options", [["--by", "size"], ["--thread", "main"], ["--lifetimes"]])
def test_resizes_are_of_whole_stacks(record, compile_c, hw, options):
    done = hw("report", "--resizes", *options, record([compile_c(CHAINS)]).trace)
    assert done.returncode == 2
    assert "--resizes" in done.stderr
