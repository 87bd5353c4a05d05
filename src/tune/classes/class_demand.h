/* class_demand.h - what the blocks of a recording need of the size classes of a heap
 *
 * The peak of a process is when the requested bytes of its blocks of at most 32 KiB were most: larger blocks have no
 * class. A block belongs to the owner of the thread that allocated it. As in the heap, a thread gets the owner of one that
 * has ended, if there is one; a thread is taken to run from its first call to its last. A block that realloc makes
 * smaller, but not by half, stays what it is.
 */
#ifndef HWI_TUNE_CLASS_DEMAND_H
#define HWI_TUNE_CLASS_DEMAND_H

#include "report/replayer.h"
#include "tune/classes/class_table.h"

struct hwi_recorded_demand {
  struct hwi_class_demand demand;
  uint64_t request_count; /* of blocks that have a class; a realloc counts as one */
  uint64_t seen_count;    /* of these, how many are in the recording: fewer if it is a sample */
  uint64_t asked_bytes;   /* requested, of the blocks at the peak; with several processes, at the peak of each */
  uint64_t large_bytes;   /* at the same time in blocks that have no class */
  double mean_asked_bytes;
};

/* Replays the recording of the profile. Returns 0, or a negative status that is described in `error`; then there is nothing to
 * release. */
int hwi_recorded_demand_init(struct hwi_recorded_demand *recorded, const struct hwi_profile *profile,
                             const struct hwi_replayer *replayer, struct hwi_error *error);
void hwi_recorded_demand_release(struct hwi_recorded_demand *recorded);

#endif
