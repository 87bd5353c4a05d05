"""The page about the trace format: a reader that was written from it reads the files of the recorder and of the
packer
"""

import pytest

from format_reader import read_trace

PROGRAM = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

static void *volatile sink;

__attribute__((noinline)) static void *deep(int levels, size_t size)
{
  if (levels == 0)
    return malloc(size);
  void *block = deep(levels - 1, size);
  __asm__ volatile("");
  return block;
}

static void *work(void *seed)
{
  void *blocks[64] = {0};
  uint32_t random = (uint32_t)(uintptr_t)seed;
  for (int i = 0; i < 4000; i++) {
    random = random * 1664525 + 1013904223;
    unsigned at = random >> 26;
    switch (random >> 8 & 7) {
    case 0: blocks[at] = realloc(blocks[at], 1 + (random >> 12) % 900); break;
    case 1: free(blocks[at]); blocks[at] = aligned_alloc(64, 64 * (1 + (random >> 12) % 5)); break;
    case 2: sink = malloc(PTRDIFF_MAX); break;
    case 3: free(blocks[at]); blocks[at] = deep((random >> 12) % 40, 10 + (random >> 20) % 50); break;
    case 4: free(blocks[at]); blocks[at] = malloc(300000); break;
    default: free(blocks[at]); blocks[at] = malloc(16 + (random >> 14) % 64); break;
    }
  }
  return NULL;
}

int main(void)
{
  pthread_t threads[3];
  for (uintptr_t i = 0; i < 3; i++)
    pthread_create(&threads[i], NULL, work, (void *)(i + 1));
  for (int i = 0; i < 3; i++)
    pthread_join(threads[i], NULL);
  work((void *)77);
  return 0;
}
"""

FREE_ENTRIES = {"free": 2}


def plainly(events):
    """As in both forms: a raw chunk has separate ops for the most usual entries."""
    return [event._replace(entry=FREE_ENTRIES.get(event.entry, event.entry), alignment=event.alignment or None) for event in events]


@pytest.mark.parametrize("options", [(), ("--durations",), ("--no-usable",), ("--no-usable", "--durations")])
def test_both_forms_hold_what_the_report_counts(record, compile_c, hw, tmp_path, options):
    recording = record([compile_c(PROGRAM, "-O1", "-fno-optimize-sibling-calls", "-pthread")], "--no-pack", "--max-size", "64M", *options)
    packed_path = tmp_path / "packed.hwt"
    assert hw("import", recording.trace, "-o", packed_path).returncode == 0
    raw, packed, report = read_trace(recording.trace), read_trace(packed_path), recording.report

    assert raw.events.keys() == packed.events.keys()
    for thread in raw.events:
        assert plainly(raw.events[thread]) == plainly(packed.events[thread])
    assert sorted(raw.nodes) == sorted(packed.nodes)
    assert sorted(raw.records) == sorted(packed.records)

    for trace in (raw, packed):
        events = [event for thread in trace.events.values() for event in thread]
        kinds = {kind: [event for event in events if event.kind == kind] for kind in ("alloc", "free", "realloc", "failed")}
        births = kinds["alloc"] + kinds["realloc"]
        assert len(births) == report["allocation_calls"]
        assert len(kinds["free"]) + len(kinds["realloc"]) == report["free_calls"]
        assert len(kinds["failed"]) == report["failed_calls"] > 0
        assert sum(event.size for event in births) == report["allocated_bytes"]
        if "--no-usable" not in options:
            assert all(event.usable >= event.size for event in births)
        if "--durations" in options:
            assert sum(event.duration > 0 for event in events) > len(events) / 2
        nodes = {node.number: node for node in trace.nodes}
        assert all(event.node in nodes for event in births if event.node)
        assert all(node.parent in nodes for node in trace.nodes if node.parent)
