/* epoch_changes.h - finds what an epoch changed in a replay's counters
 *
 * While epochs are written, the maxima, first times and `called` marks in the tally are those of the current epoch
 * only; the copies here have their values for the run so far.
 */
#ifndef HWI_PROFILE_EPOCHS_EPOCH_CHANGES_H
#define HWI_PROFILE_EPOCHS_EPOCH_CHANGES_H

#include "profile/counters/tally.h"
#include "profile/epochs/epoch.h"

/* The tally's lists, and its image's totals, as they were when the epoch began. All zero before the first. */
struct hwi_changes {
  struct hwi_list cells, stacks, sizes, threads;
  struct hwi_list steps, handovers;
  struct hwi_totals totals;
};

/* Ends an epoch: adds its changes to the lists and totals of `epoch`, and prepares the tally for the next one. Returns
 * false if there is no memory. */
bool hwi_changes_take(struct hwi_changes *changes, struct hwi_tally *tally, const struct hwi_totals *totals,
                      struct hwi_epoch *epoch);

/* To be called after the last epoch: the tally gets the run's maxima and first times back. */
void hwi_changes_restore(const struct hwi_changes *changes, struct hwi_tally *tally);
void hwi_changes_release(struct hwi_changes *changes);

#endif
