/* block_index.c - makes the index from addresses to blocks */
#include "memory/graph/block_index.h"

#include <stdlib.h>

#include "trace/grow.h"
#include "trace/table.h"

enum { GAP_BYTES = 65536 /* a larger gap between blocks begins a new span */, MOST_GRANULE_SHIFT = 12 };

static unsigned granule_shift_of(const struct hwi_core_heap *heap)
{
  uint64_t all = (uint64_t)1 << MOST_GRANULE_SHIFT;
  for (size_t i = 0; i < heap->block_count; i++)
    all |= heap->blocks[i].address;
  return (unsigned)__builtin_ctzll(all);
}

static uint64_t end_of(const struct hwi_core_block *block)
{
  const uint64_t bytes = hwi_core_block_bytes(block);
  return block->address + (bytes && block->address + bytes > block->address ? bytes : 1);
}

static bool add_span(struct hwi_block_index *index, uint64_t begin, uint64_t end)
{
  if (!hwi_grow((void **)&index->spans, &index->span_capacity, index->span_count + 1, sizeof *index->spans))
    return false;
  index->spans[index->span_count++] = (struct hwi_index_span){.begin = begin, .end = end};
  return true;
}

/* A span begins with a cell, so that an address has the same granule in its cell as in memory. */
static bool find_spans(struct hwi_block_index *index)
{
  const uint64_t cell_bytes = (uint64_t)HWI_CELL_GRANULES << index->granule_shift;
  for (size_t i = 0; i < index->block_count; i++) {
    const struct hwi_core_block *block = &index->blocks[i];
    struct hwi_index_span *last = index->span_count ? &index->spans[index->span_count - 1] : NULL;
    const uint64_t begin = block->address & ~(cell_bytes - 1);
    if (last && (begin < last->end || begin - last->end <= GAP_BYTES)) {
      if (end_of(block) > last->end)
        last->end = end_of(block);
    } else if (!add_span(index, begin, end_of(block))) {
      return false;
    }
  }
  return true;
}

static bool make_cells(struct hwi_block_index *index)
{
  const unsigned shift = index->granule_shift + HWI_CELL_SHIFT;
  for (size_t i = 0; i < index->span_count; i++)
    index->cell_count += ((index->spans[i].end - index->spans[i].begin - 1) >> shift) + 1;
  index->cells = hwi_table_calloc(index->cell_count, sizeof *index->cells);
  if (!index->cells)
    return false;
  struct hwi_cell *cells = index->cells;
  uint32_t next = 0;
  for (size_t i = 0; i < index->span_count; i++) {
    struct hwi_index_span *span = &index->spans[i];
    const size_t count = ((span->end - span->begin - 1) >> shift) + 1;
    span->cells = cells;
    for (size_t k = 0; k < count; k++, cells++) {
      const uint64_t cell_end = span->begin + ((uint64_t)(k + 1) << shift);
      cells->before = next;
      for (; next < index->block_count && index->blocks[next].address < cell_end; next++)
        cells->starts |= (uint64_t)1 << (index->blocks[next].address >> index->granule_shift & (HWI_CELL_GRANULES - 1));
    }
  }
  return true;
}

int hwi_block_index_init(struct hwi_block_index *index, const struct hwi_core_heap *heap, struct hwi_error *error)
{
  *index = (struct hwi_block_index){.blocks = heap->blocks, .block_count = heap->block_count};
  if (heap->block_count >= HWI_NO_BLOCK)
    return hwi_error_set(error, HW_ERR_LIMIT, "the heap has %zu blocks; references can be followed between at most %u",
                         heap->block_count, HWI_NO_BLOCK - 1);
  if (heap->block_count == 0)
    return 0;
  index->granule_shift = granule_shift_of(heap);
  if (!find_spans(index) || !make_cells(index)) {
    hwi_block_index_release(index);
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory for an index of %zu blocks; use a larger machine",
                         heap->block_count);
  }
  index->begin = index->spans[0].begin;
  index->end = index->spans[index->span_count - 1].end;
  return 0;
}

void hwi_block_index_release(struct hwi_block_index *index)
{
  free(index->spans);
  free(index->cells);
  *index = (struct hwi_block_index){0};
}

const struct hwi_index_span *hwi_block_index_find_span(const struct hwi_block_index *index, uint64_t address)
{
  size_t low = 0, high = index->span_count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (index->spans[middle].end <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low < index->span_count && index->spans[low].begin <= address ? &index->spans[low] : NULL;
}
