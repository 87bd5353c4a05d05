/* run_replay.h - replays the images of a run, merged along time
 *
 * counted    an image whose events are replayed. Of the others only what they are is told.
 * Of a replay that failed, or that somebody wanted no more of, what it had begun goes with hwi_run_replay_end. All functions that
 * return an int return 0 or a negative status, worded in `error`.
 */
#ifndef HWI_PROFILE_RUN_REPLAY_H
#define HWI_PROFILE_RUN_REPLAY_H

#include "profile/block_events.h"
#include "profile/diary.h"
#include "profile/pipe.h"
#include "profile/result.h"
#include "profile/summary.h"
#include "trace/run.h"

struct hwi_active;

/* Its options, error, and summary or events are set by whoever begins it. */
struct hwi_run_replay {
  struct hwi_result *result;
  struct hwi_run run;
  struct hwi_image *images;
  uint64_t base_ns; /* monotonic time of the run's start */
  struct hwi_active **active;
  size_t active_count, active_capacity;
  const struct hwi_profile_options *options;
  struct hwi_summary *summary;
  struct hwi_diary *diary;         /* NULL: no epochs are kept */
  struct hwi_pipe *pipe;           /* to where events are counted */
  struct hwi_block_events *events; /* NULL: a profile is made; else the events alone are told */
  uint64_t batches;                /* so far, for the progress that is told */
  struct hwi_error *error;
};

/* HW_ERR_MEMORY, worded. */
int hwi_run_replay_no_memory(struct hwi_run_replay *replay);

/* Finds the run at `path`, and makes an empty result. The run and the result are the caller's to release, even after a failure. */
int hwi_run_replay_begin(struct hwi_run_replay *replay, const char *path);

/* Tells how far the reading of `trace` is, now and then, where somebody wants to know. */
void hwi_run_replay_show_progress(struct hwi_run_replay *replay, const struct hwi_trace *trace);

/* Decides which images are counted, as the options say: run_choice.c, as hwi_run_replay_describe_others. */
int hwi_run_replay_choose(struct hwi_run_replay *replay);

/* When the counted images began becomes `base_ns`; returns how long they went on as far as their headers say. */
uint64_t hwi_run_replay_time_span(struct hwi_run_replay *replay);

/* Replays all counted images into the result's replay, which has begun. */
int hwi_run_replay_all(struct hwi_run_replay *replay);

/* Goes through the span's phases that are over at `ns`. */
int hwi_run_replay_pass_phases(struct hwi_run_replay *replay, uint64_t ns);

/* Opens the traces of the other images for what they tell of themselves. */
int hwi_run_replay_describe_others(struct hwi_run_replay *replay);

/* Gives back what is still under way. The run and the result stay. */
void hwi_run_replay_end(struct hwi_run_replay *replay);

#endif
