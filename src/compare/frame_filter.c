/* frame_filter.c - which stacks a rule is about: patterns against the names of their frames */
#include "compare/frame_filter.h"

#include <stdlib.h>

static_assert((int)HWI_FILTER_FUNC == HWI_NAME_FUNCTION && (int)HWI_FILTER_FILE == HWI_NAME_FILE &&
                  (int)HWI_FILTER_MODULE == HWI_NAME_MODULE && (int)HWI_FILTER_THREAD == HWI_NAME_THREAD &&
                  (int)HWI_FILTER_SCOPE == HWI_NAME_SCOPE,
              "filters of names are name patterns");

static bool is_about_frames(const struct hwi_filter *filter)
{
  return (int)filter->kind < HWI_NAME_FRAME_KINDS;
}

/* Matches the filters of names against the run. Returns false if there is no memory. */
static bool match_names(struct hwi_frame_filter *filter, const struct hwi_budget *budget,
                        const struct hwi_named_frames *frames, struct hwi_name_matches *matches)
{
  struct hwi_name_pattern *patterns[HWI_FILTERS_MAX];
  uint32_t count = 0;
  for (size_t i = 0; i < budget->filter_count; i++) {
    const struct hwi_filter *one = &budget->filters[i];
    filter->patterns[i] =
        (struct hwi_name_pattern){.kind = (uint8_t)one->kind, .bit = (uint8_t)(1U << one->kind), .text = one->pattern};
    if ((int)one->kind < HWI_NAME_KINDS)
      patterns[count++] = &filter->patterns[i];
    else
      filter->patterns[i].matched = true;
  }
  return hwi_name_patterns_match(patterns, count, frames, matches);
}

/* Returns, by frame, whether it or a frame outward of it is in a module whose names are missing; NULL if there is no
 * memory. */
static bool *find_doubtful(struct hwi_frame_filter *filter, const struct hwi_profile *profile,
                           const struct hwi_missing_names *missing)
{
  bool *doubtful = calloc((size_t)profile->frame_count + 1, sizeof *doubtful);
  for (uint32_t frame = 1; frame < profile->frame_count && doubtful; frame++) {
    uint32_t module = profile->frames[frame].module;
    doubtful[frame] = doubtful[profile->frames[frame].caller];
    if (missing->reasons[module] == HWI_SYMBOL_OK)
      continue;
    filter->missing_module = module;
    doubtful[frame] = true;
  }
  return doubtful;
}

/* --- all stacks --- */

static bool is_left_out(struct hwi_named_frames *frames, uint32_t stack, const struct hwi_suppressions *suppressions)
{
  if (hwi_named_frames_load(frames, stack, NULL) < 0)
    return false;
  return hwi_named_frames_are_runtime(frames) || (suppressions && hwi_suppressions_find(suppressions, frames));
}

static void choose(struct hwi_frame_filter *filter, const struct hwi_budget *budget, const struct hwi_filtered_run *run,
                   const uint8_t *bits /* by frame; NULL: no filter of names */, const bool *doubtful)
{
  const struct hwi_profile *profile = run->frames->profile;
  bool unfreed = hwi_metric_is_unfreed(budget->metric);
  bool by_name = hwi_budget_has(budget, HWI_FILTER_FUNC) || hwi_budget_has(budget, HWI_FILTER_FILE);
  unsigned asked = 0;
  for (size_t i = 0; i < budget->filter_count; i++)
    asked |= is_about_frames(&budget->filters[i]) ? filter->patterns[i].bit : 0U;
  for (uint32_t stack = 1; stack < profile->stack_count; stack++) {
    uint32_t frame = profile->stacks[stack].frame;
    bool met = asked == 0 || (bits[frame] & asked) == asked, might = !met && by_name && doubtful[frame];
    if (unfreed && (met || might) && is_left_out(run->frames, stack, run->suppressions))
      continue;
    filter->chosen[stack] = met;
    filter->doubtful[stack] = might;
  }
}

int hwi_frame_filter_init(struct hwi_frame_filter *filter, const struct hwi_budget *budget,
                          const struct hwi_filtered_run *run, struct hwi_error *error)
{
  const struct hwi_profile *profile = run->frames->profile;
  *filter = (struct hwi_frame_filter){.chosen = calloc((size_t)profile->stack_count + 1, sizeof *filter->chosen),
                                      .doubtful = calloc((size_t)profile->stack_count + 1, sizeof *filter->doubtful)};
  struct hwi_name_matches matches;
  bool matched = match_names(filter, budget, run->frames, &matches);
  bool *doubtful = find_doubtful(filter, profile, &run->missing);
  bool done = matched && doubtful && filter->chosen && filter->doubtful;
  if (done)
    choose(filter, budget, run, matches.frames, doubtful);
  free(doubtful);
  hwi_name_matches_release(&matches);
  return done ? HW_OK
              : hwi_error_set(error, HW_ERR_MEMORY, "no memory for a rule about %u stacks", profile->stack_count);
}

void hwi_frame_filter_release(struct hwi_frame_filter *filter)
{
  free(filter->chosen);
  free(filter->doubtful);
  for (size_t i = 0; i < HWI_FILTERS_MAX; i++)
    hwi_line_release(&filter->patterns[i].nearest);
  *filter = (struct hwi_frame_filter){0};
}
