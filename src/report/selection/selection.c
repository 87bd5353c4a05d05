/* selection.c - which stacks a report is about, and in what order */
#include "report/selection/selection.h"

#include <stdlib.h>
#include <string.h>

#include "trace/radix_sort.h"
#include "trace/table.h"

/* For filters that do not split stacks: each stack is kept as a whole, or not. */
static void amounts_of_whole_stacks(struct hwi_selection *selection, const struct hwi_profile *profile)
{
  for (uint32_t i = 1; i < profile->stack_count; i++) {
    if (hwi_narrowing_keeps_stack(&selection->narrowing, i))
      selection->amounts[i] = hwi_amount_of_stack(&profile->stacks[i]);
  }
}

enum grain { BY_STACK, BY_THREAD, BY_SIZE, BY_SCOPE };

static uint32_t index_of(const struct hwi_profile_cell *cell, enum grain grain)
{
  switch (grain) {
  case BY_THREAD:
    return cell->thread;
  case BY_SIZE:
    return cell->size;
  case BY_SCOPE:
    return cell->scope;
  case BY_STACK:
    break;
  }
  return cell->stack;
}

/* Adds each cell that is kept to the amount of its stack, thread, size or scope. */
static void sum_cells(struct hwi_amount *amounts, const struct hwi_profile *profile, const struct hwi_narrowing *filter,
                      enum grain grain)
{
  for (uint32_t i = 0; i < profile->cell_count; i++) {
    const struct hwi_profile_cell *cell = &profile->cells[i];
    if (!hwi_narrowing_keeps_cell(filter, cell))
      continue;
    struct hwi_amount amount = hwi_amount_of_cell(profile, cell);
    hwi_amount_add(&amounts[index_of(cell, grain)], &amount);
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

struct hwi_amount *hwi_amounts_by_scope(const struct hwi_profile *profile, const struct hwi_narrowing *filter)
{
  struct hwi_amount *amounts = calloc((size_t)profile->scope_count + 1, sizeof *amounts);
  if (amounts)
    sum_cells(amounts, profile, filter, BY_SCOPE);
  return amounts;
}

enum sort_key { KEY_FIRST_TIME, KEY_BYTES, KEY_COST };

static uint64_t sort_key(const struct hwi_selection *selection, const struct hwi_profile *profile, uint32_t stack,
                         enum sort_key key)
{
  switch (key) {
  case KEY_FIRST_TIME:
    return UINT64_MAX - profile->stacks[stack].first_ns;
  case KEY_BYTES:
    return selection->amounts[stack].bytes;
  default:
    return hwi_amount_cost(&selection->amounts[stack], selection->cost);
  }
}

/* Sorts by cost, the largest first. Stacks of equal cost are sorted by the bytes allocated in total, the most first, then
 * by their first call, then by number, so that each report has the same order; numbers alone would not do, since they are
 * given in the order in which threads are read, which is another while the program runs. The sort is stable, so that it
 * begins with the last of these. Returns false if there is no memory. */
static bool sort_stacks(struct hwi_selection *selection, const struct hwi_profile *profile)
{
  const uint32_t count = selection->stack_count;
  struct hwi_sort_item *items = hwi_table_calloc((size_t)count + 1, sizeof *items);
  bool done = items;
  for (uint32_t i = 0; i < count && done; i++)
    items[i].item = selection->stacks[i];
  for (enum sort_key key = KEY_FIRST_TIME; key <= KEY_COST && done; key++) {
    for (uint32_t i = 0; i < count; i++)
      items[i].key = sort_key(selection, profile, items[i].item, key);
    done = hwi_radix_sort(items, count);
  }
  for (uint32_t i = 0; i < count && done; i++)
    selection->stacks[i] = items[i].item;
  free(items);
  return done;
}

static void choose(struct hwi_selection *selection, const struct hwi_report *report,
                   const struct hwi_stack_filter *filter)
{
  const uint64_t min_calls = report->options.min_calls;
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
    /* 1, the default, keeps all stacks: blocks from before an interval have no call in it. */
    if (min_calls > 1 && amount->calls < min_calls) {
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
    selection->all = hwi_amount_of_run(profile);
  choose(selection, report, filter);
  if (sort_stacks(selection, profile))
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

/* --- classes of sizes --- */

void hwi_size_classes_of(struct hwi_size_classes *classes, const struct hwi_profile *profile)
{
  memset(classes, 0, sizeof *classes);
  for (uint32_t i = 0; i < profile->size_count; i++) {
    const struct hwi_size *size = &profile->sizes[i];
    const struct hwi_amount amount = {.calls = size->calls,
                                      .bytes = size->calls * size->size,
                                      .temporary_calls = size->temporary_calls,
                                      .live_blocks = size->live_blocks,
                                      .live_bytes = size->live_blocks * size->size,
                                      .peak_blocks = size->peak_blocks,
                                      .peak_bytes = size->peak_blocks * size->size,
                                      .peak_usable = size->peak_usable};
    hwi_amount_add(&classes->items[hwi_size_class(size->size)], &amount);
  }
}

uint64_t hwi_size_class_most(unsigned class)
{
  return class + 1 < HWI_SIZE_CLASSES ? UINT64_C(1) << (class + HWI_SMALLEST_CLASS_BITS) : UINT64_MAX;
}

uint64_t hwi_size_class_least(unsigned class)
{
  return class > 0 ? hwi_size_class_most(class - 1) + 1 : 0;
}
