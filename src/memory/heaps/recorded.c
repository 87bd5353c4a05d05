/* recorded.c - the blocks that a recording of the same process has as live at a moment */
#include "memory/heaps/recorded.h"

#include <stdlib.h>

#include "profile/blocks/live.h"
#include "trace/table.h"

/* The blocks are in the list while the events are taken; `live` knows where. */
struct taking {
  struct hwi_recorded_blocks *blocks;
  struct hwi_live live;
  uint64_t until_ns;
  bool failed;
};

static bool add(struct taking *taking, const struct hwi_block_event *event)
{
  struct hwi_recorded_blocks *blocks = taking->blocks;
  if (!hwi_live_grow(&taking->live) || blocks->count == UINT32_MAX ||
      !hwi_table_grow((void **)&blocks->blocks, &blocks->capacity, blocks->count + 1, sizeof *blocks->blocks))
    return false;
  struct hwi_live_slot *slot = hwi_live_slot(&taking->live, event->address);
  taking->live.count += !slot->address;
  *slot = (struct hwi_live_slot){.address = event->address, .number = (uint32_t)blocks->count};
  blocks->blocks[blocks->count++] = (struct hwi_recorded_block){event->address, event->size, event->stack};
  return true;
}

/* The last block of the list takes its place. */
static void take_away(struct taking *taking, uint64_t address)
{
  struct hwi_recorded_blocks *blocks = taking->blocks;
  struct hwi_live_slot *slot = hwi_live_slot(&taking->live, address);
  if (!slot->address)
    return;
  const uint32_t number = slot->number;
  hwi_live_remove(&taking->live, slot);
  const struct hwi_recorded_block last = blocks->blocks[--blocks->count];
  if (number == blocks->count)
    return;
  blocks->blocks[number] = last;
  hwi_live_slot(&taking->live, last.address)->number = number;
}

static bool take(void *context, const struct hwi_block_event *event)
{
  struct taking *taking = context;
  if (event->ns > taking->until_ns)
    return false;
  if (event->kind == HWI_BLOCK_ALLOC && !add(taking, event))
    taking->failed = true;
  else if (hwi_block_is_end(event) && event->kind != HWI_BLOCK_LEFT)
    take_away(taking, event->address);
  return !taking->failed;
}

static int compare(const void *a, const void *b)
{
  const struct hwi_recorded_block *x = a, *y = b;
  return x->address < y->address ? -1 : x->address > y->address;
}

int hwi_recorded_blocks_read(struct hwi_recorded_blocks *blocks, const char *path,
                             const struct hwi_profile_options *options, uint64_t until_ns, struct hwi_error *error)
{
  struct taking taking = {.blocks = blocks, .until_ns = until_ns};
  const struct hwi_block_sink sink = {.take = take, .context = &taking};
  *blocks = (struct hwi_recorded_blocks){0};
  int status = hwi_live_init(&taking.live) ? hwi_profile_events(path, options, &sink, error) : HW_ERR_MEMORY;
  if (status == HW_ERR_LIMIT)
    status = 0; /* the rest came later */
  if (status == HW_ERR_MEMORY || taking.failed)
    status = hwi_error_set(error, HW_ERR_MEMORY, "no memory for the blocks of %s; use a larger machine", path);
  if (status == 0 && blocks->count)
    qsort(blocks->blocks, blocks->count, sizeof *blocks->blocks, compare);
  if (status < 0)
    hwi_recorded_blocks_release(blocks);
  if (taking.live.slots)
    hwi_live_release(&taking.live);
  return status;
}

const struct hwi_recorded_block *hwi_recorded_blocks_find(const struct hwi_recorded_blocks *blocks, uint64_t address)
{
  const struct hwi_recorded_block wanted = {.address = address};
  return blocks->count ? bsearch(&wanted, blocks->blocks, blocks->count, sizeof wanted, compare) : NULL;
}

void hwi_recorded_blocks_release(struct hwi_recorded_blocks *blocks)
{
  hwi_table_release(blocks->blocks, blocks->capacity * sizeof *blocks->blocks);
  *blocks = (struct hwi_recorded_blocks){0};
}
