/* compare.c - compares two runs: makes rows of both and keeps those that changed */
#include "compare/compare.h"

#include <stdlib.h>
#include <string.h>

#include "compare/rows.h"
#include "trace/grow.h"

/* --- the order of rows --- */

int64_t hwi_change(const struct hwi_amount amounts[HWI_SIDES], enum hwi_cost cost)
{
  return (int64_t)(hwi_amount_cost(&amounts[HWI_NEW], cost) - hwi_amount_cost(&amounts[HWI_OLD], cost));
}

static uint64_t magnitude(int64_t change)
{
  return change < 0 ? 0 - (uint64_t)change : (uint64_t)change;
}

static uint64_t larger_cost(const struct hwi_amount amounts[HWI_SIDES], enum hwi_cost cost)
{
  uint64_t old = hwi_amount_cost(&amounts[HWI_OLD], cost), new = hwi_amount_cost(&amounts[HWI_NEW], cost);
  return old > new ? old : new;
}

/* Orders by the change, then by the row's cost, then by number, so that the order is the same each time. */
static int compare_rows(const void *left, const void *right, void *context)
{
  enum hwi_cost cost = *(const enum hwi_cost *)context;
  const struct hwi_diff_row *a = left, *b = right;
  const uint64_t ranks[][2] = {
      {magnitude(hwi_change(a->amounts, cost)), magnitude(hwi_change(b->amounts, cost))},
      {magnitude(hwi_change(a->totals, cost)), magnitude(hwi_change(b->totals, cost))},
      {larger_cost(a->amounts, cost), larger_cost(b->amounts, cost)},
      {b->items[HWI_NEW], a->items[HWI_NEW]},
      {b->items[HWI_OLD], a->items[HWI_OLD]},
  };
  for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
    if (ranks[i][0] != ranks[i][1])
      return ranks[i][0] > ranks[i][1] ? -1 : 1;
  }
  return 0;
}

/* --- what is left out --- */

static double threshold_of(const struct hwi_comparison *comparison)
{
  const struct hwi_compare_options *options = comparison->options;
  if (!options->has_threshold)
    return 0;
  double all = (double)hwi_amount_cost(&comparison->all[HWI_OLD], comparison->cost);
  return options->percent ? all * options->threshold / 100 : options->threshold;
}

static bool has_few_calls(const struct hwi_comparison *comparison, const struct hwi_diff_row *row)
{
  uint64_t self = larger_cost(row->amounts, HWI_COST_CALLS), total = larger_cost(row->totals, HWI_COST_CALLS);
  const uint64_t min_calls = comparison->options->report.min_calls; /* 1: all, also those that no call is known of */
  return min_calls > 1 && (self > total ? self : total) < min_calls;
}

static bool is_below(const struct hwi_comparison *comparison, const struct hwi_diff_row *row)
{
  double threshold = threshold_of(comparison);
  return comparison->options->has_threshold &&
         (double)magnitude(hwi_change(row->amounts, comparison->cost)) <= threshold &&
         (double)magnitude(hwi_change(row->totals, comparison->cost)) <= threshold;
}

static bool has_changed(const struct hwi_diff_row *row, enum hwi_cost cost)
{
  return hwi_change(row->amounts, cost) != 0 || hwi_change(row->totals, cost) != 0;
}

/* Moves the changed rows that are not left out to the front. */
static void keep_changed(struct hwi_comparison *comparison)
{
  size_t kept = 0;
  for (size_t i = 0; i < comparison->row_count; i++) {
    struct hwi_diff_row row = comparison->rows[i];
    if (!has_changed(&row, comparison->cost))
      continue;
    bool few = has_few_calls(comparison, &row), below = is_below(comparison, &row);
    comparison->few_calls_count += few;
    comparison->below_count += below && !few;
    if (few || below)
      continue;
    comparison->rows[i] = comparison->rows[kept];
    comparison->rows[kept++] = row;
  }
  comparison->changed_count = kept;
  if (kept > 0)
    qsort_r(comparison->rows, kept, sizeof *comparison->rows, compare_rows, &comparison->cost);
}

bool hwi_comparison_is_narrowed(const struct hwi_comparison *comparison)
{
  return hwi_report_is_narrowed(&comparison->options->report);
}

bool hwi_comparison_grew(const struct hwi_comparison *comparison)
{
  double threshold = threshold_of(comparison);
  if ((double)hwi_change(comparison->all, comparison->cost) > threshold)
    return true;
  for (size_t i = 0; i < comparison->changed_count; i++) {
    if ((double)hwi_change(comparison->rows[i].amounts, comparison->cost) > threshold)
      return true;
  }
  return false;
}

/* --- the comparison --- */

static int init_side(struct hwi_compare_side *side, const struct hwi_profile *profile, const struct hwi_names *names,
                     const struct hwi_compare_options *options, struct hwi_error *error)
{
  side->report = (struct hwi_report){.profile = profile, .names = *names, .options = options->report};
  side->report.options.min_calls = 0; /* min_calls applies to a row, not to an item of one side */
  int status = hwi_named_frames_init(&side->frames, &side->report, error);
  if (status < 0)
    return status;
  side->runtime.frames = &side->frames;
  side->runtime.suppressions = options->suppressions;
  const struct hwi_stack_filter filter = {hwi_runtime_blocks_keep, &side->runtime};
  return hwi_selection_init(&side->selection, &side->report, options->report.leaks ? &filter : NULL, error);
}

static int make_rows(struct hwi_comparison *comparison, struct hwi_error *error)
{
  switch ((enum hwi_by)comparison->options->report.by) {
  case HWI_BY_STACK:
    return hwi_stack_rows(comparison, error);
  case HWI_BY_THREAD:
    return hwi_thread_rows(comparison, error);
  case HWI_BY_SIZE:
    return hwi_size_rows(comparison, error);
  case HWI_BY_ENTRY:
    return hwi_entry_rows(comparison, error);
  case HWI_BY_SCOPE:
    return hwi_scope_path_rows(comparison, error);
  case HWI_BY_FUNCTION:
  case HWI_BY_FILE:
  case HWI_BY_LINE:
  case HWI_BY_MODULE:
    break;
  }
  return hwi_group_rows(comparison, error);
}

/* What was read from memory has neither a peak nor calls: it is compared with what is live at the end of a recording. */
static enum hwi_cost cost_of(const struct hwi_report_options *options, const struct hwi_profile *const *profiles)
{
  const bool is_of_memory = profiles[HWI_OLD]->is_of_memory || profiles[HWI_NEW]->is_of_memory;
  return options->cost == HWI_COST_DEFAULT && is_of_memory ? HWI_COST_LIVE
                                                           : hwi_report_cost(options, profiles[HWI_NEW]);
}

int hwi_compare(struct hwi_comparison *comparison, const struct hwi_profile *const profiles[HWI_SIDES],
                const struct hwi_names names[HWI_SIDES], const struct hwi_compare_options *options,
                struct hwi_error *error)
{
  *comparison = (struct hwi_comparison){.options = options, .cost = cost_of(&options->report, profiles)};
  int status = HW_OK;
  for (int i = 0; i < HWI_SIDES && status == HW_OK; i++) {
    status = init_side(&comparison->sides[i], profiles[i], &names[i], options, error);
    comparison->all[i] = comparison->sides[i].selection.all;
    if (options->replayers)
      comparison->sides[i].report.replayer = options->replayers[i];
  }
  if (status < 0 || options->report.durations)
    return status;
  const struct hwi_named_frames *frames[HWI_SIDES] = {&comparison->sides[HWI_OLD].frames,
                                                      &comparison->sides[HWI_NEW].frames};
  status = hwi_identities_init(&comparison->identities, frames, error);
  if (status == HW_OK)
    status = make_rows(comparison, error);
  if (status == HW_OK)
    keep_changed(comparison);
  return status;
}

void hwi_comparison_release(struct hwi_comparison *comparison)
{
  if (comparison->identities.sides[HWI_OLD].frames)
    hwi_identities_release(&comparison->identities);
  for (int i = 0; i < HWI_SIDES; i++) {
    hwi_groups_release(&comparison->sides[i].groups);
    free(comparison->sides[i].scopes);
    hwi_selection_release(&comparison->sides[i].selection);
    hwi_named_frames_release(&comparison->sides[i].frames);
  }
  free(comparison->rows);
  *comparison = (struct hwi_comparison){0};
}
