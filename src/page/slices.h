/* slices.h - the run in slices of time
 *
 * slice      [from_ns, the next one's from_ns); the last slice ends with the run. About SLICES slices are equally long.
 *            A slice ends right after the peak, and a slice begins at each of the first marks, so that these moments
 *            can be chosen exactly.
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

struct hwi_page_slices {
  struct hwi_slice items[HWI_PAGE_SLICES_MAX];
  uint32_t count;
  uint32_t peak; /* the peak is at the end of this slice */
};

/* Makes empty slices for the profile of a whole run. Returns false if there is no memory. */
bool hwi_page_slices_init(struct hwi_page_slices *slices, const struct hwi_profile *profile);

/* Takes the slices that were counted while the run was followed. */
void hwi_page_slices_take(struct hwi_page_slices *slices, const struct hwi_profile *profile);

/* Of a run whose first events were dropped (record --keep): moves the dropped calls, which are in the first slice, to their
 * own slices as far as these are known. */
void hwi_page_slices_spread_dropped(struct hwi_page_slices *slices, const struct hwi_profile *profile);

/* Sets the levels before the cut to those of all blocks: the slices have those of blocks that live on. */
void hwi_page_slices_level_dropped(struct hwi_page_slices *slices, const struct hwi_profile *profile);

/* Joins adjacent slices in pairs, unless the second one is pinned. to[i] gets the new index of slice i. */
void hwi_page_slices_join(struct hwi_page_slices *slices, uint32_t to[HWI_PAGE_SLICES_MAX]);

/* Writes the columns of the slices into the current object. */
void hwi_json_page_slices(struct hwi_json *json, const struct hwi_page_slices *slices);

#endif
