/* resolve.h - finds the block, the stack and the thread of each event
 *
 * resolved event   an event with the profile's numbers instead of the address, the node and the trace's thread number.
 * Stacks and threads are numbered in the order in which events first name them. A block has a number while it lives; a
 * later block may get the same number. Counting needs none of the resolver's tables, so that it can run later, in
 * another thread (pipe.h). A batch lists the stacks and threads that it is the first to name.
 */
#ifndef HWI_PROFILE_BLOCKS_RESOLVE_H
#define HWI_PROFILE_BLOCKS_RESOLVE_H

#include "profile/blocks/frames.h"
#include "profile/blocks/image.h"
#include "trace/store.h"

enum { HWI_BATCH_EVENTS = 512 };

enum hwi_resolved_what {
  HWI_RESOLVED_ALLOC = 1,
  HWI_RESOLVED_FREE,
  HWI_RESOLVED_FREE_INHERITED, /* of a block that came with a fork */
  HWI_RESOLVED_FREE_UNKNOWN,   /* no live block has this address */
  HWI_RESOLVED_FAILED,
  /* entry: enum hw_scope_op; size: the resolver's number of the name, the count, or the task; usable: value, or the task
   * that begins */
  HWI_RESOLVED_SCOPE,
  /* of a heap of the program's own. entry: enum hw_heap_op; address: the resolver's number of its name; size: bytes that
   * begin; block, usable: blocks and their bytes that end */
  HWI_RESOLVED_HEAP,
};

struct hwi_resolved {
  uint64_t tick;
  uint64_t address;         /* FAILED: 0 */
  uint64_t size;            /* ALLOC, FAILED */
  uint64_t usable;          /* ALLOC; 0: not recorded */
  uint32_t block;           /* ALLOC, FREE: its number */
  uint32_t thread;          /* from 0 */
  uint32_t stack;           /* ALLOC, FAILED */
  uint32_t weight;          /* ALLOC, FREE: the block counts so often, see sample.h. 1: the events are all there */
  uint32_t replaced_weight; /* ALLOC that replaces: of the block before */
  uint8_t what;             /* enum hwi_resolved_what */
  uint8_t entry;            /* FREE*: enum hw_entry */
  bool moved : 1;           /* half of a realloc */
  bool temporary : 1;       /* of a sample, FREE: as in struct hwi_event */
  bool replaces; /* ALLOC: a block was live at the address; its free was missed. It had the same block number */
};
static_assert(sizeof(struct hwi_resolved) == 56, "a resolved event");

enum { HWI_TASK_IMAGE_SHIFT = 40 }; /* a task's number has that of its image above this bit */

struct hwi_new_stack {
  uint32_t number; /* of its innermost frame; 0: unknown */
  struct hwi_frame frame;
};

struct hwi_new_thread {
  uint32_t image, number;
};

/* Events of one image, and the stacks and threads that they are the first to name, in the order of their numbers. */
struct hwi_batch {
  struct hwi_replay_image *image;
  int count, stack_count, thread_count;
  int counted_stacks, counted_threads; /* how many of them have counters already */
  struct hwi_resolved events[HWI_BATCH_EVENTS];
  uint64_t took[HWI_BATCH_EVENTS]; /* as in struct hwi_event; of a run that is followed, whose image has durations */
  struct hwi_new_stack stacks[HWI_BATCH_EVENTS];
  struct hwi_new_thread threads[HWI_BATCH_EVENTS];
};

struct hwi_resolver {
  struct hwi_frames frames;
  struct hwi_store scope_names;
  uint32_t stack_count;  /* one more than the largest number */
  uint32_t thread_count; /* numbers are from 0 */
  uint32_t block_count;  /* numbers given out so far, from 1 */
  uint32_t *free_blocks; /* numbers of blocks that ended: a list of table.h */
  size_t free_count, free_capacity;
  bool complete; /* all stacks and threads are known: an unknown one means damage */
};

/* Returns false if there is no memory. */
bool hwi_resolver_init(struct hwi_resolver *resolver);
void hwi_resolver_release(struct hwi_resolver *resolver);

/* Releases what only the search for numbers needs: no event follows. The frames stay. */
void hwi_resolver_freeze(struct hwi_resolver *resolver);

/* Empties the batch, for events of the image. */
static inline void hwi_batch_begin(struct hwi_batch *batch, struct hwi_replay_image *image)
{
  batch->image = image;
  batch->count = batch->stack_count = batch->thread_count = 0;
  batch->counted_stacks = batch->counted_threads = 0;
}

/* Adds the next events of the batch's image to the batch, which must have room for them. Returns false if there is no
 * memory, if a complete resolver does not know an event's stack or thread, or for the reason in image->error. After
 * that, neither the resolver nor the batch can be used. */
bool hwi_resolve(struct hwi_resolver *resolver, struct hwi_batch *batch, const struct hwi_event *events, int count);

/* Returns a number for a new block, or 0 if there are too many blocks. */
static inline uint32_t hwi_resolver_new_block(struct hwi_resolver *resolver)
{
  if (resolver->free_count)
    return resolver->free_blocks[--resolver->free_count];
  return resolver->block_count < UINT32_MAX ? ++resolver->block_count : 0;
}

/* Makes the numbers of the image's live blocks available again, after the image has ended. Returns false if there is no
 * memory. */
bool hwi_resolver_end_image(struct hwi_resolver *resolver, struct hwi_replay_image *image);

/* For hwi_trace_set_liveness; the context is the struct hwi_replay_image. */
bool hwi_resolver_is_live(void *image, uint64_t address);

#endif
