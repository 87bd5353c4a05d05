/* changes.h - what an epoch changed in a replay's counters
 *
 * While epochs are kept, the maxima, first times and marks of calls in the tally are those of the epoch alone; the copies here
 * have what they were for the run until then.
 */
#ifndef HWI_PROFILE_CHANGES_H
#define HWI_PROFILE_CHANGES_H

#include "profile/epoch.h"
#include "profile/tally.h"

/* The tally's lists, and its image's totals, as they were when the epoch began. All zero before the first. */
struct hwi_changes {
  struct hwi_rows cells, stacks, sizes, threads;
  struct hwi_rows steps, handovers;
  struct hwi_totals totals;
};

/* An epoch ended: adds what it changed to the lists and totals of `epoch`, and makes the tally ready for the next one. False: no
 * memory. */
bool hwi_changes_take(struct hwi_changes *changes, struct hwi_tally *tally, const struct hwi_totals *totals,
                      struct hwi_epoch *epoch);

/* The last epoch was taken: the tally gets the run's maxima and first times back. */
void hwi_changes_restore(const struct hwi_changes *changes, struct hwi_tally *tally);
void hwi_changes_release(struct hwi_changes *changes);

#endif
