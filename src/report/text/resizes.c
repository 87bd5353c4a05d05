/* resizes.c - how blocks grow: stacks whose blocks replaced smaller or larger ones, the most copied bytes first */
#define _GNU_SOURCE
#include <stdlib.h>

#include "report/content/duplicate_stacks.h"
#include "report/text/text.h"
#include "trace/table.h"

enum { COUNT_CELLS = 11, BECAME_CELLS = 13, GAP_CELLS = 3 };

/* The selection's stacks that have resizes, and their groups of duplicate stacks. */
struct rows {
  uint32_t *stacks, stack_count;          /* by rank */
  const struct hwi_stack_resizes **items; /* by stack; NULL: it has none */
  struct hwi_duplicates duplicates;
};

static int compare_stacks(const void *left, const void *right, void *context)
{
  const struct rows *rows = context;
  const struct hwi_stack_resizes *a = rows->items[*(const uint32_t *)left], *b = rows->items[*(const uint32_t *)right];
  if (a->steps.copied_bytes != b->steps.copied_bytes)
    return a->steps.copied_bytes > b->steps.copied_bytes ? -1 : 1;
  if (a->steps.steps != b->steps.steps)
    return a->steps.steps > b->steps.steps ? -1 : 1;
  return a->stack < b->stack ? -1 : a->stack > b->stack;
}

static uint64_t copied_by(const void *context, uint32_t stack)
{
  return ((const struct rows *)context)->items[stack]->steps.copied_bytes;
}

/* The caller releases `rows`, also after a failure. */
static int choose(struct rows *rows, const struct hwi_text *text, const struct hwi_selection *selection,
                  struct hwi_named_frames *frames, struct hwi_error *error)
{
  const struct hwi_profile *profile = text->profile;
  *rows = (struct rows){.stacks = calloc((size_t)profile->resize_count + 1, sizeof *rows->stacks),
                        .items = hwi_table_calloc((size_t)profile->stack_count + 1, sizeof *rows->items)};
  if (!rows->stacks || !rows->items)
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory for %u stacks", profile->stack_count);
  for (uint32_t i = 0; i < profile->resize_count; i++) {
    uint32_t stack = profile->resizes[i].stack;
    if (hwi_amount_is_nothing(&selection->amounts[stack]))
      continue;
    rows->items[stack] = &profile->resizes[i];
    rows->stacks[rows->stack_count++] = stack;
  }
  if (rows->stack_count > 1)
    qsort_r(rows->stacks, rows->stack_count, sizeof *rows->stacks, compare_stacks, rows);
  const struct hwi_duplicates_ranking ranking = {
      .stacks = rows->stacks, .count = rows->stack_count, .cost = copied_by, .context = rows};
  return hwi_duplicates_init(&rows->duplicates, frames, &ranking, hwi_text_rows(text, rows->stack_count), error);
}

static void release(struct rows *rows)
{
  hwi_duplicates_release(&rows->duplicates);
  free(rows->stacks);
  free(rows->items);
}

/* Returns the sum of a group's stacks; the median is that of the stack with the most final blocks. */
static struct hwi_stack_resizes row_of(const struct rows *rows, size_t number)
{
  const struct hwi_duplicates_group *group = &rows->duplicates.groups[number];
  struct hwi_stack_resizes row = {.stack = group->stacks[0]};
  uint64_t most = 0;
  for (uint32_t i = 0; i < group->count; i++) {
    const struct hwi_stack_resizes *item = rows->items[group->stacks[i]];
    row.estimated |= item->estimated;
    row.steps.steps += item->steps.steps;
    row.steps.moved += item->steps.moved;
    row.steps.copied_bytes += item->steps.copied_bytes;
    row.final_blocks += item->final_blocks;
    row.final_median = item->final_blocks > most ? item->final_median : row.final_median;
    row.final_largest = item->final_largest > row.final_largest ? item->final_largest : row.final_largest;
    most = item->final_blocks > most ? item->final_blocks : most;
  }
  return row;
}

static void print_titles(struct hwi_text *text)
{
  hwi_line_right(&text->line, "steps", HWI_RANK_CELLS - 1 + COUNT_CELLS);
  hwi_line_right(&text->line, "moved", COUNT_CELLS);
  hwi_line_right(&text->line, "copied", COUNT_CELLS);
  hwi_line_right(&text->line, "blocks", COUNT_CELLS);
  hwi_line_right(&text->line, "became mostly", BECAME_CELLS + 1);
  hwi_line_right(&text->line, "at most", COUNT_CELLS);
  hwi_text_end(text, HWI_DIM);
}

enum { FIGURE_CELLS = HWI_RANK_CELLS - 1 + 5 * COUNT_CELLS + BECAME_CELLS + 1 };
static const char estimated_mark[] = " (estimate)";

static void add_figures(struct hwi_text *text, const struct hwi_stack_resizes *row, uint64_t rank)
{
  hwi_line_right(&text->line, hwi_count_text(rank).text, HWI_RANK_CELLS - 1);
  hwi_line_right(&text->line, hwi_count_text(row->steps.steps).text, COUNT_CELLS);
  hwi_line_right(&text->line, hwi_count_text(row->steps.moved).text, COUNT_CELLS);
  hwi_line_right(&text->line, hwi_bytes_text(row->steps.copied_bytes).text, COUNT_CELLS);
  hwi_line_right(&text->line, hwi_count_text(row->final_blocks).text, COUNT_CELLS);
  bool has_final = row->final_blocks > 0; /* else other stacks' blocks replaced all of them */
  hwi_line_right(&text->line, has_final ? hwi_bytes_text(row->final_median).text : "", BECAME_CELLS + 1);
  hwi_line_right(&text->line, has_final ? hwi_bytes_text(row->final_largest).text : "", COUNT_CELLS);
}

static void print_shown(struct hwi_text *text, struct hwi_named_frames *frames, const struct rows *rows)
{
  const size_t count = rows->duplicates.count;
  struct hwi_row_names names = {calloc(count + 1, sizeof *names.labels), (uint32_t)count, FIGURE_CELLS + GAP_CELLS,
                                HWI_RANK_CELLS + GAP_CELLS};
  bool is_any_estimated = false;
  if (!names.labels) {
    text->line.failed = true;
    return;
  }
  for (size_t number = 0; number < count; number++) {
    const struct hwi_stack_resizes row = row_of(rows, number);
    names.labels[number].stack = row.stack;
    is_any_estimated |= row.estimated;
  }
  if (is_any_estimated)
    names.used_in_row += sizeof estimated_mark - 1, names.used_below += sizeof estimated_mark - 1;
  bool is_in_row = hwi_text_place_names(text, frames, &names);
  for (size_t number = 0; number < count; number++) {
    const struct hwi_stack_resizes row = row_of(rows, number);
    add_figures(text, &row, number + 1);
    hwi_text_go_to_name(text, is_in_row, GAP_CELLS);
    hwi_text_stack_label(text, frames, &names.labels[number]);
    hwi_line_puts(&text->line, row.estimated ? estimated_mark : "");
    hwi_text_end(text, HWI_PLAIN);
  }
  free(names.labels);
}

static void print_rest(struct hwi_text *text, const struct rows *rows)
{
  uint64_t steps = 0, copied = 0;
  for (uint32_t i = 0; i < rows->stack_count; i++) {
    steps += rows->items[rows->stacks[i]]->steps.steps;
    copied += rows->items[rows->stacks[i]]->steps.copied_bytes;
  }
  for (size_t number = 0; number < rows->duplicates.count; number++) {
    const struct hwi_stack_resizes row = row_of(rows, number);
    steps -= row.steps.steps;
    copied -= row.steps.copied_bytes;
  }
  if (rows->duplicates.stack_count == rows->stack_count)
    return;
  hwi_line_right(&text->line, hwi_count_text(steps).text, HWI_RANK_CELLS - 1 + COUNT_CELLS);
  hwi_line_right(&text->line, hwi_bytes_text(copied).text, 2 * COUNT_CELLS);
  hwi_line_puts(&text->line, "   ");
  hwi_text_rest(text, rows->stack_count - rows->duplicates.stack_count, "stack");
  hwi_text_end(text, HWI_PLAIN);
}

int hwi_text_resizes(struct hwi_text *text, const struct hwi_selection *selection, struct hwi_named_frames *frames,
                     struct hwi_error *error)
{
  struct rows rows;
  hwi_text_heading(text, "How blocks grow: realloc, and containers (an estimate)", "");
  hwi_text_filter(text, selection);
  if (text->profile->sample_bytes) {
    hwi_line_puts(&text->line, "      not known: a sampled recording rarely has both blocks; record without --sample");
    hwi_text_end(text, HWI_PLAIN);
    return HW_OK;
  }
  int status = choose(&rows, text, selection, frames, error);
  if (status == HW_OK && rows.stack_count > 0) {
    print_titles(text);
    print_shown(text, frames, &rows);
    print_rest(text, &rows);
  } else if (status == HW_OK) {
    hwi_text_none(text);
  }
  release(&rows);
  return status;
}
