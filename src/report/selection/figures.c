/* figures.c - the figures of a report, each described once for all outputs */
#include "report/selection/figures.h"

#include <stddef.h>
#include <string.h>

#include "profile/blocks/sample.h"

const char *const hwi_cost_names[] = {"peak", "live", "calls", "bytes", "temporary", NULL};
const char *const hwi_by_names[] = {"stack",  "function", "file",  "line",  "module",
                                    "thread", "size",     "entry", "scope", NULL};

const struct hwi_figure hwi_totals_figures[] = {
    {"allocation_calls", .off = offsetof(struct hwi_totals, allocation_calls)},
    {"free_calls", .off = offsetof(struct hwi_totals, free_calls)},
    {"failed_calls", .off = offsetof(struct hwi_totals, failed_calls)},
    {"temporary_calls", .off = offsetof(struct hwi_totals, temporary_calls)},
    {"allocated_bytes", .off = offsetof(struct hwi_totals, allocated_bytes)},
    {"usable_bytes", .off = offsetof(struct hwi_totals, usable_bytes)},
    {"peak_bytes", .off = offsetof(struct hwi_totals, peak_bytes)},
    {"peak_blocks", .off = offsetof(struct hwi_totals, peak_blocks)},
    {"peak_time_ns", .off = offsetof(struct hwi_totals, peak_time_ns)},
    {"peak_usable_bytes", .off = offsetof(struct hwi_totals, peak_usable_bytes)},
    {"live_blocks_at_end", .off = offsetof(struct hwi_totals, live_blocks_at_end)},
    {"live_bytes_at_end", .off = offsetof(struct hwi_totals, live_bytes_at_end)},
    {"unmatched_frees", .off = offsetof(struct hwi_totals, unmatched_frees), .not_in_tables = true},
    {"frees_of_silent_blocks", .off = offsetof(struct hwi_totals, frees_of_silent_blocks), .not_in_tables = true},
    {"missed_frees", .off = offsetof(struct hwi_totals, missed_frees), .not_in_tables = true},
    {"inherited_frees", .off = offsetof(struct hwi_totals, inherited_frees), .not_in_tables = true},
    {0},
};

const struct hwi_figure hwi_heap_figures[] = {
    {"created", .off = offsetof(struct hwi_heap, created)},
    {"destroyed", .off = offsetof(struct hwi_heap, destroyed)},
    {"allocation_calls", .off = offsetof(struct hwi_heap, allocation_calls)},
    {"free_calls", .off = offsetof(struct hwi_heap, free_calls)},
    {"failed_calls", .off = offsetof(struct hwi_heap, failed_calls)},
    {"resets", .off = offsetof(struct hwi_heap, resets)},
    {"reset_blocks", .off = offsetof(struct hwi_heap, reset_blocks)},
    {"unmatched_frees", .off = offsetof(struct hwi_heap, unmatched_frees)},
    {"missed_frees", .off = offsetof(struct hwi_heap, missed_frees)},
    {"allocated_bytes", .off = offsetof(struct hwi_heap, allocated_bytes)},
    {"peak_bytes", .off = offsetof(struct hwi_heap, peak_bytes)},
    {"peak_blocks", .off = offsetof(struct hwi_heap, peak_blocks)},
    {"peak_time_ns", .off = offsetof(struct hwi_heap, peak_ns)},
    {"live_blocks_at_end", .off = offsetof(struct hwi_heap, live_blocks)},
    {"live_bytes_at_end", .off = offsetof(struct hwi_heap, live_bytes)},
    {0},
};

const struct hwi_figure hwi_amount_figures[] = {
    {"calls", .off = offsetof(struct hwi_amount, calls)},
    {"bytes", .off = offsetof(struct hwi_amount, bytes)},
    {"temporary_calls", .off = offsetof(struct hwi_amount, temporary_calls)},
    {"peak_bytes", .off = offsetof(struct hwi_amount, peak_bytes)},
    {"peak_blocks", .off = offsetof(struct hwi_amount, peak_blocks)},
    {"peak_usable_bytes", .off = offsetof(struct hwi_amount, peak_usable), .not_in_tables = true,
     .not_in_changes = true},
    {"live_bytes", .off = offsetof(struct hwi_amount, live_bytes)},
    {"live_blocks", .off = offsetof(struct hwi_amount, live_blocks)},
    {0},
};

static uint64_t error_of(const struct hwi_figure *figure, const void *of)
{
  return hwi_sample_error(*(const float *)((const char *)of + figure->off));
}

const struct hwi_figure hwi_amount_errors[] = {
    {"calls_error", .value = error_of, .off = offsetof(struct hwi_amount, variance.calls)},
    {"bytes_error", .value = error_of, .off = offsetof(struct hwi_amount, variance.bytes)},
    {"temporary_calls_error", .value = error_of, .off = offsetof(struct hwi_amount, variance.temporary_calls)},
    {"peak_bytes_error", .value = error_of, .off = offsetof(struct hwi_amount, variance.peak_bytes)},
    {"peak_blocks_error", .value = error_of, .off = offsetof(struct hwi_amount, variance.peak_blocks)},
    {"peak_usable_bytes_error", .value = error_of, .off = offsetof(struct hwi_amount, variance.peak_usable),
     .not_in_tables = true},
    {"live_bytes_error", .value = error_of, .off = offsetof(struct hwi_amount, variance.live_bytes)},
    {"live_blocks_error", .value = error_of, .off = offsetof(struct hwi_amount, variance.live_blocks)},
    {0},
};

const struct hwi_figure hwi_totals_errors[] = {
    {"allocation_calls_error", .value = error_of, .off = offsetof(struct hwi_amount, variance.calls)},
    {"allocated_bytes_error", .value = error_of, .off = offsetof(struct hwi_amount, variance.bytes)},
    {"usable_bytes_error", .value = error_of, .off = offsetof(struct hwi_amount, variance.usable)},
    {"temporary_calls_error", .value = error_of, .off = offsetof(struct hwi_amount, variance.temporary_calls)},
    {"peak_bytes_error", .value = error_of, .off = offsetof(struct hwi_amount, variance.peak_bytes)},
    {"peak_blocks_error", .value = error_of, .off = offsetof(struct hwi_amount, variance.peak_blocks)},
    {"peak_usable_bytes_error", .value = error_of, .off = offsetof(struct hwi_amount, variance.peak_usable)},
    {"live_blocks_at_end_error", .value = error_of, .off = offsetof(struct hwi_amount, variance.live_blocks)},
    {"live_bytes_at_end_error", .value = error_of, .off = offsetof(struct hwi_amount, variance.live_bytes)},
    {0},
};

const struct hwi_figure hwi_whole_stack_figures[] = {
    {"own_peak_bytes", .off = offsetof(struct hwi_stack, own_peak_bytes)},
    {"free_calls", .off = offsetof(struct hwi_stack, free_calls)},
    {"failed_calls", .off = offsetof(struct hwi_stack, failed_calls)},
    {"usable_bytes", .off = offsetof(struct hwi_stack, usable)},
    {"smallest", .off = offsetof(struct hwi_stack, smallest)},
    {"largest", .off = offsetof(struct hwi_stack, largest)},
    {"first_ns", .off = offsetof(struct hwi_stack, first_ns)},
    {"last_ns", .off = offsetof(struct hwi_stack, last_ns)},
    {0},
};

const struct hwi_figure hwi_whole_stack_errors[] = {
    {"usable_bytes_error", .value = error_of, .off = offsetof(struct hwi_stack, variance.usable)},
    {0},
};

const struct hwi_figure hwi_time_figures[] = {
    {"time_ns", .off = offsetof(struct hwi_time_point, ns)},
    {"live_bytes", .off = offsetof(struct hwi_time_point, live_bytes)},
    {"live_blocks", .off = offsetof(struct hwi_time_point, live_blocks)},
    {"max_bytes", .off = offsetof(struct hwi_time_point, max_bytes)},
    {"allocation_calls", .off = offsetof(struct hwi_time_point, allocation_calls)},
    {"free_calls", .off = offsetof(struct hwi_time_point, free_calls)},
    {"allocated_bytes", .off = offsetof(struct hwi_time_point, allocated_bytes)},
    {0},
};

const char *const hwi_lifetime_keys[HWI_LIFETIMES] = {
    [HWI_LIFETIME_TEMPORARY] = "temporary",   [HWI_LIFETIME_BELOW_1MS] = "below_1ms",
    [HWI_LIFETIME_BELOW_1S] = "below_1s",     [HWI_LIFETIME_BELOW_1MIN] = "below_1min",
    [HWI_LIFETIME_LONGER] = "1min_or_longer", [HWI_LIFETIME_UNTIL_END] = "until_end",
};

uint64_t hwi_amount_cost(const struct hwi_amount *amount, enum hwi_cost cost)
{
  switch (cost) {
  case HWI_COST_LIVE:
    return amount->live_bytes;
  case HWI_COST_CALLS:
    return amount->calls;
  case HWI_COST_BYTES:
    return amount->bytes;
  case HWI_COST_TEMPORARY:
    return amount->temporary_calls;
  case HWI_COST_PEAK:
  case HWI_COST_DEFAULT:
    break;
  }
  return amount->peak_bytes;
}

uint64_t hwi_amount_cost_error(const struct hwi_amount *amount, enum hwi_cost cost)
{
  const struct hwi_variance *variance = &amount->variance;
  switch (cost) {
  case HWI_COST_LIVE:
    return hwi_sample_error(variance->live_bytes);
  case HWI_COST_CALLS:
    return hwi_sample_error(variance->calls);
  case HWI_COST_BYTES:
    return hwi_sample_error(variance->bytes);
  case HWI_COST_TEMPORARY:
    return hwi_sample_error(variance->temporary_calls);
  case HWI_COST_PEAK:
  case HWI_COST_DEFAULT:
    break;
  }
  return hwi_sample_error(variance->peak_bytes);
}

bool hwi_amount_is_estimate(const struct hwi_amount *amount)
{
  return amount->variance.calls > 0 || amount->variance.live_blocks > 0 || amount->variance.peak_blocks > 0;
}

bool hwi_amount_is_nothing(const struct hwi_amount *amount)
{
  return amount->calls == 0 && amount->live_blocks == 0 && amount->peak_blocks == 0;
}

void hwi_amount_add(struct hwi_amount *to, const struct hwi_amount *amount)
{
  to->calls += amount->calls;
  to->bytes += amount->bytes;
  to->temporary_calls += amount->temporary_calls;
  to->live_blocks += amount->live_blocks;
  to->live_bytes += amount->live_bytes;
  to->peak_blocks += amount->peak_blocks;
  to->peak_bytes += amount->peak_bytes;
  to->peak_usable += amount->peak_usable;
  hwi_variance_add(&to->variance, &amount->variance);
}

void hwi_amount_subtract(struct hwi_amount *from, const struct hwi_amount *amount)
{
  from->calls -= amount->calls;
  from->bytes -= amount->bytes;
  from->temporary_calls -= amount->temporary_calls;
  from->live_blocks -= amount->live_blocks;
  from->live_bytes -= amount->live_bytes;
  from->peak_blocks -= amount->peak_blocks;
  from->peak_bytes -= amount->peak_bytes;
  from->peak_usable -= amount->peak_usable;
  const struct hwi_variance *variance = &amount->variance;
  hwi_variance_add(&from->variance,
                   &(struct hwi_variance){-variance->calls, -variance->bytes, -variance->usable,
                                          -variance->temporary_calls, -variance->live_blocks, -variance->live_bytes,
                                          -variance->peak_blocks, -variance->peak_bytes, -variance->peak_usable});
}

struct hwi_amount hwi_amount_of_run(const struct hwi_profile *profile)
{
  const struct hwi_totals *totals = &profile->totals;
  struct hwi_amount sum = {0};
  for (uint32_t i = 1; i < profile->stack_count && profile->sample_bytes; i++) {
    const struct hwi_amount amount = hwi_amount_of_stack(&profile->stacks[i]);
    hwi_amount_add(&sum, &amount);
  }
  if (profile->sample_bytes)
    return sum;
  return (struct hwi_amount){
      .calls = totals->allocation_calls,
      .bytes = totals->allocated_bytes,
      .temporary_calls = totals->temporary_calls,
      .live_blocks = totals->live_blocks_at_end,
      .live_bytes = totals->live_bytes_at_end,
      .peak_blocks = totals->peak_blocks,
      .peak_bytes = totals->peak_bytes,
      .peak_usable = totals->peak_usable_bytes,
  };
}

struct hwi_amount hwi_amount_of_totals(const struct hwi_profile *profile)
{
  struct hwi_amount amount = hwi_amount_of_run(profile);
  if (profile->calls_are_exact)
    amount.variance.calls = amount.variance.bytes = 0;
  return amount;
}

enum hwi_cost hwi_report_cost(const struct hwi_report_options *options, const struct hwi_profile *profile)
{
  if (options->cost != HWI_COST_DEFAULT)
    return (enum hwi_cost)options->cost;
  if (options->leaks)
    return HWI_COST_LIVE;
  return profile->span.kind == HWI_SPAN_INTERVAL ? HWI_COST_CALLS : HWI_COST_PEAK;
}

bool hwi_cost_is_bytes(enum hwi_cost cost)
{
  return cost != HWI_COST_CALLS && cost != HWI_COST_TEMPORARY;
}

struct hwi_number hwi_cost_text(uint64_t value, enum hwi_cost cost)
{
  return hwi_cost_is_bytes(cost) ? hwi_bytes_text(value) : hwi_count_text(value);
}

struct hwi_amount hwi_amount_of_stack(const struct hwi_stack *stack)
{
  return (struct hwi_amount){
      .calls = stack->calls,
      .bytes = stack->bytes,
      .temporary_calls = stack->temporary_calls,
      .live_blocks = stack->live_blocks,
      .live_bytes = stack->live_bytes,
      .peak_blocks = stack->peak_blocks,
      .peak_bytes = stack->peak_bytes,
      .peak_usable = stack->peak_usable,
      .variance = stack->variance,
  };
}

struct hwi_amount hwi_amount_of_cell(const struct hwi_profile *profile, const struct hwi_profile_cell *cell)
{
  uint64_t size = profile->sizes[cell->size].size;
  struct hwi_amount amount = {.calls = cell->calls,
                              .bytes = cell->calls * size,
                              .temporary_calls = cell->temporary_calls,
                              .live_blocks = cell->live_blocks,
                              .live_bytes = cell->live_blocks * size,
                              .peak_blocks = cell->peak_blocks,
                              .peak_bytes = cell->peak_blocks * size,
                              .peak_usable = cell->peak_blocks * cell->usable};
  if (profile->sample_bytes)
    hwi_variance_add_cell(&amount.variance, profile, cell);
  return amount;
}

void hwi_lifetimes_of_run(const struct hwi_profile *profile, uint64_t lifetimes[HWI_LIFETIMES])
{
  memset(lifetimes, 0, HWI_LIFETIMES * sizeof *lifetimes);
  for (uint32_t i = 1; i < profile->stack_count; i++) {
    for (int step = 0; step < HWI_LIFETIMES; step++)
      lifetimes[step] += profile->stacks[i].lifetimes[step];
  }
}
