/* summary_epochs.h - a summary's data from which a part of the run can be computed, with its epochs */
#ifndef HWI_PROFILE_SUMMARY_SUMMARY_EPOCHS_H
#define HWI_PROFILE_SUMMARY_SUMMARY_EPOCHS_H

#include "profile/epochs/epoch_writer.h"
#include "profile/summary/summary.h"

/* Begins an epoch writer of the replay, whose epochs are written to the summary, if that is worthwhile; else *writer
 * stays NULL. The summary must outlive the writer. Returns false if there is no memory; so does the next function. */
bool hwi_summary_begin_epochs(struct hwi_summary *summary, struct hwi_epoch_writer **writer, struct hwi_replay *replay,
                              const struct hwi_replay_image *image, const struct hwi_profile_options *options);

/* Ends and destroys the writer, and stores in the result the other data that are needed to replay its epochs. */
bool hwi_summary_end_epochs(struct hwi_epoch_writer **writer, struct hwi_result *result,
                            const struct hwi_replay_image *image);

/* Writes these data, or reads them after the result. Reading releases the result's lists and makes its replay know all
 * cells, stacks, sizes and threads of the run by the numbers that the epochs use, with nothing counted. */
void hwi_summary_pass_epochs(struct hwi_pass *pass, struct hwi_result *result);

#endif
