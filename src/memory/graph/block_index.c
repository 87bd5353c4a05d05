/* block_index.c - makes the index from addresses to blocks */
#include "memory/graph/block_index.h"

#include <assert.h>
#include <stdlib.h>

#include "trace/grow.h"
#include "trace/table.h"

enum {
  DISTANCE_BYTES = 65536, /* from one block to the next one in its span, at most */
  MOST_GRANULE_SHIFT = 8, /* a cell is smaller than that distance, so that spans have no cell in common */
};
static_assert(HWI_CELL_GRANULES << MOST_GRANULE_SHIFT < DISTANCE_BYTES, "of the next span");

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

/* A span begins with a cell, so that an address has the same granule in its cell as in memory. Only in a damaged heap does a
 * block reach into the next span; it is cut off there. */
static bool find_spans(struct hwi_block_index *index)
{
  const unsigned shift = index->granule_shift + HWI_CELL_SHIFT;
  for (size_t i = 0; i < index->block_count; i++) {
    const struct hwi_core_block *block = &index->blocks[i];
    const uint64_t begin = block->address >> shift << shift;
    if (i == 0 || block->address - index->blocks[i - 1].address > DISTANCE_BYTES) {
      if (i > 0 && index->spans[index->span_count - 1].end > begin)
        index->spans[index->span_count - 1].end = begin;
      if (!add_span(index, begin, end_of(block)))
        return false;
    }
    struct hwi_index_span *span = &index->spans[index->span_count - 1];
    span->cell_count = ((block->address - span->begin) >> shift) + 1;
    if (end_of(block) > span->end)
      span->end = end_of(block);
  }
  return true;
}

static bool make_cells(struct hwi_block_index *index)
{
  const unsigned shift = index->granule_shift + HWI_CELL_SHIFT;
  for (size_t i = 0; i < index->span_count; i++)
    index->cell_count += index->spans[i].cell_count + 1;
  index->cells = hwi_table_calloc(index->cell_count, sizeof *index->cells);
  if (!index->cells)
    return false;
  struct hwi_cell *cells = index->cells;
  size_t next = 0;
  for (size_t i = 0; i < index->span_count; i++) {
    struct hwi_index_span *span = &index->spans[i];
    span->cells = cells;
    for (uint64_t k = 0; k < span->cell_count; k++, cells++) {
      cells->before = (uint32_t)next;
      for (; next < index->block_count && (index->blocks[next].address - span->begin) >> shift == k; next++)
        cells->starts |= (uint64_t)1 << (index->blocks[next].address >> index->granule_shift & (HWI_CELL_GRANULES - 1));
    }
    cells++->before = (uint32_t)next;
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
