/* type_queue.c - the blocks that have got a label, and whose pointers are to be followed: in the order of their labels
 *
 * A block that gets a better label while it is in the queue keeps its place.
 */
#include "memory/types/type_spread.h"
#include "trace/table.h"

enum {
  AHEAD = 8, /* blocks whose bytes are fetched */
  FIRST_PLACES = 1024,
  WINDOW_FROM = 256, /* blocks that are followed together */
};

bool hwi_type_queue_init(struct hwi_type_spread *spread)
{
  spread->queue_places = FIRST_PLACES;
  spread->queue = hwi_table_create(spread->queue_places * sizeof *spread->queue);
  return spread->queue;
}

void hwi_type_queue_release(struct hwi_type_spread *spread)
{
  hwi_table_release(spread->queue, spread->queue_places * sizeof *spread->queue);
}

/* The places before the head move behind what was the end of the ring. */
static bool grow(struct hwi_type_spread *spread)
{
  const size_t places = spread->queue_places, bytes = places * sizeof *spread->queue;
  struct hwi_queued *queue = hwi_table_enlarge(spread->queue, bytes, 2 * bytes);
  if (!queue)
    return false;
  memcpy(queue + places, queue, spread->head * sizeof *queue);
  spread->queue = queue;
  spread->queue_places = 2 * places;
  return true;
}

void hwi_type_queue_push(struct hwi_type_spread *spread, const struct hwi_queued *queued)
{
  if (spread->waiting == spread->queue_places && !grow(spread))
    spread->failed = true;
  else
    *hwi_type_queue_at(spread, spread->waiting++) = *queued;
}

/* Without that, each block would be waited for: they are all over memory. */
static void fetch_ahead(const struct hwi_type_spread *spread)
{
  const struct hwi_core_block *blocks = spread->index->blocks;
  if (spread->waiting > 2 * AHEAD)
    __builtin_prefetch(&blocks[hwi_type_queue_at(spread, 2 * AHEAD)->block]);
  if (spread->waiting <= AHEAD)
    return;
  const uint32_t block = hwi_type_queue_at(spread, AHEAD)->block;
  __builtin_prefetch(&spread->label_of[block], 1);
  hwi_type_fetch(spread, blocks[block].address);
}

void hwi_type_queue_follow_first(struct hwi_type_spread *spread)
{
  const struct hwi_queued first = *hwi_type_queue_at(spread, 0);
  fetch_ahead(spread);
  hwi_type_queue_pop(spread, 1);
  spread->label_of[first.block] &= ~HWI_TYPE_QUEUED;
  hwi_type_spread_block(spread, &first);
  hwi_type_claims_handle(spread);
}

void hwi_type_spread_run(struct hwi_type_spread *spread)
{
  hwi_type_claims_handle(spread);
  while (spread->waiting && !spread->failed)
    if (spread->waiting < WINDOW_FROM)
      hwi_type_queue_follow_first(spread);
    else
      hwi_type_window_follow(spread);
}
