/* recorded.h - the blocks that a recording of the same process has as live at a moment */
#ifndef HWI_MEMORY_HEAPS_RECORDED_H
#define HWI_MEMORY_HEAPS_RECORDED_H

#include "profile/profile.h"

struct hwi_recorded_block {
  uint64_t address, size; /* that was asked for */
  uint32_t stack;         /* of the recording's profile */
};

/* In the order of addresses. All zero: none. */
struct hwi_recorded_blocks {
  struct hwi_recorded_block *blocks;
  size_t count, capacity; /* a list of table.h */
};

/* Replays the recording at `path`, with the options by which its profile was made, up to `until_ns` since the run's start
 * (UINT64_MAX: to its end). Returns 0 or a negative status, which is described in `error`. */
int hwi_recorded_blocks_read(struct hwi_recorded_blocks *blocks, const char *path,
                             const struct hwi_profile_options *options, uint64_t until_ns, struct hwi_error *error);

/* Returns the block that begins at the address, or NULL. */
const struct hwi_recorded_block *hwi_recorded_blocks_find(const struct hwi_recorded_blocks *blocks, uint64_t address);
void hwi_recorded_blocks_release(struct hwi_recorded_blocks *blocks);

#endif
