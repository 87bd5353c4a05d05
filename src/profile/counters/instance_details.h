/* instance_details.h - what instances of scopes did by block size
 *
 * A detail is shared by the thread in which its instance is open and by the lists of the worst instances that the
 * instance is in: the last one that drops it frees it. Memory is bounded: an instance counts HWI_INSTANCE_SIZES_MAX
 * sizes on their own, and all instances together take at most 64 MB for their sizes. Further sizes are added up.
 */
#ifndef HWI_PROFILE_COUNTERS_INSTANCE_DETAILS_H
#define HWI_PROFILE_COUNTERS_INSTANCE_DETAILS_H

#include <stddef.h>

#include "profile/profile.h"

/* All zero: no details. */
struct hwi_instance_details {
  size_t bytes;             /* of the sizes of all details */
  struct hwi_detail *spare; /* one that is not used; most instances are none of the worst */
};

void hwi_details_release(struct hwi_instance_details *details);

/* Returns a detail without sizes, which the caller drops, or NULL if there is no memory. */
const struct hwi_instance_detail *hwi_detail_take(struct hwi_instance_details *details);

/* Adds one more holder. NULL is fine for these two. */
void hwi_detail_share(const struct hwi_instance_detail *detail);
void hwi_detail_drop(const struct hwi_instance_detail *detail);

/* Counts `blocks` more blocks of this size (fewer, if negative). */
void hwi_detail_count(const struct hwi_instance_detail *detail, uint64_t size, int64_t blocks);

/* Forgets what was counted. */
void hwi_detail_clear(const struct hwi_instance_detail *detail);

/* Leaves out the sizes with as many frees as allocations. */
void hwi_detail_finish(const struct hwi_instance_detail *detail);

#endif
