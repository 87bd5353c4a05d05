/* summary.h - a replay's outcome, kept in a file beside the trace, so that the next report of the same trace need not replay it
 *
 * The file is a cache and nothing else: it is used where it was made from the very files that are there now, by a program of
 * the same version, and ignored in silence otherwise; where it cannot be written, there is none. Anybody may delete it.
 * docs/summary-format.md has its bytes.
 */
#ifndef HWI_PROFILE_SUMMARY_H
#define HWI_PROFILE_SUMMARY_H

#include "profile/result.h"
#include "profile/summary_images.h"
#include "trace/cache_file.h"
#include "trace/run.h"

struct hwi_summary {
  char *path; /* NAME.sum, or NAME.all.sum of all images together; NULL: such a profile has none */
  const struct hwi_run *run;
  uint64_t fingerprint; /* of the run's files when it was looked at */
  uint64_t began_ns;
  struct hwi_cache_file file; /* while it is written */
  uint64_t end_off;           /* behind the epochs in it */
};

/* `path` names the run, as hwi_profile_create has it. The run must outlive the summary. */
void hwi_summary_init(struct hwi_summary *summary, const char *path, const struct hwi_run *run,
                      const struct hwi_profile_options *options);
void hwi_summary_release(struct hwi_summary *summary);

/* Begins to write one, for the epochs of the replay. False: there will be none. */
bool hwi_summary_begin(struct hwi_summary *summary);

/* Takes an epoch. False: it could not be written, and there will be no summary. */
bool hwi_summary_add_epoch(struct hwi_summary *summary, struct hwi_epoch *epoch);

/* There will be none of those that were added. */
void hwi_summary_drop_epochs(struct hwi_summary *summary);

/* Restores what hwi_result_fill makes of the run, and its images. False: there is no use in the file, or none; then *result and
 * *images are what they were, which is all zero but for the images and their number in result->profile. */
bool hwi_summary_load(const struct hwi_summary *summary, struct hwi_result *result, struct hwi_image *images);

/* What hwi_summary_restore needs beside. */
struct hwi_part {
  const struct hwi_span *span;
  struct hwi_image *images;
  uint64_t (*expected_ns)(void *context); /* of the run, once the images are there */
  void *context;
};

/* Of a part of the run, from its epochs: restores what a replay of it would leave, for hwi_result_fill, and the images. False: as
 * above. */
bool hwi_summary_load_part(const struct hwi_summary *summary, struct hwi_result *result, const struct hwi_part *part);

/* Keeps the outcome of a replay of the whole run, after hwi_result_fill and before hwi_result_sum_up, where it took more than `least_ns` of the
 * processor since hwi_summary_init, with the epochs that were added. The file appears whole or not at all, for its owner alone; what
 * goes wrong leaves none. A file of that name that is no summary stays. */
void hwi_summary_keep(struct hwi_summary *summary, uint64_t least_ns, struct hwi_result *result,
                      struct hwi_image *images);

/* Removes the summaries of the trace at `path`, which goes, too. Files of these names that are no summaries stay. */
void hwi_summary_remove(const char *path);

#endif
