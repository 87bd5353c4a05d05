/* profile.c - makes a profile of a run: from a summary that an earlier reading left, or by replaying it */
#include <stdlib.h>

#include "profile/run_replay.h"

static void add_totals(struct hwi_totals *sum, const struct hwi_totals *part)
{
  sum->allocation_calls += part->allocation_calls;
  sum->free_calls += part->free_calls;
  sum->failed_calls += part->failed_calls;
  sum->temporary_calls += part->temporary_calls;
  sum->allocated_bytes += part->allocated_bytes;
  sum->usable_bytes += part->usable_bytes;
  sum->live_blocks_at_start += part->live_blocks_at_start;
  sum->live_bytes_at_start += part->live_bytes_at_start;
  sum->live_blocks_at_end += part->live_blocks_at_end;
  sum->live_bytes_at_end += part->live_bytes_at_end;
  sum->unmatched_frees += part->unmatched_frees;
  sum->frees_of_silent_blocks += part->frees_of_silent_blocks;
  sum->missed_frees += part->missed_frees;
  sum->inherited_frees += part->inherited_frees;
}

static void collect_infos(struct hwi_run_replay *r)
{
  for (size_t i = 0; i < r->run.count; i++)
    r->images[i].info = r->result->traces[i] ? hwi_trace_info(r->result->traces[i]) : NULL;
}

/* Images have their infos. */
static int fill_profile(struct hwi_run_replay *r)
{
  struct hwi_profile *profile = &r->result->profile;
  const struct hwi_level *level = &r->result->replay.level;
  for (size_t i = 0; i < r->run.count; i++) {
    profile->unreadable_images += r->images[i].unreadable;
    if (r->images[i].counted)
      add_totals(&profile->totals, &r->images[i].totals);
  }
  profile->unreadable_images += (uint32_t)r->run.unreadable;
  profile->span = r->options->span;
  if (profile->span.to_ns > profile->duration_ns)
    profile->span.to_ns = profile->duration_ns;
  profile->totals.peak_bytes = level->peak_bytes;
  profile->totals.peak_blocks = level->peak_blocks;
  profile->totals.peak_usable_bytes = level->peak_usable;
  profile->totals.peak_time_ns = level->peak_ns;
  return hwi_result_fill(r->result) ? 0 : hwi_run_replay_no_memory(r);
}

static int replay_run(struct hwi_run_replay *r)
{
  int status = hwi_run_replay_choose(r);
  if (status < 0)
    return status;
  if (!hwi_replay_init(&r->result->replay, &r->options->span, hwi_run_replay_time_span(r)))
    return hwi_run_replay_no_memory(r);
  status = hwi_run_replay_all(r);
  if (status == 0)
    status = hwi_run_replay_pass_phases(r, UINT64_MAX);
  if (status == 0)
    status = hwi_run_replay_describe_others(r);
  if (status < 0)
    return status;
  collect_infos(r);
  return hwi_result_describe_threads(r->result) ? 0 : hwi_run_replay_no_memory(r);
}

static uint64_t expected_ns(void *context)
{
  return hwi_run_replay_time_span(context);
}

static int make_profile(struct hwi_run_replay *r)
{
  bool whole = r->options->span.kind == HWI_SPAN_RUN;
  struct hwi_summary *summary = r->summary;
  const struct hwi_part part = {&r->options->span, r->images, expected_ns, r};
  if (whole ? hwi_summary_load(summary, r->result, r->images) : hwi_summary_load_part(summary, r->result, &part))
    return fill_profile(r);
  int status = replay_run(r);
  if (status < 0)
    return status;
  if (whole)
    hwi_summary_keep(summary, r->options->summary_least_ns, r->result, r->images);
  return fill_profile(r);
}

int hwi_profile_create(struct hwi_profile **profile, const char *path, const struct hwi_profile_options *options,
                       struct hwi_error *error)
{
  *profile = NULL;
  struct hwi_summary summary;
  struct hwi_run_replay r = {.options = options, .summary = &summary, .error = error};
  int status = hwi_run_replay_begin(&r, path);
  if (status == 0) {
    hwi_summary_init(&summary, path, &r.run, options);
    status = make_profile(&r);
    hwi_run_replay_end(&r);
    hwi_summary_release(&summary);
  }
  hwi_run_release(&r.run);
  if (status == 0)
    *profile = &r.result->profile;
  else if (r.result)
    hwi_profile_destroy(&r.result->profile);
  return status;
}

int hwi_profile_events(const char *path, const struct hwi_profile_options *options, const struct hwi_block_sink *sink,
                       struct hwi_error *error)
{
  struct hwi_profile_options wanted = *options;
  wanted.span = (struct hwi_span){.kind = HWI_SPAN_RUN};
  struct hwi_block_events events = {0};
  struct hwi_run_replay r = {.options = &wanted, .events = &events, .error = error};
  int status = hwi_run_replay_begin(&r, path);
  if (status == 0)
    status = hwi_run_replay_choose(&r);
  if (status == 0 && (!hwi_replay_init(&r.result->replay, &wanted.span, hwi_run_replay_time_span(&r)) ||
                      !hwi_block_events_init(&events, &r.result->replay, sink)))
    status = hwi_run_replay_no_memory(&r);
  if (status == 0)
    status = hwi_run_replay_all(&r);
  hwi_run_replay_end(&r);
  hwi_block_events_release(&events);
  hwi_run_release(&r.run);
  if (r.result)
    hwi_profile_destroy(&r.result->profile);
  return status;
}

void hwi_profile_destroy(struct hwi_profile *profile)
{
  if (!profile)
    return;
  struct hwi_result *result = (struct hwi_result *)profile; /* its first member */
  hwi_result_release(result);
  free(result);
}
