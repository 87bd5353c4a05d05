/* summary_epochs.h - what a summary keeps of a run's epochs, beside these */
#ifndef HWI_PROFILE_SUMMARY_EPOCHS_H
#define HWI_PROFILE_SUMMARY_EPOCHS_H

#include "profile/diary.h"
#include "profile/summary.h"

/* Where it is worth it, begins a diary of the replay whose epochs go to the summary; else *diary stays NULL. The summary must
 * outlive it. False: no memory, here and below. */
bool hwi_summary_begin_epochs(struct hwi_summary *summary, struct hwi_diary **diary, struct hwi_replay *replay,
                              const struct hwi_replay_image *image, const struct hwi_profile_options *options);

/* Ends the diary, which goes, and leaves with the result what else its epochs need to be replayed. */
bool hwi_summary_end_epochs(struct hwi_diary **diary, struct hwi_result *result, const struct hwi_replay_image *image);

/* Writes or reads what is with the result; and whether what was read goes together, and with the replay's lists. */
void hwi_summary_pass_epochs(struct hwi_pass *pass, struct hwi_result *result);
bool hwi_summary_epochs_are_sound(const struct hwi_result *result);

#endif
