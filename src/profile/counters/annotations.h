/* annotations.h - what the program noted besides scopes: marks, and counters along time (heapwright/monitor.h) */
#ifndef HWI_PROFILE_COUNTERS_ANNOTATIONS_H
#define HWI_PROFILE_COUNTERS_ANNOTATIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/blocks/resolve.h"
#include "profile/profile.h"

struct hwi_annotations; /* of one replay */

/* Returns whether a resolved SCOPE event is a mark or a counter's value. */
static inline bool hwi_is_annotation(const struct hwi_resolved *event)
{
  return event->entry == HW_SCOPE_MARK || event->entry == HW_SCOPE_COUNTER;
}

/* Adds such an event at `ns` of the run; *annotations is made at the first one. Returns false if there is no memory. */
bool hwi_annotations_take(struct hwi_annotations **annotations, const struct hwi_resolved *event, uint64_t ns);

/* Drops all of them, at the start of a span. */
void hwi_annotations_restart(struct hwi_annotations *annotations);
void hwi_annotations_destroy(struct hwi_annotations *annotations); /* NULL is fine */

/* Sets the profile's marks and counters, with names from `names`, which must be kept as long as the profile. Returns
 * false if there is no memory. */
bool hwi_annotations_publish(struct hwi_annotations *annotations, const struct hwi_store *names,
                             struct hwi_profile *profile);

#endif
