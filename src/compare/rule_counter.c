/* rule_counter.c - counts the figure of a rule while a run is replayed */
#include "compare/rule_counter.h"

#include <stdlib.h>

#include "report/entries.h"
#include "report/input/name_pattern.h"

static bool thread_is_chosen(const struct hwi_budget *budget, const struct hwi_profile_thread *thread)
{
  for (size_t i = 0; i < budget->filter_count; i++) {
    const struct hwi_filter *filter = &budget->filters[i];
    if (filter->kind == HWI_FILTER_THREAD && hwi_thread_matches(thread, filter->pattern))
      return true;
  }
  return !hwi_budget_has(budget, HWI_FILTER_THREAD);
}

static bool entry_is_chosen(const struct hwi_budget *budget, uint8_t entry)
{
  for (size_t i = 0; i < budget->filter_count; i++) {
    const struct hwi_filter *filter = &budget->filters[i];
    if (filter->kind == HWI_FILTER_ENTRY && hwi_function_matches(filter->pattern, hwi_entry_name(entry)))
      return true;
  }
  return !hwi_budget_has(budget, HWI_FILTER_ENTRY);
}

int hwi_rule_counter_init(struct hwi_rule_counter *gauge, const struct hwi_budget *budget,
                          const struct hwi_profile *profile, const bool *stacks, struct hwi_error *error)
{
  *gauge = (struct hwi_rule_counter){.budget = budget,
                                     .stacks = stacks,
                                     .threads = calloc((size_t)profile->thread_count + 1, sizeof *gauge->threads),
                                     .shares = calloc((size_t)profile->stack_count + 1, sizeof *gauge->shares),
                                     .stack_count = profile->stack_count,
                                     .thread_count = profile->thread_count,
                                     .to_ns = UINT64_MAX,
                                     .all_stacks = !hwi_budget_has(budget, HWI_FILTER_FUNC) &&
                                                   !hwi_budget_has(budget, HWI_FILTER_FILE) &&
                                                   !hwi_budget_has(budget, HWI_FILTER_MODULE)};
  if (gauge->threads == NULL || gauge->shares == NULL)
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory for a rule about %u stacks", profile->stack_count);
  for (uint32_t i = 0; i < profile->thread_count; i++)
    gauge->threads[i] = thread_is_chosen(budget, &profile->threads[i]);
  for (int entry = 0; entry < HW_ENTRY_COUNT; entry++)
    gauge->entries[entry] = entry_is_chosen(budget, (uint8_t)entry);
  return HW_OK;
}

void hwi_rule_counter_release(struct hwi_rule_counter *gauge)
{
  free(gauge->threads);
  free(gauge->shares);
  hwi_durations_release(&gauge->durations);
  *gauge = (struct hwi_rule_counter){0};
}

static bool size_is_chosen(const struct hwi_budget *budget, uint64_t size)
{
  bool asked = false;
  for (size_t i = 0; i < budget->filter_count; i++) {
    const struct hwi_filter *filter = &budget->filters[i];
    if (filter->kind != HWI_FILTER_SIZE)
      continue;
    asked = true;
    if (size >= filter->smallest && size <= filter->largest)
      return true;
  }
  return !asked;
}

static bool is_chosen(const struct hwi_rule_counter *gauge, const struct hwi_block_event *event)
{
  return event->stack < gauge->stack_count && event->owner < gauge->thread_count && gauge->stacks[event->stack] &&
         gauge->threads[event->owner] && size_is_chosen(gauge->budget, event->size);
}

/* --- levels --- */

static void settle(const struct hwi_rule_counter *gauge, struct hwi_rule_counter_share *share)
{
  if (share->generation == gauge->generation)
    return;
  share->peak_bytes = share->live_bytes;
  share->generation = gauge->generation;
}

/* Called after each change, and at the interval's start. */
static void note_peak(struct hwi_rule_counter *gauge)
{
  if (gauge->begun && gauge->level_bytes <= gauge->peak_bytes)
    return;
  gauge->begun = true;
  gauge->peak_bytes = gauge->level_bytes;
  gauge->generation++;
}

static void change_level(struct hwi_rule_counter *gauge, const struct hwi_block_event *event, bool chosen)
{
  bool born = event->kind == HWI_BLOCK_ALLOC;
  uint64_t bytes = born ? event->size : 0 - event->size;
  if (chosen) {
    struct hwi_rule_counter_share *share = &gauge->shares[event->stack];
    settle(gauge, share);
    share->live_bytes += bytes;
    share->live_blocks += born ? 1 : UINT64_MAX;
    share->left_bytes += event->kind == HWI_BLOCK_LEFT ? event->size : 0;
    share->left_blocks += event->kind == HWI_BLOCK_LEFT;
  }
  if (chosen || gauge->budget->metric != HWI_METRIC_OWN_PEAK)
    gauge->level_bytes += bytes;
}

/* --- events --- */

static void count(struct hwi_rule_counter *gauge, const struct hwi_block_event *event, bool is_temporary,
                  uint64_t born_ns)
{
  struct hwi_rule_counter_share *share = &gauge->shares[event->stack];
  switch (gauge->budget->metric) {
  case HWI_METRIC_CALLS:
    share->figure += event->kind == HWI_BLOCK_ALLOC;
    break;
  case HWI_METRIC_BYTES:
    share->figure += event->kind == HWI_BLOCK_ALLOC ? event->size : 0;
    break;
  case HWI_METRIC_FAILED:
    share->figure += event->kind == HWI_BLOCK_FAILED;
    break;
  case HWI_METRIC_TEMPORARY:
    share->figure += event->kind == HWI_BLOCK_FREE && is_temporary && born_ns >= gauge->from_ns;
    break;
  default:
    break;
  }
}

static void time_call(struct hwi_rule_counter *gauge, const struct hwi_block_event *event)
{
  if (event->ns < gauge->from_ns || event->ns >= gauge->to_ns || event->stack >= gauge->stack_count ||
      event->thread >= gauge->thread_count || (!gauge->all_stacks && !gauge->stacks[event->stack]) ||
      !gauge->threads[event->thread] || !gauge->entries[event->entry] || !size_is_chosen(gauge->budget, event->size))
    return;
  struct hwi_rule_counter_share *share = &gauge->shares[event->stack];
  if (event->timed && event->took_ns > share->figure)
    share->figure = event->took_ns;
  if (!hwi_durations_add(&gauge->durations, event))
    gauge->no_memory = true;
}

void hwi_rule_counter_take(struct hwi_rule_counter *gauge, const struct hwi_block_event *event, bool is_temporary,
                           uint64_t born_ns)
{
  if (hwi_metric_unit(gauge->budget->metric) == HWI_UNIT_NS) {
    time_call(gauge, event);
    return;
  }
  if (event->kind == HWI_BLOCK_FREE_UNKNOWN || event->ns >= gauge->to_ns)
    return;
  bool within = event->ns >= gauge->from_ns, chosen = is_chosen(gauge, event);
  if (within && !gauge->begun)
    note_peak(gauge); /* the level that the interval begins with */
  if (within && chosen)
    count(gauge, event, is_temporary, born_ns);
  if (event->kind == HWI_BLOCK_FAILED)
    return;
  change_level(gauge, event, chosen);
  if (within)
    note_peak(gauge);
}

static uint64_t part_of(const struct hwi_rule_counter *gauge, struct hwi_rule_counter_share *share)
{
  switch (gauge->budget->metric) {
  case HWI_METRIC_PEAK:
  case HWI_METRIC_OWN_PEAK:
    settle(gauge, share);
    return share->peak_bytes;
  case HWI_METRIC_LIVE:
  case HWI_METRIC_UNFREED:
    return share->live_bytes + share->left_bytes;
  case HWI_METRIC_LIVE_BLOCKS:
  case HWI_METRIC_UNFREED_BLOCKS:
    return share->live_blocks + share->left_blocks;
  default:
    return share->figure;
  }
}

static uint64_t figure_of(const struct hwi_duration_tally *tally, enum hwi_metric metric)
{
  switch (metric) {
  case HWI_METRIC_DURATION_MEAN:
    return tally->calls ? tally->sum_ns / tally->calls : 0;
  case HWI_METRIC_DURATION_P50:
    return hwi_duration_quantile(tally, HWI_DURATION_P50);
  case HWI_METRIC_DURATION_P99:
    return hwi_duration_quantile(tally, HWI_DURATION_P99);
  case HWI_METRIC_DURATION_P99_9:
    return hwi_duration_quantile(tally, HWI_DURATION_P99_9);
  case HWI_METRIC_DURATION_P99_99:
    return hwi_duration_quantile(tally, HWI_DURATION_P99_99);
  default:
    return tally->max_ns;
  }
}

bool hwi_rule_counter_end(struct hwi_rule_counter *gauge, uint64_t *by_stack, uint64_t *figure)
{
  if (!gauge->begun)
    note_peak(gauge);
  *figure = 0;
  for (uint32_t i = 0; i < gauge->stack_count; i++) {
    by_stack[i] = part_of(gauge, &gauge->shares[i]);
    *figure += by_stack[i];
  }
  if (hwi_metric_unit(gauge->budget->metric) != HWI_UNIT_NS)
    return true;
  struct hwi_duration_tally all;
  bool is_summed = hwi_durations_sum(&gauge->durations, &all) && !gauge->no_memory;
  *figure = figure_of(&all, gauge->budget->metric);
  hwi_duration_tally_release(&all);
  return is_summed;
}
