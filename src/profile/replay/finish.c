/* finish.c - what comes before and after the replay of a run's events: its settings, and its result */
#include "profile/replay/run_replay.h"

/* --- before --- */

bool hwi_scopes_prepare(const struct hwi_profile_options *options, struct hwi_resolver *resolver,
                        struct hwi_scopes **scopes)
{
  if (!options->chains)
    return true;
  *scopes = hwi_scopes_create();
  if (*scopes && options->instance_details)
    hwi_scopes_want_details(*scopes);
  return *scopes && hwi_scopes_use_chains(*scopes, options->chains, &resolver->scope_names);
}

int hwi_run_replay_prepare(struct hwi_run_replay *r)
{
  int status = hwi_run_replay_choose(r);
  if (status < 0)
    return status;
  struct hwi_replay *replay = &r->result->replay;
  r->result->profile.chains = r->options->chains;
  if (!hwi_replay_init(replay, &r->options->span, hwi_run_replay_time_span(r)) ||
      !hwi_scopes_prepare(r->options, &replay->resolver, &replay->tally.scopes))
    return hwi_run_replay_no_memory(r);
  replay->tally.wants_instance_details = r->options->instance_details;
  return 0;
}

/* --- after --- */

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

/* All images of a run are recorded alike. If a forged run has others, its figures are estimates all the same. */
static void note_sample(struct hwi_run_replay *r, size_t number)
{
  struct hwi_profile *profile = &r->result->profile;
  const uint64_t sample_bytes = r->options->heap ? 0 : r->run.images[number].header.sample_bytes;
  if (sample_bytes > profile->sample_bytes)
    profile->sample_bytes = sample_bytes;
  profile->calls_are_exact &= !sample_bytes || r->images[number].calls_are_exact;
}

static void collect_infos(struct hwi_run_replay *r)
{
  for (size_t i = 0; i < r->run.count; i++)
    r->images[i].info = r->result->traces[i] ? hwi_trace_info(r->result->traces[i]) : NULL;
}

int hwi_run_replay_describe(struct hwi_run_replay *r)
{
  int status = hwi_run_replay_pass_phases(r, UINT64_MAX);
  if (status == 0 && !r->is_live)
    status = hwi_run_replay_describe_others(r);
  if (status < 0)
    return status;
  collect_infos(r);
  return hwi_result_describe_threads(r->result) ? 0 : hwi_run_replay_no_memory(r);
}

void hwi_run_replay_sum_up(struct hwi_run_replay *r)
{
  struct hwi_profile *profile = &r->result->profile;
  const struct hwi_level *level = &r->result->replay.level;
  profile->calls_are_exact = true;
  for (size_t i = 0; i < r->run.count; i++) {
    profile->unreadable_images += r->images[i].unreadable;
    if (!r->images[i].counted)
      continue;
    add_totals(&profile->totals, &r->images[i].totals);
    note_sample(r, i);
  }
  profile->unreadable_images += (uint32_t)r->run.unreadable;
  profile->heap = r->options->heap;
  profile->span = r->options->span;
  if (profile->span.to_ns > profile->duration_ns)
    profile->span.to_ns = profile->duration_ns;
  profile->totals.peak_bytes = level->peak_bytes;
  profile->totals.peak_blocks = level->peak_blocks;
  profile->totals.peak_usable_bytes = level->peak_usable;
  profile->totals.peak_time_ns = level->peak_ns;
}

int hwi_run_replay_fill_lists(struct hwi_run_replay *r)
{
  return hwi_result_fill(r->result) ? 0 : hwi_run_replay_no_memory(r);
}

int hwi_run_replay_complete(struct hwi_run_replay *r)
{
  if (!hwi_frames_name_programs(&r->result->replay.resolver.frames, r->images, r->run.count))
    return hwi_run_replay_no_memory(r);
  int status = r->options->instance_details ? hwi_run_replay_read_texts(r) : 0;
  if (status == 0)
    hwi_result_sum_up(r->result);
  return status;
}
