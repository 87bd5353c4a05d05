/* profile.c - makes a profile of a run: from a summary that an earlier reading left, or by replaying it */
#include <stdlib.h>

#include "profile/replay/span_replay.h"

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

/* The figures that are in no list. The images have their infos. */
static void fill_totals(struct hwi_run_replay *r)
{
  struct hwi_profile *profile = &r->result->profile;
  const struct hwi_level *level = &r->result->replay.level;
  for (size_t i = 0; i < r->run.count; i++) {
    profile->unreadable_images += r->images[i].unreadable;
    if (r->images[i].counted)
      add_totals(&profile->totals, &r->images[i].totals);
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

static int fill_lists(struct hwi_run_replay *r)
{
  return hwi_result_fill(r->result) ? 0 : hwi_run_replay_no_memory(r);
}

/* Prepares the scopes of rules; those that the program marked are made when the first one begins. */
static bool prepare_scopes(const struct hwi_profile_options *options, struct hwi_resolver *resolver,
                           struct hwi_scopes **scopes)
{
  if (!options->chains)
    return true;
  *scopes = hwi_scopes_create();
  if (*scopes && options->instance_details)
    hwi_scopes_want_details(*scopes);
  return *scopes && (!options->chains || hwi_scopes_use_chains(*scopes, options->chains, &resolver->scope_names));
}

static int replay_run(struct hwi_run_replay *r)
{
  int status = hwi_run_replay_choose(r);
  if (status < 0)
    return status;
  struct hwi_replay *replay = &r->result->replay;
  r->result->profile.chains = r->options->chains;
  if (!hwi_replay_init(replay, &r->options->span, hwi_run_replay_time_span(r)) ||
      !prepare_scopes(r->options, &replay->resolver, &replay->tally.scopes))
    return hwi_run_replay_no_memory(r);
  r->result->replay.tally.wants_instance_details = r->options->instance_details;
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

static int make_whole(struct hwi_run_replay *r)
{
  int status = 0;
  bool restored = hwi_summary_load(r->summary, r->result, r->images);
  if (!restored)
    status = replay_run(r);
  if (status < 0)
    return status;
  r->result->profile.has_summary = restored;
  fill_totals(r);
  if (!restored)
    status = fill_lists(r);
  if (!restored && status == 0)
    hwi_summary_keep(r->summary, r->options->summary_least_ns, r->result, r->images);
  return status;
}

static int make_part(struct hwi_run_replay *r)
{
  struct hwi_epoch_file epochs = {0};
  bool restored =
      hwi_summary_load_epochs(r->summary, r->result, r->images, &epochs) && hwi_span_replay(r, &epochs) == 0;
  hwi_epoch_file_release(&epochs);
  int status = restored ? 0 : replay_run(r);
  if (status < 0)
    return status;
  r->result->profile.has_summary = restored;
  fill_totals(r);
  return fill_lists(r);
}

static int make_profile(struct hwi_run_replay *r)
{
  int status = r->options->span.kind == HWI_SPAN_RUN ? make_whole(r) : make_part(r);
  if (status == 0 && !hwi_frames_name_programs(&r->result->replay.resolver.frames, r->images, r->run.count))
    status = hwi_run_replay_no_memory(r);
  if (status == 0 && r->options->instance_details)
    status = hwi_run_replay_read_texts(r);
  if (status == 0)
    hwi_result_sum_up(r->result);
  return status;
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
  wanted.instance_details = false;
  struct hwi_block_events events = {0};
  struct hwi_run_replay r = {.options = &wanted, .events = &events, .error = error};
  int status = hwi_run_replay_begin(&r, path);
  if (status == 0)
    status = hwi_run_replay_choose(&r);
  if (status == 0 && (!hwi_replay_init(&r.result->replay, &wanted.span, hwi_run_replay_time_span(&r)) ||
                      !hwi_block_events_init(&events, &r.result->replay.resolver, sink) ||
                      !prepare_scopes(&wanted, &r.result->replay.resolver, &events.scopes)))
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

uint32_t hwi_profile_depth(const struct hwi_profile *profile, uint32_t stack)
{
  uint32_t depth = 0;
  for (uint32_t frame = profile->stacks[stack].frame; frame != 0; frame = profile->frames[frame].caller)
    depth += !profile->frames[frame].cut;
  return depth;
}

uint32_t hwi_profile_first_cell(const struct hwi_profile *profile, uint32_t stack)
{
  uint32_t low = 0, high = profile->cell_count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (profile->cells[middle].stack < stack)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

void hwi_profile_destroy(struct hwi_profile *profile)
{
  if (!profile)
    return;
  struct hwi_result *result = (struct hwi_result *)profile; /* the profile is its first member */
  hwi_result_release(result);
  free(result);
}
