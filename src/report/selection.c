/* selection.c - which stacks a report is about, and in what order */
#include "report/selection.h"

#include <stdlib.h>

#include "report/radix_sort.h"
#include "trace/table.h"

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
}

struct hwi_amount hwi_amount_of_run(const struct hwi_totals *totals)
{
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
  };
}

/* For filters that do not split stacks: each stack is kept as a whole, or not. */
static void amounts_of_whole_stacks(struct hwi_selection *selection, const struct hwi_profile *profile)
{
  for (uint32_t i = 1; i < profile->stack_count; i++) {
    if (hwi_narrowing_keeps_stack(&selection->narrowing, i))
      selection->amounts[i] = hwi_amount_of_stack(&profile->stacks[i]);
  }
}

struct hwi_amount hwi_amount_of_cell(const struct hwi_profile *profile, const struct hwi_profile_cell *cell)
{
  uint64_t size = profile->sizes[cell->size].size;
  return (struct hwi_amount){.calls = cell->calls,
                             .bytes = cell->calls * size,
                             .temporary_calls = cell->temporary_calls,
                             .live_blocks = cell->live_blocks,
                             .live_bytes = cell->live_blocks * size,
                             .peak_blocks = cell->peak_blocks,
                             .peak_bytes = cell->peak_blocks * size,
                             .peak_usable = cell->peak_blocks * cell->usable};
}

enum grain { BY_STACK, BY_THREAD, BY_SIZE };

/* Adds each cell that is kept to the amount of its stack, thread or size. */
static void sum_cells(struct hwi_amount *amounts, const struct hwi_profile *profile, const struct hwi_narrowing *filter,
                      enum grain grain)
{
  for (uint32_t i = 0; i < profile->cell_count; i++) {
    const struct hwi_profile_cell *cell = &profile->cells[i];
    if (!hwi_narrowing_keeps_cell(filter, cell))
      continue;
    struct hwi_amount amount = hwi_amount_of_cell(profile, cell);
    uint32_t index = grain == BY_STACK ? cell->stack : grain == BY_THREAD ? cell->thread : cell->size;
    hwi_amount_add(&amounts[index], &amount);
  }
}

struct hwi_amount *hwi_amounts_by_size(const struct hwi_profile *profile, const struct hwi_narrowing *filter)
{
  struct hwi_amount *amounts = calloc((size_t)profile->size_count + 1, sizeof *amounts);
  if (amounts)
    sum_cells(amounts, profile, filter, BY_SIZE);
  return amounts;
}

struct hwi_amount *hwi_amounts_by_thread(const struct hwi_profile *profile, const struct hwi_narrowing *filter)
{
  struct hwi_amount *amounts = calloc((size_t)profile->thread_count + 1, sizeof *amounts);
  if (amounts)
    sum_cells(amounts, profile, filter, BY_THREAD);
  return amounts;
}

/* Sorts by cost, then by the bytes allocated in total, the largest first; then by number, so that each report has
 * the same order. There can be a million stacks: they are sorted with a stable sort, by the last key first. Returns
 * false if there is no memory. */
static bool sort_stacks(struct hwi_selection *selection)
{
  const uint32_t count = selection->stack_count;
  struct hwi_sort_item *ranked = hwi_table_calloc((size_t)count + 1, sizeof *ranked);
  bool done = ranked;
  for (uint32_t i = 0; i < count && done; i++)
    ranked[i] = (struct hwi_sort_item){selection->amounts[selection->stacks[i]].bytes, selection->stacks[i]};
  done = done && hwi_radix_sort(ranked, count);
  for (uint32_t i = 0; i < count && done; i++)
    ranked[i].key = hwi_amount_cost(&selection->amounts[ranked[i].item], selection->cost);
  done = done && hwi_radix_sort(ranked, count);
  for (uint32_t i = 0; i < count && done; i++)
    selection->stacks[i] = ranked[i].item;
  free(ranked);
  return done;
}

static void choose(struct hwi_selection *selection, const struct hwi_report *report,
                   const struct hwi_stack_filter *filter)
{
  for (uint32_t i = 1; i < report->profile->stack_count; i++) {
    const struct hwi_amount *amount = &selection->amounts[i];
    if (selection->narrowing.rule_count > 0)
      hwi_amount_add(&selection->all, amount);
    if (hwi_amount_is_nothing(amount))
      continue;
    if (filter && !filter->keep(filter->context, i, amount)) {
      hwi_amount_subtract(&selection->all, amount);
      continue;
    }
    if (report->options.min_calls > 1 &&
        amount->calls <
            report->options.min_calls) { /* more than 1, since blocks from before an interval have no call */
      hwi_amount_add(&selection->few_calls, amount);
      selection->few_calls_count++;
      continue;
    }
    hwi_amount_add(&selection->selected, amount);
    selection->stacks[selection->stack_count++] = i;
  }
}

int hwi_selection_init(struct hwi_selection *selection, const struct hwi_report *report,
                       const struct hwi_stack_filter *filter, struct hwi_error *error)
{
  const struct hwi_profile *profile = report->profile;
  *selection = (struct hwi_selection){
      .cost = hwi_report_cost(&report->options, profile),
      .amounts = hwi_table_calloc((size_t)profile->stack_count + 1, sizeof *selection->amounts),
      .stacks = calloc((size_t)profile->stack_count + 1, sizeof *selection->stacks),
  };
  int status = selection->amounts && selection->stacks
                   ? hwi_narrowing_init(&selection->narrowing, report, error)
                   : hwi_error_set(error, HW_ERR_MEMORY, "no memory for %u stacks", profile->stack_count);
  if (status < 0) {
    hwi_selection_release(selection);
    return status;
  }
  if (hwi_narrowing_splits_stacks(&selection->narrowing))
    sum_cells(selection->amounts, profile, &selection->narrowing, BY_STACK);
  else
    amounts_of_whole_stacks(selection, profile);
  if (selection->narrowing.rule_count == 0)
    selection->all = hwi_amount_of_run(&profile->totals);
  choose(selection, report, filter);
  if (sort_stacks(selection))
    return HW_OK;
  hwi_selection_release(selection);
  return hwi_error_set(error, HW_ERR_MEMORY, "no memory to sort %u stacks", profile->stack_count);
}

void hwi_selection_remark(struct hwi_line *remarks, const struct hwi_selection *selection)
{
  for (uint32_t i = 0; i < selection->narrowing.rule_count; i++) {
    if (selection->narrowing.rules[i].name.matched)
      continue;
    hwi_narrowing_explain(remarks, &selection->narrowing.rules[i], "this recording");
    hwi_line_puts(remarks, "\n");
  }
  if (selection->narrowing.rule_count > 0 && hwi_amount_is_nothing(&selection->selected))
    hwi_line_puts(remarks, "nothing of the run is selected\n");
}

void hwi_selection_release(struct hwi_selection *selection)
{
  free(selection->amounts);
  free(selection->stacks);
  hwi_narrowing_release(&selection->narrowing);
  *selection = (struct hwi_selection){0};
}
