/* tune.h - computes how large a pool a program needs, by replaying its recording on the pool
 *
 * First each process is replayed on a pool that is practically unlimited, which shows its extent (pool_replay.h). The
 * margin is added, and the resulting size is tested: the process is replayed again on a pool of exactly that size. A
 * smaller pool may place blocks so differently that it is not large enough; then it is enlarged and tested again.
 */
#ifndef HWI_TUNE_TUNE_H
#define HWI_TUNE_TUNE_H

#include <stdio.h>

#include "report/replayer.h"
#include "report/words/style.h"
#include "tune/pool_replay.h"

enum { HWI_TUNE_MARGIN_DEFAULT = 10, HWI_TUNE_MARGIN_MAX = 1000 };

/* A process image of the run. The pool's size is the sum of tables, requested bytes, rounding, fragmentation and
 * margin. */
struct hwi_tuned {
  const struct hwi_image *image;
  struct hwi_pool_figures figures; /* of the replay without a limit; extent_bytes were sufficient */
  uint64_t pool_bytes;             /* recommended: whole pages */
  bool inherits_unknown;           /* it was forked from a process that is not in the list */
};

static inline uint64_t hwi_tuned_rounding(const struct hwi_tuned *tuned)
{
  return tuned->figures.used_bytes - tuned->figures.asked_bytes;
}

static inline uint64_t hwi_tuned_fragmentation(const struct hwi_tuned *tuned)
{
  return tuned->figures.extent_bytes - tuned->figures.tables_bytes - tuned->figures.used_bytes;
}

static inline uint64_t hwi_tuned_margin(const struct hwi_tuned *tuned)
{
  return tuned->pool_bytes - tuned->figures.extent_bytes;
}

struct hwi_tune {
  const struct hwi_profile *profile;
  uint64_t margin_percent;
  struct hwi_tuned *processes; /* those that the profile counts, the largest pool first */
  size_t count;                /* at least 1 */
  unsigned passes;             /* number of replays of the recording */
};

struct hwi_tune_question {
  const struct hwi_profile *profile; /* of the whole run; must outlive the tune */
  uint64_t margin_percent;
  struct hwi_replayer replayer; /* of the same run; it is run several times */
};

/* Returns 0, or a negative status that is described in `error`; then there is nothing to release. */
int hwi_tune_init(struct hwi_tune *tune, const struct hwi_tune_question *question, struct hwi_error *error);
void hwi_tune_release(struct hwi_tune *tune);

/* Print the result. Return 0, or a negative status if there is no memory; a failed write must be checked on the
 * stream. */
int hwi_tune_text(const struct hwi_tune *tune, const struct hwi_style *style, struct hwi_error *error);
int hwi_tune_json(const struct hwi_tune *tune, FILE *out, struct hwi_error *error);

#endif
