/* block_index.h - which block an address is in: one look-up takes constant time
 *
 * granule  the unit of which the addresses of all blocks are multiples: 16 bytes for most allocators.
 * cell     64 granules: a bit for each one where a block begins, and how many blocks begin before the cell. The bits up to
 *          an address, counted, give the block. For granules of 16 bytes, cells take 1/64 of the memory that they cover.
 * span     blocks that begin near each other, and their cells. It has no cells for the rest of a large last block.
 */
#ifndef HWI_MEMORY_GRAPH_BLOCK_INDEX_H
#define HWI_MEMORY_GRAPH_BLOCK_INDEX_H

#include "memory/heaps/heap.h"

enum { HWI_CELL_SHIFT = 6, HWI_CELL_GRANULES = 1 << HWI_CELL_SHIFT };

#define HWI_NO_BLOCK UINT32_MAX

struct hwi_cell {
  uint64_t starts;
  uint32_t before;
};

struct hwi_index_span {
  uint64_t begin, end;
  struct hwi_cell *cells; /* cell_count + 1; no block begins in the last one */
  uint64_t cell_count;
};

/* All zero: of no blocks. */
struct hwi_block_index {
  const struct hwi_core_block *blocks;
  size_t block_count;
  unsigned granule_shift;
  uint64_t begin, end; /* of all spans */
  struct hwi_index_span *spans;
  size_t span_count, span_capacity;
  struct hwi_cell *cells;
  size_t cell_count;
};

/* Makes the index of sorted blocks, which must stay where they are. Returns 0, HW_ERR_LIMIT or HW_ERR_MEMORY. */
int hwi_block_index_init(struct hwi_block_index *index, const struct hwi_core_heap *heap, struct hwi_error *error);
void hwi_block_index_release(struct hwi_block_index *index);

/* The slow path: returns the span, or NULL. Takes logarithmic time in the number of spans. */
const struct hwi_index_span *hwi_block_index_find_span(const struct hwi_block_index *index, uint64_t address);

static inline unsigned hwi_count_bits(uint64_t bits)
{
  bits -= bits >> 1 & 0x5555555555555555;
  bits = (bits & 0x3333333333333333) + (bits >> 2 & 0x3333333333333333);
  return (unsigned)(((bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0f) * 0x0101010101010101 >> 56);
}

/* Returns the cell of an address, or NULL if no block is near. *span is that of the look-up before. */
static inline const struct hwi_cell *hwi_block_index_cell(const struct hwi_block_index *index,
                                                          const struct hwi_index_span **span, uint64_t address)
{
  if (address - index->begin >= index->end - index->begin)
    return NULL;
  if (!*span || address - (*span)->begin >= (*span)->end - (*span)->begin) {
    const struct hwi_index_span *found = hwi_block_index_find_span(index, address);
    if (!found)
      return NULL;
    *span = found;
  }
  const uint64_t number = (address - (*span)->begin) >> (index->granule_shift + HWI_CELL_SHIFT);
  return &(*span)->cells[number < (*span)->cell_count ? number : (*span)->cell_count];
}

/* Returns how many blocks begin up to the address. The cell is that of the address. */
static inline uint32_t hwi_block_index_before(const struct hwi_block_index *index, const struct hwi_cell *cell,
                                              uint64_t address)
{
  const unsigned bit = address >> index->granule_shift & (HWI_CELL_GRANULES - 1);
  return cell->before + hwi_count_bits(cell->starts & (UINT64_MAX >> (HWI_CELL_GRANULES - 1 - bit)));
}

/* Returns the block that begins at the address, or HWI_NO_BLOCK, without a look at the block. The cell is that of the address. */
static inline uint32_t hwi_block_index_start(const struct hwi_block_index *index, const struct hwi_cell *cell,
                                             uint64_t address)
{
  const uint64_t granule = (uint64_t)1 << index->granule_shift;
  const unsigned bit = address >> index->granule_shift & (HWI_CELL_GRANULES - 1);
  if (address & (granule - 1) || !(cell->starts >> bit & 1))
    return HWI_NO_BLOCK;
  return hwi_block_index_before(index, cell, address) - 1;
}

/* Returns the block whose usable bytes contain the address, or HWI_NO_BLOCK. The cell is that of the address. */
static inline uint32_t hwi_block_index_in_cell(const struct hwi_block_index *index, const struct hwi_cell *cell,
                                               uint64_t address)
{
  const uint32_t count = hwi_block_index_before(index, cell, address);
  if (count == 0)
    return HWI_NO_BLOCK;
  const struct hwi_core_block *block = &index->blocks[count - 1];
  const uint64_t off = address - block->address;
  return off < hwi_core_block_bytes(block) || off == 0 ? count - 1 : HWI_NO_BLOCK;
}

static inline uint32_t hwi_block_index_find(const struct hwi_block_index *index, const struct hwi_index_span **span,
                                            uint64_t address)
{
  const struct hwi_cell *cell = hwi_block_index_cell(index, span, address);
  return cell ? hwi_block_index_in_cell(index, cell, address) : HWI_NO_BLOCK;
}

#endif
