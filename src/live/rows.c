/* rows.c - what is live, row by row, and what it does along time: the document that a terminal shows
 *
 * All figures but the peak's are sums over the history's changes, each of which belongs to the row of its cell.
 */
#include "live/rows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "live/row_names.h"
#include "page/rss.h"
#include "report/content/evidence.h"
#include "report/content/group_table.h"
#include "report/names/stack_label.h"
#include "report/selection/selection.h"

static const char pid_rule[] = "pid=";
enum { PID_RULE_BYTES = sizeof pid_rule - 1 };
#define NO_ROW UINT32_MAX

struct table {
  const struct hwi_profile *profile;
  const struct hwi_live_question *question;
  struct hwi_report report; /* with the rules */
  struct hwi_narrowing filter;
  uint32_t pid; /* of a rule; 0: none */
  struct hwi_named_frames frames;
  struct hwi_group_table functions;
  struct hwi_live_row *rows;
  uint32_t *index_of_row; /* of its thread, size, image, or one of its stacks, in the profile's list; or the class */
  uint32_t *row_of_cell;
  uint64_t *stack_keys; /* by stack */
  uint32_t row_count;
  uint64_t *lines;
  struct hwi_live_rows head;
  struct hwi_line texts;
};

static int no_memory(struct hwi_error *error)
{
  return hwi_error_set(error, HW_ERR_MEMORY, "no memory for what is live");
}

/* --- rules --- */

static size_t kind_bytes(const char *rule)
{
  return strcspn(rule, "=");
}

bool hwi_live_rule_is_replaced(const struct hwi_live_question *question, uint32_t rule)
{
  for (uint32_t i = rule + 1; i < question->rule_count; i++)
    if (kind_bytes(question->rules[i]) == kind_bytes(question->rules[rule]) &&
        memcmp(question->rules[i], question->rules[rule], kind_bytes(question->rules[i])) == 0)
      return true;
  return false;
}

static int take_rules(struct table *table, struct hwi_error *error)
{
  struct hwi_texts *only = &table->report.options.only;
  const struct hwi_live_question *question = table->question;
  *only = (struct hwi_texts){0};
  for (uint32_t i = 0; i < question->rule_count; i++) {
    if (hwi_live_rule_is_replaced(question, i))
      continue;
    if (strncmp(question->rules[i], pid_rule, PID_RULE_BYTES) == 0)
      table->pid = (uint32_t)strtoul(question->rules[i] + PID_RULE_BYTES, NULL, 10);
    else
      only->items[only->count++] = question->rules[i];
  }
  return hwi_narrowing_init(&table->filter, &table->report, error);
}

static uint32_t pid_of(const struct hwi_profile *profile, uint32_t image)
{
  return profile->images[image].info ? profile->images[image].info->header.pid : 0;
}

static bool is_of_process(const struct table *table, uint32_t thread)
{
  return table->pid == 0 || pid_of(table->profile, table->profile->threads[thread].image) == table->pid;
}

static bool keeps(const struct table *table, const struct hwi_profile_cell *cell)
{
  return (table->question->stack == 0 || table->question->stack == cell->stack) && is_of_process(table, cell->thread) &&
         hwi_narrowing_keeps_cell(&table->filter, cell);
}

static uint64_t add_text(struct table *table, const char *text)
{
  const uint64_t off = table->texts.bytes;
  hwi_line_add(&table->texts, text, strlen(text) + 1);
  return off;
}

static void remark(struct table *table)
{
  struct hwi_line line = {0};
  for (uint32_t i = 0; i < table->filter.rule_count && line.bytes == 0; i++)
    if (!table->filter.rules[i].name.matched)
      hwi_narrowing_explain(&line, &table->filter.rules[i], "this run");
  table->head.remark_off = add_text(table, hwi_line_text(&line));
  hwi_line_release_part(&table->texts, &line);
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
static bool find_stack_keys(struct table *table)
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

/* Returns the key of a cell's row; of a function's, function_row has it. */
static uint64_t key_of(const struct table *table, const struct hwi_profile_cell *cell)
{
  enum { PID_SHIFT = 32 };
  const struct hwi_profile *profile = table->profile;
  const struct hwi_profile_thread *thread = &profile->threads[cell->thread];
  const uint64_t size = profile->sizes[cell->size].size;
  switch (table->question->by) {
  case HWI_LIVE_BY_THREAD:
    return (uint64_t)pid_of(profile, thread->image) << PID_SHIFT | thread->tid;
  case HWI_LIVE_BY_SIZE:
    return size;
  case HWI_LIVE_BY_CLASS:
    return hwi_size_class(size);
  case HWI_LIVE_BY_PROCESS:
    return pid_of(profile, thread->image);
  default:
    return table->stack_keys[cell->stack];
  }
}

/* --- rows and their cells --- */

static size_t most_rows(const struct table *table)
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
static uint32_t function_row(struct table *table, uint32_t stack)
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
static uint32_t find_row(struct table *table, const struct hwi_profile_cell *cell)
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
static bool place_cells(struct table *table)
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

static uint64_t counted_ns(const struct table *table)
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

static void take_change(struct table *table, const struct hwi_cell_change *change, bool is_growth, bool is_recent)
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

static void sum_changes(struct table *table)
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

/* The most that was live in each part of the run, as far as it was counted. */
static void fill_chart(const struct table *table, uint64_t *chart, uint32_t count)
{
  const struct hwi_profile *profile = table->profile;
  const uint64_t whole_ns = profile->duration_ns + 1;
  for (uint32_t i = 0; i < profile->history_count; i++) {
    const struct hwi_slice *slice = &profile->history[i].slice;
    const uint64_t end_ns = i + 1 < profile->history_count ? profile->history[i + 1].slice.from_ns : counted_ns(table);
    const uint64_t from = (uint64_t)((unsigned __int128)slice->from_ns * count / whole_ns),
                   to = (uint64_t)((unsigned __int128)end_ns * count / whole_ns);
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
  const struct table *table = context;
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

static bool is_nothing(const struct hwi_live_row *row)
{
  return row->live_blocks == 0 && row->peak_bytes == 0 && row->growth_bytes == 0 && row->recent_calls == 0;
}

/* Returns the rows that are not empty, in their order; NULL if there is no memory. The caller frees the list. */
static uint32_t *order_rows(struct table *table)
{
  uint32_t *order = malloc(((size_t)table->row_count + 1) * sizeof *order), count = 0;
  for (uint32_t i = 0; i < table->row_count && order; i++) {
    if (is_nothing(&table->rows[i]))
      continue;
    order[count++] = i;
    table->head.kept_bytes += table->rows[i].live_bytes;
    table->head.kept_blocks += table->rows[i].live_blocks;
  }
  if (order)
    qsort_r(order, count, sizeof *order, compare_rows, table);
  table->head.all_rows = count;
  table->head.row_count = count < table->question->row_count ? count : table->question->row_count;
  return order;
}

/* --- names --- */

static struct hwi_row_names names_of(struct table *table)
{
  return (struct hwi_row_names){&table->frames, table->question, table->question->has_utf8 ? "…" : "..."};
}

static void add_rule(struct table *table, struct hwi_line *rule, uint32_t index)
{
  const struct hwi_profile *profile = table->profile;
  const struct hwi_symbol *symbol;
  uint32_t module;
  switch (table->question->by) {
  case HWI_LIVE_BY_FUNCTION:
    symbol = hwi_row_function(&table->frames, index, &module);
    if (symbol && symbol->function)
      hwi_line_printf(rule, "func=%s", symbol->function);
    break;
  case HWI_LIVE_BY_THREAD:
    hwi_line_printf(rule, "thread=%" PRIu32, profile->threads[index].tid);
    break;
  case HWI_LIVE_BY_SIZE:
    hwi_line_printf(rule, "size=%" PRIu64, profile->sizes[index].size);
    break;
  case HWI_LIVE_BY_CLASS:
    hwi_line_printf(rule, "size=%" PRIu64 "..%" PRIu64, hwi_size_class_least(index), hwi_size_class_most(index));
    break;
  case HWI_LIVE_BY_PROCESS:
    hwi_line_printf(rule, "%s%" PRIu32, pid_rule, pid_of(profile, index));
    break;
  default:
    break;
  }
}

static void add_name(struct table *table, struct hwi_line *name, uint32_t index, size_t cells)
{
  const struct hwi_row_names names = names_of(table);
  switch (table->question->by) {
  case HWI_LIVE_BY_FUNCTION:
    hwi_row_function_add(name, &names, index, cells);
    break;
  case HWI_LIVE_BY_THREAD:
    hwi_row_thread_add(name, &names, index, cells);
    break;
  case HWI_LIVE_BY_SIZE:
    hwi_row_size_add(name, table->profile->sizes[index].size);
    break;
  case HWI_LIVE_BY_CLASS:
    hwi_row_class_add(name, index);
    break;
  default:
    hwi_row_process_add(name, &names, &table->profile->images[index], cells);
    break;
  }
}

/* Returns the stacks' names, which differ; NULL if there is no memory. The caller frees the list. */
static struct hwi_stack_label *label_stacks(struct table *table, const uint32_t *order, size_t cells)
{
  const struct hwi_row_names names = names_of(table);
  const struct hwi_stack_label_words words = {&table->frames, names.ellipsis};
  struct hwi_stack_label *labels = calloc((size_t)table->head.row_count + 1, sizeof *labels);
  for (uint32_t i = 0; i < table->head.row_count && labels; i++)
    labels[i] = (struct hwi_stack_label){.stack = order[i], .cells = cells};
  if (labels && hwi_stack_labels_distinguish(&words, labels, table->head.row_count))
    return labels;
  free(labels);
  return NULL;
}

static uint64_t add_label(struct table *table, const struct hwi_stack_label *label)
{
  const struct hwi_row_names names = names_of(table);
  const struct hwi_stack_label_words words = {&table->frames, names.ellipsis};
  struct hwi_line name = {0};
  hwi_stack_label_add(&name, &words, label);
  const uint64_t off = add_text(table, hwi_line_text(&name));
  hwi_line_release_part(&table->texts, &name);
  return off;
}

/* Returns false if there is no memory. */
static bool name_stacks(struct table *table, const uint32_t *order)
{
  const uint64_t none = add_text(table, "");
  struct hwi_stack_label *labels = label_stacks(table, order, table->question->cells),
                         *full = label_stacks(table, order, table->question->width);
  for (uint32_t i = 0; i < table->head.row_count && labels && full; i++) {
    struct hwi_live_row *row = &table->rows[order[i]];
    row->name_off = add_label(table, &labels[i]);
    row->full_off = add_label(table, &full[i]);
    row->rule_off = none;
  }
  const bool done = labels && full;
  free(labels);
  free(full);
  return done;
}

static void name_row(struct table *table, uint32_t row, struct hwi_line *line)
{
  const uint32_t index = table->index_of_row[row];
  hwi_line_clear(line);
  add_name(table, line, index, table->question->cells);
  table->rows[row].name_off = add_text(table, hwi_line_text(line));
  hwi_line_clear(line);
  add_name(table, line, index, table->question->width);
  table->rows[row].full_off = add_text(table, hwi_line_text(line));
  hwi_line_clear(line);
  add_rule(table, line, index);
  table->rows[row].rule_off = add_text(table, line->bytes < HWI_LIVE_RULE_BYTES ? hwi_line_text(line) : "");
}

static bool name_rows(struct table *table, const uint32_t *order)
{
  if (table->question->by == HWI_LIVE_BY_STACK)
    return name_stacks(table, order);
  struct hwi_line line = {0};
  for (uint32_t i = 0; i < table->head.row_count; i++)
    name_row(table, order[i], &line);
  hwi_line_release_part(&table->texts, &line);
  return true;
}

/* Returns false if there is no memory. */
static bool add_frames(struct table *table)
{
  const struct hwi_row_names names = names_of(table);
  struct hwi_line line = {0};
  uint32_t stack = 1;
  while (stack < table->profile->stack_count && table->stack_keys[stack] != table->question->stack)
    stack++;
  if (table->question->stack == 0 || stack >= table->profile->stack_count)
    return true;
  if (hwi_named_frames_load(&table->frames, stack, NULL) < 0)
    return false;
  table->lines = calloc((size_t)table->frames.count + 1, sizeof *table->lines);
  for (uint32_t i = 0; i < table->frames.count && table->lines; i++) {
    hwi_line_clear(&line);
    hwi_row_frame_add(&line, &names, &table->frames.items[i]);
    table->lines[table->head.line_count++] = add_text(table, hwi_line_text(&line));
  }
  hwi_line_release_part(&table->texts, &line);
  return table->lines;
}

/* --- the head --- */

static void note_silence(void *context, const struct hwi_silence *silence)
{
  *(bool *)context |= silence->to_ns == UINT64_MAX;
}

static void count_processes(struct table *table)
{
  struct hwi_live_rows *head = &table->head;
  for (uint32_t i = 0; i < table->profile->image_count; i++) {
    const struct hwi_image *image = &table->profile->images[i];
    bool is_off = false;
    if (!image->counted)
      continue;
    if (!image->info->being_written) {
      head->ended_count++;
      continue;
    }
    head->process_count++;
    hwi_evidence_silences(image->info, note_silence, &is_off);
    head->is_off |= is_off;
  }
}

static void fill_head(struct table *table)
{
  const struct hwi_profile *profile = table->profile;
  struct hwi_live_rows *head = &table->head;
  const struct hwi_slice *now = &profile->history[profile->history_count - 1].slice;
  struct hwi_page_rss rss;
  uint32_t counted;
  const struct hwi_image *image = hwi_head_image(profile, &counted);
  hwi_page_rss_init(&rss, profile);
  count_processes(table);
  head->duration_ns = profile->duration_ns;
  head->question = *table->question;
  head->live_bytes = now->live_bytes;
  head->live_blocks = now->live_blocks;
  head->peak_bytes = profile->totals.peak_bytes;
  head->calls = profile->totals.allocation_calls;
  head->rss_bytes = rss.count > 0 ? rss.points[rss.count - 1].rss_bytes : 0;
  head->thread_count = profile->thread_count;
  head->pid = image ? image->info->header.pid : 0;
  struct hwi_line command = {0};
  if (image)
    hwi_line_clean(&command, image->info->command && *image->info->command != '\0' ? image->info->command
                             : image->info->exe                                    ? image->info->exe
                                                                                   : "");
  head->command_off = add_text(table, hwi_line_text(&command));
  hwi_line_release_part(&table->texts, &command);
}

/* --- the document --- */

static void write_table(struct table *table, const uint32_t *order, FILE *out)
{
  uint64_t chart[HWI_LIVE_CHART_MAX] = {0};
  struct hwi_live_rows *head = &table->head;
  head->chart_count =
      table->question->chart_count < HWI_LIVE_CHART_MAX ? table->question->chart_count : HWI_LIVE_CHART_MAX;
  if (head->chart_count > 0)
    fill_chart(table, chart, head->chart_count);
  fwrite(head, sizeof *head, 1, out);
  for (uint32_t i = 0; i < head->row_count; i++)
    fwrite(&table->rows[order[i]], sizeof *table->rows, 1, out);
  fwrite(chart, sizeof *chart, head->chart_count, out);
  if (head->line_count > 0)
    fwrite(table->lines, sizeof *table->lines, head->line_count, out);
  fwrite(table->texts.text, 1, table->texts.bytes, out);
}

static void release(struct table *table, uint32_t *order)
{
  free(order);
  free(table->lines);
  free(table->rows);
  free(table->index_of_row);
  free(table->row_of_cell);
  free(table->stack_keys);
  hwi_group_table_release(&table->functions);
  hwi_named_frames_release(&table->frames);
  hwi_narrowing_release(&table->filter);
  hwi_line_release(&table->texts);
}

int hwi_live_rows_write(const struct hwi_report *report, const struct hwi_live_question *question, FILE *out,
                        struct hwi_error *error)
{
  struct table table = {.profile = report->profile, .question = question, .report = *report};
  uint32_t *order = NULL;
  int status = hwi_named_frames_init(&table.frames, report, error);
  if (status == 0)
    status = take_rules(&table, error);
  if (status == 0 && !place_cells(&table))
    status = no_memory(error);
  if (status == 0) {
    fill_head(&table);
    remark(&table);
    sum_changes(&table);
    order = order_rows(&table);
    if (!order || !name_rows(&table, order) || !add_frames(&table) || table.texts.failed)
      status = no_memory(error);
  }
  if (status == 0)
    write_table(&table, order, out);
  release(&table, order);
  return status;
}
