/* summary.h - a replay's result in a file next to the trace, so that the next report of the trace needs no replay
 *
 * The file is only a cache. It is used if it was made from exactly the files that exist now, by a program of the same
 * version; otherwise it is silently ignored. If it cannot be written, there is none. The user may delete it at any
 * time. docs/summary-format.md describes its bytes.
 */
#ifndef HWI_PROFILE_SUMMARY_SUMMARY_H
#define HWI_PROFILE_SUMMARY_SUMMARY_H

#include "profile/columns/image_columns.h"
#include "profile/result/result.h"
#include "trace/cache_file.h"
#include "trace/read/run.h"

struct hwi_summary {
  char *path; /* NAME.sum, or NAME.all.sum for all images together; NULL: a profile with these options has no summary */
  const struct hwi_run *run;
  uint64_t fingerprint; /* of the run's files, taken by hwi_summary_init */
  uint64_t began_ns;
  struct hwi_cache_file file; /* while it is written */
  uint64_t end_off;           /* end of the epochs in the file */
};

/* `path` names the run, as for hwi_profile_create. The run must outlive the summary. */
void hwi_summary_init(struct hwi_summary *summary, const char *path, const struct hwi_run *run,
                      const struct hwi_profile_options *options);
void hwi_summary_release(struct hwi_summary *summary);

/* Begins to write a summary, with the epochs of the replay. Returns false if there will be none. */
bool hwi_summary_begin(struct hwi_summary *summary);

/* Writes an epoch. Returns false if it could not be written; then there will be no summary. */
bool hwi_summary_add_epoch(struct hwi_summary *summary, struct hwi_epoch *epoch);

/* Drops the epochs that were added: the summary will have none. */
void hwi_summary_drop_epochs(struct hwi_summary *summary);

/* Restores the run's result, as hwi_result_fill makes it, and its images. Returns false if there is no file or it
 * cannot be used; then *result and *images are unchanged: all zero, except for the images and their number in
 * result->profile. */
bool hwi_summary_load(const struct hwi_summary *summary, struct hwi_result *result, struct hwi_image *images);

/* For a part of the run: restores the images, and a result without lists, whose replay knows all cells, stacks, sizes
 * and threads of the run by the numbers that the epochs use, with nothing counted; and opens the epochs. Returns false
 * as hwi_summary_load does. */
bool hwi_summary_load_epochs(const struct hwi_summary *summary, struct hwi_result *result, struct hwi_image *images,
                             struct hwi_epoch_file *epochs);

/* Empties what was restored, if it cannot be used after all. */
void hwi_summary_forget(struct hwi_result *result, struct hwi_image *images);

/* Stores the result of a replay of the whole run, with the epochs that were added, if more than `least_ns` of CPU time
 * passed since hwi_summary_init. To be called after hwi_result_fill and before hwi_result_sum_up. The file appears
 * complete or not at all, and only its owner can access it; after an error there is none. A file of that name that is
 * not a summary stays. */
void hwi_summary_keep(struct hwi_summary *summary, uint64_t least_ns, struct hwi_result *result,
                      struct hwi_image *images);

/* Removes the summaries of the trace at `path`, which is being removed, too. Files of these names that are not
 * summaries stay. */
void hwi_summary_remove(const char *path);

#endif
