/* heaps.h - the sums of the heaps that the program gives out itself (heapwright/monitor.h), by name */
#ifndef HWI_PROFILE_COUNTERS_HEAPS_H
#define HWI_PROFILE_COUNTERS_HEAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/blocks/resolve.h"
#include "profile/profile.h"

struct hwi_heap_tally; /* of one replay */

/* Counts a resolved HEAP event of the image at `ns` of the run; *heaps is made at the first one. Returns false if there is
 * no memory. */
bool hwi_heap_tally_take(struct hwi_heap_tally **heaps, const struct hwi_replay_image *image,
                         const struct hwi_resolved *event, uint64_t ns);

/* The blocks of the image count as live at the end, but no longer in the sum of the run. */
void hwi_heap_tally_end_image(struct hwi_heap_tally *heaps, const struct hwi_replay_image *image);

/* Restarts counting at `ns`, the start of a span: the live blocks stay, and are the first peak. */
void hwi_heap_tally_restart(struct hwi_heap_tally *heaps, uint64_t ns);
void hwi_heap_tally_destroy(struct hwi_heap_tally *heaps); /* NULL is fine */

/* Sets the profile's heaps, with names from `names`, which must be kept as long as the profile. Returns
 * false if there is no memory. */
bool hwi_heap_tally_publish(struct hwi_heap_tally *heaps, const struct hwi_store *names, struct hwi_profile *profile);

#endif
