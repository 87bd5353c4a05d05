/* slices.h - the run in slices of time
 *
 * slice      [from_ns, the next one's from_ns); the last one goes on to the run's end. About SLICES of them are equally long;
 *            a slice ends right after the peak, and one begins at each of the first marks, so that these moments can be
 *            chosen exactly.
 */
#ifndef HWI_PAGE_SLICES_H
#define HWI_PAGE_SLICES_H

#include "page/packed.h"
#include "profile/profile.h"

enum {
  HWI_PAGE_SLICES = 128,
  HWI_PAGE_MARK_EDGES = 32,
  HWI_PAGE_SLICES_MAX = HWI_PAGE_SLICES + HWI_PAGE_MARK_EDGES + 1
};

/* uint64_t throughout, for they are columns of a table. */
struct hwi_page_slice {
  uint64_t from_ns;
  uint64_t allocation_calls, free_calls, failed_calls, temporary_calls, allocated_bytes; /* within */
  uint64_t live_bytes, live_blocks, usable_bytes;                                        /* at its end */
  uint64_t min_bytes, max_bytes;                                                         /* live within */
  uint64_t pinned; /* it begins right after the peak, or at a mark */
};

struct hwi_page_slices {
  struct hwi_page_slice items[HWI_PAGE_SLICES_MAX];
  uint32_t count;
  uint32_t peak; /* the slice at whose end the peak is */
};

/* Of a profile of a whole run: nothing has happened yet. */
void hwi_page_slices_init(struct hwi_page_slices *slices, const struct hwi_profile *profile);

/* Joins each two that follow each other, but for the second one's being pinned. to[i]: what slice i becomes part of. */
void hwi_page_slices_join(struct hwi_page_slices *slices, uint32_t to[HWI_PAGE_SLICES_MAX]);

/* Their columns, into the object begun last. */
void hwi_json_page_slices(struct hwi_json *json, const struct hwi_page_slices *slices);

#endif
