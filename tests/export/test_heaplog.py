"""test_heaplog.py - heaphook's heap log: its lines have the same form, and their sums are correct"""

import re
from collections import Counter

LINES = {
    "alloc": r"alloc, (\d+), (\d+), 0x([0-9a-f]{16}), 0",
    "alloc_zeroed": r"alloc_zeroed, (\d+), 0x([0-9a-f]{16}), 0",
    "dealloc": r"dealloc, 0x([0-9a-f]{16}), 0",
    "realloc": r"realloc, 0x([0-9a-f]{16}), (\d+), 0x([0-9a-f]{16}), 0",
}


def test_the_lines_add_up(export, report, tracks):
    shown, live, kinds, peak, level = report(tracks), {}, Counter(), 0, 0
    for line in export(tracks, "x.heaplog").read_text().splitlines():
        kind = line.split(",")[0]
        fields = re.fullmatch(LINES[kind], line).groups()
        kinds[kind] += 1
        if kind == "realloc":
            level -= live.pop(fields[0])
        if kind == "dealloc":
            level -= live.pop(fields[0])
        else:
            address = fields[-1]
            assert address not in live
            live[address] = int(fields[1] if kind == "realloc" else fields[0])
            level += live[address]
        if kind == "alloc" and fields[0] == "512":
            assert fields[1] == "256"
        peak = max(peak, level)
    assert kinds["alloc"] + kinds["alloc_zeroed"] + kinds["realloc"] == shown["allocation_calls"]
    assert kinds["dealloc"] + kinds["realloc"] == shown["free_calls"]
    assert kinds["realloc"] == 3 and kinds["alloc_zeroed"] >= 32
    assert (level, len(live), peak) == (shown["live_bytes_at_end"], shown["live_blocks_at_end"], shown["peak_bytes"])


def test_a_choice(export, tracks):
    lines = export(tracks, "x.heaplog", "--thread", "wor*").read_text().splitlines()
    assert Counter(line.split(",")[0] for line in lines) == {"alloc": 1001, "dealloc": 1000}


def test_reallocs_whose_halves_lie_apart(export, report, record, compile_c):
    """An address that one thread's realloc frees can be another thread's new block before the first one's new block
    is known."""
    program = compile_c("""
#include <pthread.h>
#include <stdlib.h>
static void *work(void *given)
{
  void *block = NULL;
  unsigned seed = (unsigned)(size_t)given;
  for (int i = 0; i < 20000; i++)
    block = realloc(block, 1 + rand_r(&seed) % 3000);
  free(block);
  return NULL;
}
int main(void)
{
  pthread_t threads[4];
  for (size_t i = 0; i < 4; i++) pthread_create(&threads[i], NULL, work, (void *)i);
  for (size_t i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  return 0;
}
""", "-pthread")
    trace = record([program]).trace
    live, shown = {}, report(trace)
    calls = frees = 0
    for line in export(trace, "x.heaplog").read_text().splitlines():
        fields = [field.strip() for field in line.split(",")]
        if fields[0] in ("dealloc", "realloc"):
            del live[fields[1]]
            frees += 1
        if fields[0] != "dealloc":
            assert fields[-2] not in live
            live[fields[-2]] = True
            calls += 1
    assert (calls, frees, len(live)) == (shown["allocation_calls"], shown["free_calls"], shown["live_blocks_at_end"])
