/* nested.c - heaps whose memory is a block of another heap
 *
 * Only parts that are in one piece can be in a block. They are sorted, so that one search for each block finds those in it. A
 * part that overlaps another one without being in one of its blocks was there before: its memory has been used again.
 */
#include "memory/heaps/nested.h"

#include <stdlib.h>

struct piece {
  uint64_t begin, end;
  size_t part;
  bool is_given_up;
};

struct nesting {
  struct hwi_core_heap *heap;
  struct piece *pieces; /* sorted by `begin`; of those that begin together, the largest first */
  size_t count;
};

static int compare(const void *a, const void *b)
{
  const struct piece *x = a, *y = b;
  if (x->begin != y->begin)
    return x->begin < y->begin ? -1 : 1;
  return x->end > y->end ? -1 : x->end < y->end;
}

static bool list_pieces(struct nesting *nesting)
{
  const struct hwi_core_heap *heap = nesting->heap;
  nesting->pieces = calloc(heap->part_count + 1, sizeof *nesting->pieces);
  if (!nesting->pieces)
    return false;
  for (size_t i = 0; i < heap->part_count; i++)
    if (heap->parts[i].is_piece)
      nesting->pieces[nesting->count++] =
          (struct piece){heap->parts[i].address, heap->parts[i].address + heap->parts[i].system_bytes, i, false};
  qsort(nesting->pieces, nesting->count, sizeof *nesting->pieces, compare);
  return true;
}

static size_t first_from(const struct nesting *nesting, uint64_t address)
{
  size_t low = 0, high = nesting->count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (nesting->pieces[middle].begin < address)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Returns whether the block holds parts, which are then marked. */
static bool mark_held(struct nesting *nesting, const struct hwi_core_block *block)
{
  const uint64_t end = hwi_core_block_end(block);
  bool holds = false;
  for (size_t i = first_from(nesting, block->address); i < nesting->count && nesting->pieces[i].begin < end; i++) {
    struct piece *piece = &nesting->pieces[i];
    if (piece->end > end)
      continue;
    holds = true;
    nesting->heap->parts[piece->part].is_nested = true;
    piece->is_given_up |= hwi_core_block_state(block) != HWI_CORE_BLOCK_LIVE;
  }
  return holds;
}

static uint64_t blocks_of(const struct hwi_core_heap_part *part)
{
  uint64_t count = 0;
  for (int state = 0; state < HWI_CORE_BLOCK_STATES; state++)
    count += part->sums[state].blocks;
  return count;
}

/* Takes out the blocks that hold parts. */
static void take_out_holders(struct nesting *nesting)
{
  struct hwi_core_heap *heap = nesting->heap;
  size_t kept = 0, from = 0;
  for (size_t i = 0; i < heap->part_count; i++) {
    struct hwi_core_heap_sum *live = &heap->parts[i].sums[HWI_CORE_BLOCK_LIVE];
    for (const size_t end = from + blocks_of(&heap->parts[i]); from < end; from++) {
      const struct hwi_core_block block = heap->blocks[from];
      if (mark_held(nesting, &block) && hwi_core_block_state(&block) == HWI_CORE_BLOCK_LIVE) {
        live->blocks--;
        live->bytes -= hwi_core_block_bytes(&block);
      } else {
        heap->blocks[kept++] = block;
      }
    }
  }
  heap->block_count = kept;
}

/* Marks the parts that overlap the one before them without being in one of its blocks. */
static void mark_overlapping(struct nesting *nesting)
{
  uint64_t end = 0;
  for (size_t i = 0; i < nesting->count; i++) {
    struct piece *piece = &nesting->pieces[i];
    if (piece->begin < end && !nesting->heap->parts[piece->part].is_nested)
      piece->is_given_up = true;
    else if (piece->end > end)
      end = piece->end;
  }
}

static void take_out_given_up(struct nesting *nesting, const bool *is_given_up)
{
  struct hwi_core_heap *heap = nesting->heap;
  size_t kept_parts = 0, kept = 0, from = 0;
  for (size_t i = 0; i < heap->part_count; i++) {
    const uint64_t count = blocks_of(&heap->parts[i]);
    if (!is_given_up[i]) {
      if (count > 0)
        memmove(heap->blocks + kept, heap->blocks + from, count * sizeof *heap->blocks);
      kept += count;
      heap->parts[kept_parts++] = heap->parts[i];
    }
    from += count;
  }
  heap->part_count = kept_parts;
  heap->block_count = kept;
}

bool hwi_core_heap_settle_nested(struct hwi_core_heap *heap)
{
  struct nesting nesting = {.heap = heap};
  bool *is_given_up = calloc(heap->part_count + 1, sizeof *is_given_up);
  const bool done = is_given_up && list_pieces(&nesting);
  if (done && nesting.count) {
    take_out_holders(&nesting);
    mark_overlapping(&nesting);
    for (size_t i = 0; i < nesting.count; i++)
      is_given_up[nesting.pieces[i].part] = nesting.pieces[i].is_given_up;
    take_out_given_up(&nesting, is_given_up);
  }
  free(nesting.pieces);
  free(is_given_up);
  return done;
}
