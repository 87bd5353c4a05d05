/* tune.h - how large a pool this program needs: its recording, made again on the pool itself
 *
 * First each process is replayed on a pool without a limit worth the name, which shows its extent (pool_replay.h); the margin
 * is added, and what comes out is tried: the process is replayed again on a pool of just that size. Where a smaller pool puts
 * blocks so differently that it does not suffice, it is made larger and tried again.
 */
#ifndef HWI_TUNE_TUNE_H
#define HWI_TUNE_TUNE_H

#include <stdio.h>

#include "report/replayer.h"
#include "report/text/style.h"
#include "tune/pool_replay.h"

enum { HWI_TUNE_MARGIN_DEFAULT = 10, HWI_TUNE_MARGIN_MAX = 1000 };

/* A process image of the run. The pool's size is the sum of tables, asked for, rounding, fragmentation and margin. */
struct hwi_tuned {
  const struct hwi_image *image;
  struct hwi_pool_figures figures; /* without a limit; extent_bytes is what sufficed */
  uint64_t pool_bytes;             /* recommended: whole pages */
  bool inherits_unknown;           /* it began with a fork from a process that is not among these */
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
  struct hwi_tuned *processes; /* those that the profile counts; the largest pool first */
  size_t count;                /* at least 1 */
  unsigned passes;             /* how often the recording was replayed */
};

struct hwi_tune_question {
  const struct hwi_profile *profile; /* of the whole run; it must outlive the tune */
  uint64_t margin_percent;
  struct hwi_replayer replayer; /* of the same run; it is run several times */
};

/* On failure there is nothing to release. */
int hwi_tune_init(struct hwi_tune *tune, const struct hwi_tune_question *question, struct hwi_error *error);
void hwi_tune_release(struct hwi_tune *tune);

/* The answer. Errors are memory's; what could not be written is the stream's matter. */
int hwi_tune_text(const struct hwi_tune *tune, const struct hwi_style *style, struct hwi_error *error);
int hwi_tune_json(const struct hwi_tune *tune, FILE *out, struct hwi_error *error);

/* The same as lines for whatever starts the program: the largest pool of all. */
enum hwi_launch_form {
  HWI_LAUNCH_ENV,   /* NAME=VALUE: systemd, docker */
  HWI_LAUNCH_SHELL, /* export NAME=VALUE */
  HWI_LAUNCH_XML,   /* <env .../>, for a ROS 2 launch file in XML */
  HWI_LAUNCH_PYTHON /* additional_env={...}, for one in Python */
};
void hwi_tune_launch(const struct hwi_tune *tune, enum hwi_launch_form form, FILE *out);

#endif
