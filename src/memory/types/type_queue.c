/* type_queue.c - the blocks that have got a label, and whose pointers are to be followed: in the order of their labels
 *
 * A block that gets a better label while it is in the queue keeps its place. Blocks are all over memory: without those that are
 * fetched ahead, each one would be waited for.
 */
#include "memory/types/type_spread.h"
#include "trace/table.h"

enum {
  AHEAD = 8, /* blocks whose bytes are fetched */
  FIRST_PLACES = 1024,
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

/* Returns the place that is so far behind the head. */
static struct hwi_queued *place_of(const struct hwi_type_spread *spread, size_t behind)
{
  return &spread->queue[(spread->head + behind) & (spread->queue_places - 1)];
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

void hwi_type_queue_push(struct hwi_type_spread *spread, uint32_t block, uint64_t elements)
{
  if (spread->label_of[block] & HWI_TYPE_QUEUED)
    return;
  if (spread->waiting == spread->queue_places && !grow(spread)) {
    spread->failed = true;
    return;
  }
  spread->label_of[block] |= HWI_TYPE_QUEUED;
  *place_of(spread, spread->waiting++) = (struct hwi_queued){spread->index->blocks[block].address, block,
                                                             elements < UINT32_MAX ? (uint32_t)elements : UINT32_MAX};
}

static void fetch_ahead(const struct hwi_type_spread *spread)
{
  if (spread->waiting <= AHEAD)
    return;
  const struct hwi_queued *queued = place_of(spread, AHEAD);
  __builtin_prefetch(&spread->label_of[queued->block], 1);
  hwi_type_fetch(spread, queued->address);
}

static void follow_first(struct hwi_type_spread *spread)
{
  const struct hwi_queued first = *place_of(spread, 0);
  hwi_type_claims_finish_for(spread, first.address);
  fetch_ahead(spread);
  spread->head = (spread->head + 1) & (spread->queue_places - 1);
  spread->waiting--;
  spread->label_of[first.block] &= ~HWI_TYPE_QUEUED;
  hwi_type_spread_block(spread, &first);
}

void hwi_type_spread_run(struct hwi_type_spread *spread)
{
  do {
    while (spread->waiting && !spread->failed)
      follow_first(spread);
    hwi_type_claims_finish(spread);
  } while (spread->waiting && !spread->failed);
}
