/* block_events.h - the events of a run, each told with the block that it is about
 *
 * kind   what blocks have in common: their sizes, the stack and the thread that allocated them. The table of live blocks names it
 *        where a replay that counts names a cell. Nothing is counted here, which takes a fraction of the memory and of the time.
 */
#ifndef HWI_PROFILE_BLOCK_EVENTS_H
#define HWI_PROFILE_BLOCK_EVENTS_H

#include "profile/replay.h"

struct hwi_block_kind {
  uint64_t size, usable;
  uint32_t stack, owner;
};

struct hwi_block_events {
  const struct hwi_block_sink *sink;
  struct hwi_replay *replay;    /* its tally only numbers, and of the rest frames and now_ns are used */
  struct hwi_block_kind *kinds; /* [1, kind_count) */
  size_t kind_count, kind_capacity;
  struct hwi_tagged kind_numbers;
  uint8_t *entries; /* by stack: enum hw_entry plus 1; 0: not asked for yet */
  size_t entries_capacity;
};

enum hwi_told {
  HWI_TOLD = 1,
  HWI_TOLD_STOP = 0,       /* the sink wants no more */
  HWI_TOLD_NO_MEMORY = -1, /* or what image->error says */
};

/* `replay` has seen no event yet. False: no memory. To be released, even then. */
bool hwi_block_events_init(struct hwi_block_events *events, struct hwi_replay *replay,
                           const struct hwi_block_sink *sink);
void hwi_block_events_release(struct hwi_block_events *events);

/* Tells of events of one image, in order; `image_number` is what its threads are listed under. */
enum hwi_told hwi_block_events_apply(struct hwi_block_events *events, struct hwi_replay_image *image,
                                     uint32_t image_number, const struct hwi_event *batch, int count);

/* The image ends at `ns` of the run, while others go on: tells of each of its blocks. False: the sink wants no more. */
bool hwi_block_events_leave(const struct hwi_block_events *events, const struct hwi_replay_image *image,
                            uint32_t image_number, uint64_t ns);

#endif
