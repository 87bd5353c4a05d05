/* scan.h - reads the references in roots and in blocks
 *
 * All functions are compiled into their callers, with what these do for a reference: a heap has billions of words. */
#ifndef HWI_MEMORY_GRAPH_SCAN_H
#define HWI_MEMORY_GRAPH_SCAN_H

#include "memory/graph/graph.h"

/* Words that were read, and are looked up later: the index and the marks are all over memory, and nearly each word would wait
 * for them. A word is looked up in three steps, and each step asks for the memory of the next one. */
enum { HWI_AHEAD_SLOTS = 32 };

struct hwi_ahead {
  struct {
    uint64_t at, to;
    const struct hwi_cell *cell;
  } slots[HWI_AHEAD_SLOTS];
  uint32_t count; /* of words so far */
  uint32_t done;  /* of these, visited */
};

/* Where a scan is. */
struct hwi_scan {
  struct hwi_ahead *ahead; /* NULL: each word is looked up at once */
  const struct hwi_graph *graph;
  struct hwi_memory_reader reader;
  const struct hwi_index_span *span;
};

/* What happens for a reference at `at`, of value `to`, to a block of any state. */
#define HWI_VISIT(name) void (*name)(void *state, uint32_t block, uint64_t at, uint64_t to)
#define HWI_INLINE static inline __attribute__((always_inline))

static inline struct hwi_scan hwi_scan_of(const struct hwi_graph *graph)
{
  return (struct hwi_scan){.graph = graph, .reader = {.memory = graph->memory}};
}

/* Visits the block of the oldest word. */
HWI_INLINE void hwi_scan_visit_oldest(const struct hwi_scan *scan, HWI_VISIT(visit), void *state)
{
  struct hwi_ahead *ahead = scan->ahead;
  const unsigned slot = ahead->done++ % HWI_AHEAD_SLOTS;
  const uint32_t block = hwi_block_index_in_cell(&scan->graph->index, ahead->slots[slot].cell, ahead->slots[slot].to);
  if (block != HWI_NO_BLOCK)
    visit(state, block, ahead->slots[slot].at, ahead->slots[slot].to);
}

HWI_INLINE void hwi_scan_later(struct hwi_scan *scan, uint64_t at, uint64_t word, HWI_VISIT(visit), void *state)
{
  struct hwi_ahead *ahead = scan->ahead;
  const struct hwi_graph *graph = scan->graph;
  const struct hwi_cell *cell = hwi_block_index_cell(&graph->index, &scan->span, word);
  if (!cell)
    return;
  __builtin_prefetch(cell);
  if (ahead->count - ahead->done == HWI_AHEAD_SLOTS)
    hwi_scan_visit_oldest(scan, visit, state);
  const unsigned slot = ahead->count++ % HWI_AHEAD_SLOTS;
  ahead->slots[slot].at = at, ahead->slots[slot].to = word, ahead->slots[slot].cell = cell;
  if (ahead->count - ahead->done > HWI_AHEAD_SLOTS / 2) {
    const unsigned middle = (ahead->count - HWI_AHEAD_SLOTS / 2 - 1) % HWI_AHEAD_SLOTS;
    const uint32_t before = hwi_block_index_before(&graph->index, ahead->slots[middle].cell, ahead->slots[middle].to);
    __builtin_prefetch(&graph->index.blocks[before ? before - 1 : 0]);
    __builtin_prefetch(&graph->marks[before ? before - 1 : 0], 1);
  }
}

/* Visits the words that are left. */
HWI_INLINE void hwi_scan_finish(const struct hwi_scan *scan, HWI_VISIT(visit), void *state)
{
  while (scan->ahead->done != scan->ahead->count)
    hwi_scan_visit_oldest(scan, visit, state);
}

HWI_INLINE void hwi_scan_word(struct hwi_scan *scan, uint64_t at, uint64_t word, HWI_VISIT(visit), void *state)
{
  if (scan->ahead) {
    hwi_scan_later(scan, at, word, visit, state);
    return;
  }
  const uint32_t block = hwi_block_index_find(&scan->graph->index, &scan->span, word);
  if (block != HWI_NO_BLOCK)
    visit(state, block, at, word);
}

/* Scans known bytes. */
HWI_INLINE void hwi_scan_bytes(struct hwi_scan *scan, uint64_t address, const unsigned char *bytes, uint64_t count,
                               HWI_VISIT(visit), void *state)
{
  const struct hwi_memory *memory = scan->graph->memory;
  const unsigned word = memory->word_bytes;
  const uint64_t begin = scan->graph->index.begin, size = scan->graph->index.end - begin;
  uint64_t off = -address & (word - 1), value;
  if (word == sizeof value && !memory->swaps_bytes)
    for (; off + sizeof value <= count; off += sizeof value) {
      memcpy(&value, bytes + off, sizeof value);
      if (value - begin < size)
        hwi_scan_word(scan, address + off, value, visit, state);
    }
  else
    for (; off + word <= count; off += word)
      hwi_scan_word(scan, address + off, hwi_memory_load(memory, bytes + off), visit, state);
}

/* Scans the bytes of a block, as far as they are known; it may be in several regions. */
HWI_INLINE void hwi_scan_block(struct hwi_scan *scan, uint32_t block, HWI_VISIT(visit), void *state)
{
  const struct hwi_core_block *from = &scan->graph->heap->blocks[block];
  const uint64_t end = hwi_core_block_end(from);
  const unsigned char *bytes = hwi_memory_bytes(&scan->reader, from->address, hwi_core_block_bytes(from));
  uint64_t at = from->address, count = hwi_core_block_bytes(from);
  while (at < end) {
    if (!bytes) {
      const struct hwi_region *region = hwi_memory_region_from(scan->graph->memory, at);
      if (!region || region->begin >= end)
        return;
      at = at < region->begin ? region->begin : at;
      const uint64_t known_end = region->begin + region->known < end ? region->begin + region->known : end;
      count = at < known_end ? known_end - at : 0;
      bytes = region->bytes + (at - region->begin);
      if (count == 0) {
        at = region->end;
        bytes = NULL;
        continue;
      }
    }
    hwi_scan_bytes(scan, at, bytes, count, visit, state);
    at += count;
    bytes = NULL;
  }
}

/* A register has an odd `at`, which is the address of no word. Words of vector registers are behind the others. */
enum { HWI_SCAN_REGISTERS = HWI_THREAD_REGISTERS + HWI_THREAD_VECTORS };

static inline uint64_t hwi_scan_register_at(size_t thread, size_t reg)
{
  return ((uint64_t)thread * HWI_SCAN_REGISTERS + reg) * 2 + 1;
}

static inline bool hwi_scan_is_register(uint64_t at)
{
  return at & 1;
}

HWI_INLINE void hwi_scan_registers(struct hwi_scan *scan, size_t number, HWI_VISIT(visit), void *state)
{
  const struct hwi_memory_thread *thread = &scan->graph->memory->threads[number];
  for (size_t k = 0; k < thread->register_count; k++)
    hwi_scan_word(scan, hwi_scan_register_at(number, k), thread->registers[k], visit, state);
  for (size_t k = 0; k < thread->vector_count; k++)
    hwi_scan_word(scan, hwi_scan_register_at(number, HWI_THREAD_REGISTERS + k), thread->vectors[k], visit, state);
}

/* Scans registers and roots, or what is below stack pointers. */
HWI_INLINE void hwi_scan_roots(struct hwi_scan *scan, bool below, HWI_VISIT(visit), void *state)
{
  const struct hwi_graph *graph = scan->graph;
  for (size_t i = 0; i < graph->memory->thread_count && !below; i++)
    hwi_scan_registers(scan, i, visit, state);
  for (size_t i = 0; i < graph->root_count; i++)
    if (graph->roots[i].is_below == below)
      hwi_scan_bytes(scan, graph->roots[i].address, graph->roots[i].bytes, graph->roots[i].count, visit, state);
}

static inline bool hwi_scan_is_free(const struct hwi_graph *graph, uint32_t block)
{
  const enum hwi_core_block_state state = hwi_core_block_state(&graph->heap->blocks[block]);
  return state == HWI_CORE_BLOCK_FREE || state == HWI_CORE_BLOCK_CACHED || state == HWI_CORE_BLOCK_TOP;
}

static inline bool hwi_scan_is_live(const struct hwi_graph *graph, uint32_t block)
{
  return hwi_core_block_state(&graph->heap->blocks[block]) == HWI_CORE_BLOCK_LIVE;
}

#endif
