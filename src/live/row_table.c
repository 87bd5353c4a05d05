/* row_table.c - the figures of what is live, by row
 *
 * All figures but the peak's are sums over the history's changes, each of which belongs to the row of its cell.
 */
#include "live/row_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/wide.h"
#include "live/row_names.h"

#define NO_ROW UINT32_MAX

/* --- rules --- */

static int take_rules(struct hwi_row_table *table, struct hwi_error *error)
{
  struct hwi_texts *only = &table->report.options.only;
  const struct hwi_live_question *question = table->question;
  *only = (struct hwi_texts){0};
  for (uint32_t i = 0; i < question->rule_count; i++) {
    if (hwi_live_rule_is_replaced(question, i))
      continue;
    if (strncmp(question->rules[i], HWI_LIVE_PID_RULE, strlen(HWI_LIVE_PID_RULE)) == 0)
      table->pid = (uint32_t)strtoul(question->rules[i] + strlen(HWI_LIVE_PID_RULE), NULL, 10);
    else
      only->items[only->count++] = question->rules[i];
  }
  return hwi_narrowing_init(&table->filter, &table->report, error);
}

uint32_t hwi_row_pid(const struct hwi_profile *profile, uint32_t image)
{
  return profile->images[image].info ? profile->images[image].info->header.pid : 0;
}

static bool is_of_process(const struct hwi_row_table *table, uint32_t thread)
{
  return table->pid == 0 || hwi_row_pid(table->profile, table->profile->threads[thread].image) == table->pid;
}

static bool keeps(const struct hwi_row_table *table, const struct hwi_profile_cell *cell)
{
  return (table->question->stack == 0 || table->question->stack == table->stack_keys[cell->stack]) &&
         is_of_process(table, cell->thread) && hwi_narrowing_keeps_cell(&table->filter, cell);
}

/* --- keys: they stay the same if the run is counted again, in which stacks may get other numbers --- */

static uint64_t mix(uint64_t key, uint64_t value)
{
  enum { FOLD = 29 };
  const uint64_t factor = UINT64_C(0x9e3779b97f4a7c15); /* 2^64 divided by the golden ratio: mixes all bits */
  key = (key ^ value) * factor;
  return key ^ key >> FOLD;
}

/* Returns false if there is no memory. */
static bool find_stack_keys(struct hwi_row_table *table)
{
  const struct hwi_profile *profile = table->profile;
  uint64_t *keys = calloc((size_t)profile->frame_count + 1, sizeof *keys); /* by frame, with its callers */
  table->stack_keys = calloc((size_t)profile->stack_count + 1, sizeof *table->stack_keys);
  for (uint32_t i = 1; i < profile->frame_count && keys; i++) { /* callers come first */
    const struct hwi_frame *frame = &profile->frames[i];
    keys[i] = mix(mix(keys[frame->caller], frame->address), (uint64_t)frame->cut << 8 | frame->entry);
  }
  for (uint32_t i = 1; i < profile->stack_count && keys && table->stack_keys; i++)
    table->stack_keys[i] = keys[profile->stacks[i].frame];
  const bool done = keys && table->stack_keys;
  free(keys);
  return done;
}

/* Returns the key of a thread's row, if rows are threads or processes. */
static uint64_t key_of_thread(const struct hwi_row_table *table, const struct hwi_profile_thread *thread)
{
  enum { PID_SHIFT = 32 };
  const uint64_t pid = hwi_row_pid(table->profile, thread->image);
  return table->question->by == HWI_LIVE_BY_PROCESS ? pid : pid << PID_SHIFT | thread->tid;
}

/* Returns the key of a cell's row; of a function's, function_row has it. */
static uint64_t key_of(const struct hwi_row_table *table, const struct hwi_profile_cell *cell)
{
  const struct hwi_profile *profile = table->profile;
  const uint64_t size = profile->sizes[cell->size].size;
  switch (table->question->by) {
  case HWI_LIVE_BY_THREAD:
  case HWI_LIVE_BY_PROCESS:
    return key_of_thread(table, &profile->threads[cell->thread]);
  case HWI_LIVE_BY_SIZE:
    return size;
  case HWI_LIVE_BY_CLASS:
    return hwi_size_class(size);
  default:
    return table->stack_keys[cell->stack];
  }
}

/* --- rows and their cells --- */

static size_t most_rows(const struct hwi_row_table *table)
{
  const struct hwi_profile *profile = table->profile;
  switch (table->question->by) {
  case HWI_LIVE_BY_THREAD:
    return profile->thread_count;
  case HWI_LIVE_BY_SIZE:
    return profile->size_count;
  case HWI_LIVE_BY_CLASS:
    return HWI_SIZE_CLASSES;
  case HWI_LIVE_BY_PROCESS:
    return profile->image_count;
  default:
    return (size_t)profile->stack_count + HWI_GROUP_LEFT_OUT + 1; /* as many functions as stacks at most */
  }
}

/* Returns the row of the function that requested the stack's memory; NO_ROW if there is no memory. */
static uint32_t function_row(struct hwi_row_table *table, uint32_t stack)
{
  uint32_t module, group = HWI_GROUP_UNKNOWN;
  const struct hwi_symbol *symbol = hwi_row_function(&table->frames, stack, &module);
  if (symbol) {
    const uint32_t member = hwi_group_table_find(&table->functions, symbol, module);
    if (member == 0)
      return NO_ROW;
    group = table->functions.members[member].group;
    table->rows[group].key = symbol->function ? (uintptr_t)symbol->function : symbol->start ^ (uint64_t)module << 32;
  }
  table->index_of_row[group] = stack;
  return group;
}

/* Returns the row of a cell, with its key set. */
static uint32_t find_row(struct hwi_row_table *table, const struct hwi_profile_cell *cell)
{
  const struct hwi_profile *profile = table->profile;
  uint32_t row = cell->stack;
  switch (table->question->by) {
  case HWI_LIVE_BY_FUNCTION:
    return function_row(table, cell->stack);
  case HWI_LIVE_BY_THREAD:
    row = cell->thread;
    break;
  case HWI_LIVE_BY_SIZE:
    row = cell->size;
    break;
  case HWI_LIVE_BY_CLASS:
    row = hwi_size_class(profile->sizes[cell->size].size);
    break;
  case HWI_LIVE_BY_PROCESS:
    row = profile->threads[cell->thread].image;
    break;
  default:
    break;
  }
  table->index_of_row[row] = row;
  table->rows[row].key = key_of(table, cell);
  return row;
}

/* Returns false if there is no memory. */
static bool place_cells(struct hwi_row_table *table)
{
  const struct hwi_profile *profile = table->profile;
  const size_t most = most_rows(table);
  table->rows = calloc(most + 1, sizeof *table->rows);
  table->index_of_row = calloc(most + 1, sizeof *table->index_of_row);
  table->row_of_cell = malloc(((size_t)profile->cell_count + 1) * sizeof *table->row_of_cell);
  bool done = table->rows && table->index_of_row && table->row_of_cell && find_stack_keys(table) &&
              hwi_group_table_init(&table->functions, HWI_BY_FUNCTION);
  const bool is_by_function = table->question->by == HWI_LIVE_BY_FUNCTION;
  uint32_t stack = 0, row = NO_ROW; /* cells are ordered by stack: a function is looked for once a stack */
  for (uint32_t i = 0; i < profile->cell_count && done; i++) {
    const struct hwi_profile_cell *cell = &profile->cells[i];
    table->row_of_cell[i] = NO_ROW;
    if (!keeps(table, cell))
      continue;
    if (!is_by_function || row == NO_ROW || cell->stack != stack)
      row = find_row(table, cell);
    stack = cell->stack;
    done = row != NO_ROW;
    table->row_of_cell[i] = row;
    if (done)
      table->rows[row].peak_bytes += cell->peak_blocks * profile->sizes[cell->size].size;
  }
  table->row_count = (uint32_t)most;
  return done;
}

/* --- along time --- */

static uint64_t saturated(uint64_t from, uint64_t less)
{
  return from > less ? from - less : 0;
}

static uint64_t counted_ns(const struct hwi_row_table *table)
{
  return saturated(table->profile->duration_ns, table->question->lag_ns);
}

/* Returns the last slice that begins at `ns` or before. */
static uint32_t slice_at(const struct hwi_profile *profile, uint64_t ns)
{
  uint32_t found = 0;
  for (uint32_t i = 1; i < profile->history_count && profile->history[i].slice.from_ns <= ns; i++)
    found = i;
  return found;
}

static void take_change(struct hwi_row_table *table, const struct hwi_cell_change *change, bool is_growth,
                        bool is_recent)
{
  const uint32_t index = table->row_of_cell[change->cell];
  if (index == NO_ROW)
    return;
  struct hwi_live_row *row = &table->rows[index];
  uint64_t ended = 0;
  for (int ending = 0; ending < HWI_ENDINGS; ending++)
    ended += change->ended[ending];
  const uint64_t blocks = change->calls - ended, /* modulo 2^64 */
      bytes = blocks * table->profile->sizes[table->profile->cells[change->cell].size].size;
  row->live_blocks += blocks;
  row->live_bytes += bytes;
  row->calls += change->calls;
  row->growth_bytes += is_growth ? (int64_t)bytes : 0;
  row->recent_growth_bytes += is_recent ? (int64_t)bytes : 0;
  row->recent_calls += is_recent ? change->calls : 0;
}

static void sum_changes(struct hwi_row_table *table)
{
  const struct hwi_profile *profile = table->profile;
  struct hwi_live_rows *head = &table->head;
  const uint64_t now_ns = counted_ns(table);
  const uint32_t recent = slice_at(profile, saturated(now_ns, HWI_LIVE_RECENT_NS));
  const uint32_t growth =
      slice_at(profile, table->question->since_ns == HWI_LIVE_NO_BEGIN ? saturated(now_ns, HWI_LIVE_GROWTH_NS)
                                                                       : table->question->since_ns);
  size_t at = 0;
  for (uint32_t i = 0; i < profile->history_count; i++) {
    const struct hwi_slice *slice = &profile->history[i].slice;
    head->recent_calls += i >= recent ? slice->allocation_calls : 0;
    head->recent_frees += i >= recent ? slice->free_calls : 0;
    for (; at < profile->history[i].changes_end; at++)
      take_change(table, &profile->changes[at], i >= growth, i >= recent);
  }
  head->recent_ns = saturated(now_ns, profile->history[recent].slice.from_ns);
  head->growth_ns = saturated(now_ns, profile->history[growth].slice.from_ns);
}

/* In a sample, all calls of each whole thread may be known, also of those without a block in the sample. */
static void take_exact_calls(struct hwi_row_table *table)
{
  const struct hwi_profile *profile = table->profile;
  const bool is_by_process = table->question->by == HWI_LIVE_BY_PROCESS;
  table->knows_calls = profile->sample_bytes && profile->calls_are_exact && table->question->stack == 0 &&
                       (is_by_process || table->question->by == HWI_LIVE_BY_THREAD) &&
                       !hwi_narrowing_splits_threads(&table->filter);
  for (uint32_t i = 0; i < table->row_count && table->knows_calls; i++)
    table->rows[i].calls = 0;
  for (uint32_t i = 0; i < profile->thread_count && table->knows_calls; i++) {
    const struct hwi_profile_thread *thread = &profile->threads[i];
    const uint32_t row = is_by_process ? thread->image : i;
    if (!is_of_process(table, i) || !hwi_narrowing_keeps_thread(&table->filter, i))
      continue;
    table->index_of_row[row] = row;
    table->rows[row].key = key_of_thread(table, thread);
    table->rows[row].calls += thread->allocation_calls;
  }
}

/* The most that was live in each part of the run, as far as it was counted. */
void hwi_row_table_chart(const struct hwi_row_table *table, uint64_t *chart, uint32_t count)
{
  const struct hwi_profile *profile = table->profile;
  const uint64_t whole_ns = profile->duration_ns + 1;
  for (uint32_t i = 0; i < profile->history_count; i++) {
    const struct hwi_slice *slice = &profile->history[i].slice;
    const uint64_t end_ns = i + 1 < profile->history_count ? profile->history[i + 1].slice.from_ns : counted_ns(table);
    const uint64_t from = hwi_wide_share(slice->from_ns, count, 0, whole_ns),
                   to = hwi_wide_share(end_ns, count, 0, whole_ns);
    for (uint64_t part = from; part <= to && part < count; part++)
      chart[part] = chart[part] > slice->max_bytes ? chart[part] : slice->max_bytes;
  }
}

/* --- the order --- */

static int64_t value_of(const struct hwi_live_row *row, uint32_t column)
{
  switch (column) {
  case HWI_LIVE_BYTES:
    return (int64_t)row->live_bytes;
  case HWI_LIVE_BLOCKS:
    return (int64_t)row->live_blocks;
  case HWI_LIVE_GROWTH:
    return row->growth_bytes;
  case HWI_LIVE_GROWTH_RATE:
    return row->recent_growth_bytes;
  case HWI_LIVE_CALL_RATE:
    return (int64_t)row->recent_calls;
  case HWI_LIVE_CALLS:
    return (int64_t)row->calls;
  default:
    return (int64_t)row->peak_bytes;
  }
}

/* Rows that are equal in the column are ordered by their live bytes, so that the order does not change by chance. */
static int compare_rows(const void *left, const void *right, void *context)
{
  const struct hwi_row_table *table = context;
  const uint32_t i = *(const uint32_t *)left, k = *(const uint32_t *)right;
  const struct hwi_live_row *a = &table->rows[i], *b = &table->rows[k];
  int64_t value_a = value_of(a, table->question->sort), value_b = value_of(b, table->question->sort);
  if (value_a == value_b) {
    value_a = (int64_t)a->live_bytes;
    value_b = (int64_t)b->live_bytes;
  }
  if (value_a != value_b)
    return value_a > value_b ? -1 : 1;
  return i < k ? -1 : i > k;
}

/* A row whose calls are known exactly may have live blocks that are not in the sample. */
static bool is_nothing(const struct hwi_row_table *table, const struct hwi_live_row *row)
{
  return row->live_blocks == 0 && row->peak_bytes == 0 && row->growth_bytes == 0 && row->recent_calls == 0 &&
         !(table->knows_calls && row->calls > 0);
}

/* Orders the rows that are not empty. Returns false if there is no memory. */
static bool order_rows(struct hwi_row_table *table)
{
  uint32_t count = 0;
  table->order = malloc(((size_t)table->row_count + 1) * sizeof *table->order);
  for (uint32_t i = 0; i < table->row_count && table->order; i++) {
    if (is_nothing(table, &table->rows[i]))
      continue;
    table->order[count++] = i;
    table->head.kept_bytes += table->rows[i].live_bytes;
    table->head.kept_blocks += table->rows[i].live_blocks;
  }
  if (table->order)
    qsort_r(table->order, count, sizeof *table->order, compare_rows, table);
  table->head.all_rows = count;
  table->head.row_count = count < table->question->row_count ? count : table->question->row_count;
  return table->order;
}

/* --- the whole --- */

int hwi_row_table_init(struct hwi_row_table *table, const struct hwi_report *report,
                       const struct hwi_live_question *question, struct hwi_error *error)
{
  *table = (struct hwi_row_table){.profile = report->profile, .question = question, .report = *report};
  int status = hwi_named_frames_init(&table->frames, report, error);
  if (status == 0)
    status = take_rules(table, error);
  if (status < 0)
    return status;
  if (!place_cells(table))
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory for what is live");
  sum_changes(table);
  take_exact_calls(table);
  return order_rows(table) ? 0 : hwi_error_set(error, HW_ERR_MEMORY, "no memory for what is live");
}

void hwi_row_table_release(struct hwi_row_table *table)
{
  free(table->order);
  free(table->rows);
  free(table->index_of_row);
  free(table->row_of_cell);
  free(table->stack_keys);
  hwi_group_table_release(&table->functions);
  hwi_named_frames_release(&table->frames);
  hwi_narrowing_release(&table->filter);
}
