/* follow.c - the profile of a run that is still being recorded */
#include "profile/follow.h"

#include <stdlib.h>
#include <sys/resource.h>

#include "platform/os.h"
#include "profile/replay/run_replay.h"

struct hwi_follow {
  struct hwi_profile_options options;
  struct hwi_run_replay replay;
  bool is_over;
};

/* Returns how many images can be open at once, after raising the limit on descriptors. Two follows may be at work in a
 * process. */
static size_t most_images(void)
{
  enum { OTHER_FILES = 24, UNKNOWN = 256 };
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
    return UNKNOWN;
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) < 0 && getrlimit(RLIMIT_NOFILE, &limit) < 0)
    return UNKNOWN;
  return limit.rlim_cur > 2 * OTHER_FILES ? (limit.rlim_cur - OTHER_FILES) / 2 : OTHER_FILES / 2;
}

int hwi_follow_create(struct hwi_follow **made, const char *path, const struct hwi_profile_options *options,
                      struct hwi_error *error)
{
  struct hwi_follow *follow = *made = calloc(1, sizeof *follow);
  if (!follow)
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory to follow %s", path);
  follow->options = *options;
  follow->options.span = (struct hwi_span){.kind = HWI_SPAN_RUN};
  follow->options.progress = NULL;
  follow->replay = (struct hwi_run_replay){.options = &follow->options, .is_live = true, .error = error};
  follow->replay.live.active_max = most_images();
  int status = hwi_run_replay_begin(&follow->replay, path);
  if (status == 0)
    status = hwi_run_replay_prepare(&follow->replay);
  if (status < 0) {
    hwi_follow_destroy(follow);
    *made = NULL;
    return status;
  }
  struct hwi_replay *replay = &follow->replay.result->replay;
  if (options->history)
    hwi_history_begin(&replay->history, replay->expected_ns);
  return 0;
}

bool hwi_follow_run_goes_on(const char *path)
{
  struct hwi_run run;
  uint64_t fingerprint;
  if (hwi_run_find(&run, path, false, NULL) < 0)
    return false;
  const bool has_ended = hwi_run_fingerprint(&run, &fingerprint);
  hwi_run_release(&run);
  return !has_ended;
}

int hwi_follow_look(struct hwi_follow *follow, uint64_t most_events, struct hwi_error *error)
{
  struct hwi_run_replay *replay = &follow->replay;
  const bool lags = replay->reads == 0;
  replay->error = error;
  replay->reads = most_events;
  const size_t begun = replay->next;
  int status = hwi_run_replay_look(replay, &follow->is_over);
  if (lags)
    hwi_run_replay_begin_to_catch_up(replay);
  if (status == 0)
    status = hwi_run_replay_all(replay);
  if (lags && hwi_run_replay_end_to_catch_up(replay) < 0)
    status = HW_ERR_MEMORY;
  if (status < 0)
    return status;
  if (replay->reads == 0 || replay->next > begun) /* whether an image that has just begun goes on is not known yet */
    return HWI_FOLLOW_MORE;
  if (follow->is_over) /* before, that would be done for each document */
    status = hwi_run_replay_describe_others(replay);
  return status < 0 ? status : follow->is_over ? HWI_FOLLOW_OVER : HWI_FOLLOW_WAITS;
}

uint64_t hwi_follow_behind_ns(const struct hwi_follow *follow)
{
  const struct hwi_run_replay *replay = &follow->replay;
  const uint64_t now_ns = hwi_os_monotonic_ns();
  uint64_t second_ns = UINT64_MAX;
  const struct hwi_active *first = hwi_run_replay_earliest(replay, &second_ns);
  const uint64_t counted_ns = first ? replay->base_ns + first->head_ns : now_ns;
  return now_ns > counted_ns ? now_ns - counted_ns : 0;
}

void hwi_follow_delay(struct hwi_follow *follow, uint64_t ns)
{
  follow->replay.live.delay_ns = ns;
}

void hwi_follow_forked(struct hwi_follow *follow)
{
  for (size_t i = 0; i < follow->replay.active_count; i++)
    hwi_trace_forked(follow->replay.active[i]->image.trace);
}

int hwi_follow_rename(struct hwi_follow *follow, const char *name)
{
  struct hwi_run_replay *replay = &follow->replay;
  const int status = hwi_run_rename(&replay->run, name);
  for (size_t i = 0; i < replay->run.count && status == 0; i++)
    if (replay->result->traces[i])
      hwi_trace_show_as(replay->result->traces[i], replay->run.images[i].path);
  return status;
}

bool hwi_follow_had_late_events(const struct hwi_follow *follow)
{
  return follow->replay.live.had_late_events;
}

bool hwi_follow_had_new_rates(const struct hwi_follow *follow)
{
  return follow->replay.live.had_new_rates;
}

uint64_t hwi_follow_now_ns(const struct hwi_follow *follow)
{
  const uint64_t now_ns = hwi_os_monotonic_ns();
  return now_ns > follow->replay.base_ns ? now_ns - follow->replay.base_ns : 0;
}

void hwi_follow_plan_reset(struct hwi_follow *follow, uint64_t ns)
{
  hwi_history_plan_reset(&follow->replay.result->replay.history, ns);
}

void hwi_follow_plan_resets(struct hwi_follow *follow, const struct hwi_follow *other)
{
  hwi_history_plan_resets(&follow->replay.result->replay.history, &other->replay.result->replay.history);
}

const struct hwi_profile *hwi_follow_frames(struct hwi_follow *follow)
{
  hwi_result_publish_frames(follow->replay.result);
  return &follow->replay.result->profile;
}

int hwi_follow_profile(struct hwi_follow *follow, const struct hwi_profile **profile, struct hwi_error *error)
{
  struct hwi_run_replay *replay = &follow->replay;
  replay->error = error;
  int status = hwi_run_replay_stop(replay);
  if (status == 0)
    status = hwi_run_replay_check_heap(replay, follow->is_over);
  if (status == 0)
    status = hwi_run_replay_describe(replay);
  if (status == 0) {
    hwi_run_replay_sum_up(replay);
    status = hwi_run_replay_fill_lists(replay);
  }
  if (status == 0)
    status = hwi_run_replay_complete(replay);
  *profile = status == 0 ? &replay->result->profile : NULL;
  return status;
}

void hwi_follow_destroy(struct hwi_follow *follow)
{
  if (!follow)
    return;
  struct hwi_run_replay *replay = &follow->replay;
  hwi_run_replay_end(replay);
  hwi_run_release(&replay->run);
  if (replay->result)
    hwi_profile_destroy(&replay->result->profile);
  free(follow);
}
