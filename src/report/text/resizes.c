/* resizes.c - how blocks grow: stacks whose blocks took over from smaller or larger ones, what that copied most first */
#define _GNU_SOURCE
#include <stdlib.h>

#include "report/text/text.h"

enum { COUNT_CELLS = 11, BECAME_CELLS = 13, GAP_CELLS = 3, NAME_MIN = 20 };

/* The selection's stacks that have any. */
struct rows {
  const struct hwi_stack_resizes **items;
  uint32_t count;
};

static int compare_rows(const void *left, const void *right)
{
  const struct hwi_stack_resizes *a = *(const struct hwi_stack_resizes *const *)left;
  const struct hwi_stack_resizes *b = *(const struct hwi_stack_resizes *const *)right;
  if (a->steps.copied_bytes != b->steps.copied_bytes)
    return a->steps.copied_bytes > b->steps.copied_bytes ? -1 : 1;
  if (a->steps.steps != b->steps.steps)
    return a->steps.steps > b->steps.steps ? -1 : 1;
  return a->stack < b->stack ? -1 : a->stack > b->stack;
}

static bool choose(struct rows *rows, const struct hwi_profile *profile, const struct hwi_selection *selection)
{
  rows->count = 0;
  rows->items = calloc((size_t)profile->resize_count + 1, sizeof *rows->items);
  for (uint32_t i = 0; i < profile->resize_count && rows->items != NULL; i++) {
    if (!hwi_amount_is_nothing(&selection->amounts[profile->resizes[i].stack]))
      rows->items[rows->count++] = &profile->resizes[i];
  }
  if (rows->count > 1)
    qsort(rows->items, rows->count, sizeof *rows->items, compare_rows);
  return rows->items != NULL;
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

/* The cells for a row's name beside its figures. */
static size_t room_beside(const struct hwi_text *text, const struct hwi_stack_resizes *row)
{
  size_t used = FIGURE_CELLS + GAP_CELLS + (row->estimated ? sizeof estimated_mark - 1 : 0);
  return text->style->columns > used ? text->style->columns - used : 0;
}

static struct hwi_who who_of(const struct hwi_text *text, const struct hwi_stack_resizes *row)
{
  size_t room = room_beside(text, row), used = HWI_RANK_CELLS + GAP_CELLS;
  if (row->estimated)
    used += sizeof estimated_mark - 1;
  return (struct hwi_who){.stack = row->stack, .cells = room < NAME_MIN ? text->style->columns - used : room};
}

static void print_row(struct hwi_text *text, struct hwi_named_frames *frames, const struct hwi_stack_resizes *row,
                      const struct hwi_who *who, uint64_t rank)
{
  hwi_line_right(&text->line, hwi_count_text(rank).text, HWI_RANK_CELLS - 1);
  hwi_line_right(&text->line, hwi_count_text(row->steps.steps).text, COUNT_CELLS);
  hwi_line_right(&text->line, hwi_count_text(row->steps.moved).text, COUNT_CELLS);
  hwi_line_right(&text->line, hwi_bytes_text(row->steps.copied_bytes).text, COUNT_CELLS);
  hwi_line_right(&text->line, hwi_count_text(row->final_blocks).text, COUNT_CELLS);
  bool has_final = row->final_blocks > 0; /* else all of them became other stacks' */
  hwi_line_right(&text->line, has_final ? hwi_bytes_text(row->final_median).text : "", BECAME_CELLS + 1);
  hwi_line_right(&text->line, has_final ? hwi_bytes_text(row->final_largest).text : "", COUNT_CELLS);
  if (room_beside(text, row) < NAME_MIN) { /* the name goes below its figures */
    hwi_text_end(text, HWI_PLAIN);
    hwi_line_pad(&text->line, HWI_RANK_CELLS + GAP_CELLS);
  } else {
    hwi_line_repeat(&text->line, " ", GAP_CELLS);
  }
  hwi_text_who(text, frames, who);
  hwi_line_puts(&text->line, row->estimated ? estimated_mark : "");
  hwi_text_end(text, HWI_PLAIN);
}

static void print_shown(struct hwi_text *text, struct hwi_named_frames *frames, const struct rows *rows, uint64_t shown)
{
  struct hwi_who *whos = calloc((size_t)shown + 1, sizeof *whos);
  if (whos == NULL) {
    text->line.failed = true;
    return;
  }
  for (uint64_t row = 0; row < shown; row++)
    whos[row] = who_of(text, rows->items[row]);
  hwi_text_tell_apart(text, frames, whos, (uint32_t)shown);
  for (uint64_t row = 0; row < shown; row++)
    print_row(text, frames, rows->items[row], &whos[row], row + 1);
  free(whos);
}

static void print_rest(struct hwi_text *text, const struct rows *rows, uint64_t shown)
{
  uint64_t steps = 0, copied = 0;
  for (uint64_t i = shown; i < rows->count; i++) {
    steps += rows->items[i]->steps.steps;
    copied += rows->items[i]->steps.copied_bytes;
  }
  if (shown == rows->count)
    return;
  hwi_line_right(&text->line, hwi_count_text(steps).text, HWI_RANK_CELLS - 1 + COUNT_CELLS);
  hwi_line_right(&text->line, hwi_bytes_text(copied).text, 2 * COUNT_CELLS);
  hwi_line_puts(&text->line, "   ");
  hwi_text_rest(text, rows->count - shown, "stack");
  hwi_text_end(text, HWI_PLAIN);
}

void hwi_text_resizes(struct hwi_text *text, const struct hwi_selection *selection, struct hwi_named_frames *frames)
{
  struct rows rows;
  hwi_text_heading(text, "How blocks grow: realloc, and containers (an estimate)", "");
  hwi_text_filter(text, selection);
  if (!choose(&rows, text->profile, selection)) {
    text->line.failed = true;
    return;
  }
  uint64_t shown = hwi_text_rows(text, rows.count);
  if (rows.count > 0)
    print_titles(text);
  else
    hwi_line_puts(&text->line, "      none");
  if (rows.count == 0)
    hwi_text_end(text, HWI_PLAIN);
  print_shown(text, frames, &rows, shown);
  print_rest(text, &rows, shown);
  free(rows.items);
}
