/* gauge.c - counts what a rule is about while a run is replayed */
#include "compare/gauge.h"

#include <stdlib.h>

#include "report/name_pattern.h"

static bool thread_is_chosen(const struct hwi_budget *budget, const struct hwi_profile_thread *thread)
{
  for (size_t i = 0; i < budget->filter_count; i++) {
    const struct hwi_filter *filter = &budget->filters[i];
    if (filter->kind == HWI_FILTER_THREAD && hwi_thread_matches(thread, filter->pattern))
      return true;
  }
  return !hwi_budget_has(budget, HWI_FILTER_THREAD);
}

int hwi_gauge_init(struct hwi_gauge *gauge, const struct hwi_budget *budget, const struct hwi_profile *profile,
                   const bool *stacks, struct hwi_error *error)
{
  *gauge = (struct hwi_gauge){.budget = budget,
                              .stacks = stacks,
                              .threads = calloc((size_t)profile->thread_count + 1, sizeof *gauge->threads),
                              .shares = calloc((size_t)profile->stack_count + 1, sizeof *gauge->shares),
                              .stack_count = profile->stack_count,
                              .thread_count = profile->thread_count,
                              .to_ns = UINT64_MAX};
  if (gauge->threads == NULL || gauge->shares == NULL)
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory for a rule about %u stacks", profile->stack_count);
  for (uint32_t i = 0; i < profile->thread_count; i++)
    gauge->threads[i] = thread_is_chosen(budget, &profile->threads[i]);
  return HW_OK;
}

void hwi_gauge_release(struct hwi_gauge *gauge)
{
  free(gauge->threads);
  free(gauge->shares);
  *gauge = (struct hwi_gauge){0};
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

static bool is_chosen(const struct hwi_gauge *gauge, const struct hwi_block_event *event)
{
  return event->stack < gauge->stack_count && event->owner < gauge->thread_count && gauge->stacks[event->stack] &&
         gauge->threads[event->owner] && size_is_chosen(gauge->budget, event->size);
}

/* --- levels --- */

static void settle(const struct hwi_gauge *gauge, struct hwi_gauge_share *share)
{
  if (share->generation == gauge->generation)
    return;
  share->peak_bytes = share->live_bytes;
  share->generation = gauge->generation;
}

/* After each change, and at the interval's start. */
static void note_peak(struct hwi_gauge *gauge)
{
  if (gauge->begun && gauge->level_bytes <= gauge->peak_bytes)
    return;
  gauge->begun = true;
  gauge->peak_bytes = gauge->level_bytes;
  gauge->generation++;
}

static void change_level(struct hwi_gauge *gauge, const struct hwi_block_event *event, bool chosen)
{
  bool born = event->kind == HWI_BLOCK_ALLOC;
  uint64_t bytes = born ? event->size : 0 - event->size;
  if (chosen) {
    struct hwi_gauge_share *share = &gauge->shares[event->stack];
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

static void count(struct hwi_gauge *gauge, const struct hwi_block_event *event, bool is_temporary, uint64_t born_ns)
{
  struct hwi_gauge_share *share = &gauge->shares[event->stack];
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

void hwi_gauge_take(struct hwi_gauge *gauge, const struct hwi_block_event *event, bool is_temporary, uint64_t born_ns)
{
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

static uint64_t part_of(const struct hwi_gauge *gauge, struct hwi_gauge_share *share)
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

uint64_t hwi_gauge_end(struct hwi_gauge *gauge, uint64_t *by_stack)
{
  if (!gauge->begun)
    note_peak(gauge);
  uint64_t sum = 0;
  for (uint32_t i = 0; i < gauge->stack_count; i++) {
    by_stack[i] = part_of(gauge, &gauge->shares[i]);
    sum += by_stack[i];
  }
  return sum;
}
