/* profile.c - makes a profile of a run: from a summary that an earlier reading left, or by replaying it */
#include <stdlib.h>

#include "profile/blocks/sample.h"
#include "profile/replay/span_replay.h"

static int replay_run(struct hwi_run_replay *r)
{
  int status = hwi_run_replay_prepare(r);
  if (status == 0)
    status = hwi_run_replay_all(r);
  return status < 0 ? status : hwi_run_replay_describe(r);
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
  hwi_run_replay_sum_up(r);
  if (!restored)
    status = hwi_run_replay_fill_lists(r);
  /* Replaying a sample takes no time, and a summary has no sums of dropped events. */
  if (!restored && status == 0 && !r->result->profile.sample_bytes && !r->result->has_base)
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
  hwi_run_replay_sum_up(r);
  return hwi_run_replay_fill_lists(r);
}

static int make_profile(struct hwi_run_replay *r)
{
  int status = r->options->span.kind == HWI_SPAN_RUN ? make_whole(r) : make_part(r);
  return status < 0 ? status : hwi_run_replay_complete(r);
}

static bool is_of_memory(const struct hwi_run *run)
{
  for (size_t i = 0; i < run->count; i++)
    if (run->images[i].header.origin != HW_ORIGIN_MOMENT)
      return false;
  return run->count > 0;
}

int hwi_profile_create(struct hwi_profile **profile, const char *path, const struct hwi_profile_options *options,
                       struct hwi_error *error)
{
  *profile = NULL;
  struct hwi_profile_options wanted = *options;
  struct hwi_summary summary;
  struct hwi_run_replay r = {.options = &wanted, .summary = &summary, .error = error};
  int status = hwi_run_replay_begin(&r, path);
  if (status == 0) {
    r.result->profile.is_of_memory = is_of_memory(&r.run);
    if (r.result->profile.is_of_memory)
      wanted.span = (struct hwi_span){.kind = HWI_SPAN_MOMENT};
    hwi_summary_init(&summary, path, &r.run, &wanted);
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
                      !hwi_scopes_prepare(&wanted, &r.result->replay.resolver, &events.scopes)))
    status = hwi_run_replay_no_memory(&r);
  events.has_all_threads = options->span.kind == HWI_SPAN_RUN && !options->history;
  if (status == 0)
    status = hwi_run_replay_all(&r);
  hwi_run_replay_end(&r);
  hwi_block_events_release(&events);
  hwi_run_release(&r.run);
  if (r.result)
    hwi_profile_destroy(&r.result->profile);
  return status;
}

uint64_t hwi_profile_event_calls(const struct hwi_profile *profile)
{
  const struct hwi_totals *totals = &profile->totals;
  uint64_t calls = 0;
  if (!profile->sample_bytes)
    return totals->allocation_calls + totals->free_calls + totals->failed_calls;
  for (uint32_t i = 1; i < profile->stack_count; i++)
    calls += profile->stacks[i].calls + profile->stacks[i].free_calls;
  return calls + totals->failed_calls + totals->unmatched_frees + totals->frees_of_silent_blocks +
         totals->inherited_frees;
}

void hwi_variance_add(struct hwi_variance *sum, const struct hwi_variance *part)
{
  sum->calls += part->calls;
  sum->bytes += part->bytes;
  sum->usable += part->usable;
  sum->temporary_calls += part->temporary_calls;
  sum->live_blocks += part->live_blocks;
  sum->live_bytes += part->live_bytes;
  sum->peak_blocks += part->peak_blocks;
  sum->peak_bytes += part->peak_bytes;
  sum->peak_usable += part->peak_usable;
}

void hwi_variance_add_cell(struct hwi_variance *sum, const struct hwi_profile *profile,
                           const struct hwi_profile_cell *cell)
{
  const uint64_t size = profile->sizes[cell->size].size;
  const double of_call = hwi_sample_variance(profile->sample_bytes, size), bytes = (double)size * (double)size,
               usable = (double)cell->usable * (double)cell->usable;
  const double calls = of_call * (double)cell->calls, live = of_call * (double)cell->live_blocks,
               peak = of_call * (double)cell->peak_blocks;
  hwi_variance_add(sum, &(struct hwi_variance){
                            .calls = (float)calls,
                            .bytes = (float)(calls * bytes),
                            .usable = (float)(calls * usable),
                            .temporary_calls = (float)(of_call * (double)cell->temporary_calls),
                            .live_blocks = (float)live,
                            .live_bytes = (float)(live * bytes),
                            .peak_blocks = (float)peak,
                            .peak_bytes = (float)(peak * bytes),
                            .peak_usable = (float)(peak * usable),
                        });
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
