/* rule_counter.c - counts the figure of a rule while a run is replayed */
#include "compare/rule_counter.h"

#include <stdlib.h>

#include "report/selection/entries.h"
#include "report/selection/name_pattern.h"

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

int hwi_rule_counter_init(struct hwi_rule_counter *counter, const struct hwi_budget *budget,
                          const struct hwi_profile *profile, const bool *stacks, struct hwi_error *error)
{
  *counter = (struct hwi_rule_counter){.budget = budget,
                                       .stacks = stacks,
                                       .threads = calloc((size_t)profile->thread_count + 1, sizeof *counter->threads),
                                       .scopes = hwi_budget_choose_scopes(budget, profile),
                                       .scope_count = profile->scope_count ? profile->scope_count : 1,
                                       .shares = calloc((size_t)profile->stack_count + 1, sizeof *counter->shares),
                                       .stack_count = profile->stack_count,
                                       .thread_count = profile->thread_count,
                                       .to_ns = UINT64_MAX,
                                       .all_stacks = !hwi_budget_has(budget, HWI_FILTER_FUNC) &&
                                                     !hwi_budget_has(budget, HWI_FILTER_FILE) &&
                                                     !hwi_budget_has(budget, HWI_FILTER_MODULE)};
  if (!counter->threads || !counter->scopes || !counter->shares)
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory for a rule about %u stacks", profile->stack_count);
  for (uint32_t i = 0; i < profile->thread_count; i++)
    counter->threads[i] = thread_is_chosen(budget, &profile->threads[i]);
  for (int entry = 0; entry < HW_ENTRY_COUNT; entry++)
    counter->entries[entry] = entry_is_chosen(budget, (uint8_t)entry);
  return HW_OK;
}

void hwi_rule_counter_release(struct hwi_rule_counter *counter)
{
  free(counter->threads);
  free(counter->scopes);
  free(counter->shares);
  hwi_durations_release(&counter->durations);
  *counter = (struct hwi_rule_counter){0};
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

static bool is_chosen(const struct hwi_rule_counter *counter, const struct hwi_block_event *event)
{
  return event->stack < counter->stack_count && event->owner < counter->thread_count && counter->stacks[event->stack] &&
         counter->threads[event->owner] && event->scope < counter->scope_count && counter->scopes[event->scope] &&
         size_is_chosen(counter->budget, event->size);
}

/* --- levels --- */

static void settle(const struct hwi_rule_counter *counter, struct hwi_rule_counter_share *share)
{
  if (share->generation == counter->generation)
    return;
  share->peak_bytes = share->live.bytes;
  share->generation = counter->generation;
}

/* Called after each change, and at the interval's start. */
static void note_peak(struct hwi_rule_counter *counter)
{
  if (counter->begun && counter->level.bytes <= counter->peak_bytes)
    return;
  counter->begun = true;
  counter->peak_bytes = counter->level.bytes;
  counter->generation++;
}

static void change_level(struct hwi_rule_counter *counter, const struct hwi_block_event *event, bool chosen)
{
  if (chosen) {
    struct hwi_rule_counter_share *share = &counter->shares[event->stack];
    settle(counter, share);
    hwi_live_sum_count(&share->live, event);
    share->left_bytes += event->kind == HWI_BLOCK_LEFT ? hwi_block_bytes(event) : 0;
    share->left_blocks += event->kind == HWI_BLOCK_LEFT ? event->weight : 0;
  }
  if (chosen || counter->budget->metric != HWI_METRIC_OWN_PEAK)
    hwi_live_sum_count(&counter->level, event);
}

/* --- events --- */

static void count(struct hwi_rule_counter *counter, const struct hwi_block_event *event)
{
  struct hwi_rule_counter_share *share = &counter->shares[event->stack];
  switch (counter->budget->metric) {
  case HWI_METRIC_CALLS:
    share->figure += event->kind == HWI_BLOCK_ALLOC ? event->weight : 0;
    break;
  case HWI_METRIC_BYTES:
    share->figure += event->kind == HWI_BLOCK_ALLOC ? hwi_block_bytes(event) : 0;
    break;
  case HWI_METRIC_FAILED:
    share->figure += event->kind == HWI_BLOCK_FAILED;
    break;
  case HWI_METRIC_TEMPORARY:
    share->figure += event->temporary && event->born_ns >= counter->from_ns ? event->weight : 0;
    break;
  default:
    break;
  }
}

static void time_call(struct hwi_rule_counter *counter, const struct hwi_block_event *event)
{
  if (event->ns < counter->from_ns || event->ns >= counter->to_ns || event->stack >= counter->stack_count ||
      event->thread >= counter->thread_count || (!counter->all_stacks && !counter->stacks[event->stack]) ||
      !counter->threads[event->thread] || !counter->entries[event->entry] ||
      !size_is_chosen(counter->budget, event->size))
    return;
  struct hwi_rule_counter_share *share = &counter->shares[event->stack];
  if (event->timed && event->took_ns > share->figure)
    share->figure = event->took_ns;
  if (!hwi_durations_add(&counter->durations, event))
    counter->no_memory = true;
}

void hwi_rule_counter_take(struct hwi_rule_counter *counter, const struct hwi_block_event *event)
{
  if (hwi_metric_unit(counter->budget->metric) == HWI_UNIT_NS) {
    time_call(counter, event);
    return;
  }
  if (event->kind == HWI_BLOCK_FREE_UNKNOWN || event->ns >= counter->to_ns)
    return;
  bool within = event->ns >= counter->from_ns, chosen = is_chosen(counter, event);
  if (within && !counter->begun)
    note_peak(counter); /* the level that the interval begins with */
  if (within && chosen)
    count(counter, event);
  if (event->kind == HWI_BLOCK_FAILED)
    return;
  change_level(counter, event, chosen);
  if (within)
    note_peak(counter);
}

static uint64_t part_of(const struct hwi_rule_counter *counter, struct hwi_rule_counter_share *share)
{
  switch (counter->budget->metric) {
  case HWI_METRIC_PEAK:
  case HWI_METRIC_OWN_PEAK:
    settle(counter, share);
    return share->peak_bytes;
  case HWI_METRIC_LIVE:
  case HWI_METRIC_UNFREED:
    return share->live.bytes + share->left_bytes;
  case HWI_METRIC_LIVE_BLOCKS:
  case HWI_METRIC_UNFREED_BLOCKS:
    return share->live.blocks + share->left_blocks;
  default:
    return share->figure;
  }
}

/* A mean is rounded down. */
static uint64_t duration_of(const struct hwi_figure *figure, const struct hwi_duration_tally *tally)
{
  return figure->ratio ? (uint64_t)figure->ratio(tally) : hwi_figure_value(figure, tally);
}

bool hwi_rule_counter_end(struct hwi_rule_counter *counter, uint64_t *by_stack, uint64_t *figure)
{
  if (!counter->begun)
    note_peak(counter);
  *figure = 0;
  for (uint32_t i = 0; i < counter->stack_count; i++) {
    by_stack[i] = part_of(counter, &counter->shares[i]);
    *figure += by_stack[i];
  }
  if (hwi_metric_unit(counter->budget->metric) != HWI_UNIT_NS)
    return true;
  struct hwi_duration_tally all;
  bool is_summed = hwi_durations_sum(&counter->durations, &all) && !counter->no_memory;
  *figure = duration_of(counter->budget->duration, &all);
  hwi_duration_tally_release(&all);
  return is_summed;
}
