/* resizes.c - blocks whose contents move on to a larger or smaller block */
#include "profile/counters/resizes.h"

#include <stdlib.h>

#include "trace/grow.h"

void hwi_resizes_release(struct hwi_resize_tally *tally)
{
  hwi_hash_table_release(&tally->indices);
  free(tally->items);
  *tally = (struct hwi_resize_tally){0};
}

static struct hwi_cell_resizes *item_of(struct hwi_resize_tally *tally, uint32_t cell)
{
  uint32_t number = hwi_hash_table_first(&tally->indices, cell)->number;
  if (number)
    return &tally->items[number - 1].counts;
  const size_t index = tally->indices.count; /* there are not more than cells */
  if (!hwi_grow((void **)&tally->items, &tally->capacity, index + 1, sizeof *tally->items) ||
      !hwi_hash_table_add(&tally->indices, cell, (uint32_t)index + 1))
    return NULL;
  tally->items[index].cell = cell;
  return &tally->items[index].counts;
}

bool hwi_resizes_end_block(struct hwi_resize_tally *tally, uint32_t from_cell)
{
  struct hwi_cell_resizes *from = item_of(tally, from_cell);
  if (from)
    from->ended++;
  return from;
}

bool hwi_resizes_add(struct hwi_resize_tally *tally, const struct hwi_resize *step)
{
  struct hwi_cell_resizes *to = item_of(tally, step->to_cell);
  if (!to)
    return false;
  bool grows = step->to_bytes > step->from_bytes;
  uint64_t copied = !step->moved ? 0 : grows ? step->from_bytes : step->to_bytes;
  to->steps.steps++;
  to->steps.moved += step->moved;
  to->steps.copied_bytes += copied;
  to->steps.grown += grows;
  to->steps.grown_copied_bytes += grows ? copied : 0;
  return true;
}

bool hwi_resizes_add_all(struct hwi_resize_tally *tally, uint32_t cell, const struct hwi_cell_resizes *counted)
{
  struct hwi_cell_resizes *to = item_of(tally, cell);
  if (!to)
    return false;
  to->steps.steps += counted->steps.steps;
  to->steps.moved += counted->steps.moved;
  to->steps.copied_bytes += counted->steps.copied_bytes;
  to->steps.grown += counted->steps.grown;
  to->steps.grown_copied_bytes += counted->steps.grown_copied_bytes;
  to->ended += counted->ended;
  return true;
}

void hwi_resizes_restart(struct hwi_resize_tally *tally)
{
  for (size_t i = 0; i < tally->indices.count; i++)
    tally->items[i].counts = (struct hwi_cell_resizes){0};
}
