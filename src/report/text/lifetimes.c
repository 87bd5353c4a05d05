/* lifetimes.c - how long blocks live, stack by stack: shares of each stack's blocks */
#include <stdlib.h>

#include "report/content/duplicate_stacks.h"
#include "report/selection/figures.h"
#include "report/text/text.h"

enum { SHARE_CELLS = 9, GAP_CELLS = 3, END = HWI_LIFETIME_UNTIL_END };

struct table {
  struct hwi_text *text;
  struct hwi_named_frames *frames;
  int spans;      /* the columns before the end's: up to the longest lifetime of any block */
  bool is_in_row; /* names are next to their figures, else below them */
};

static bool has_column(const struct table *table, int step)
{
  return step < table->spans || step == END;
}

static int spans_of(const uint64_t lifetimes[HWI_LIFETIMES])
{
  int spans = END;
  while (spans > 1 && lifetimes[spans - 1] == 0)
    spans--;
  return spans;
}

static void print_titles(const struct table *table)
{
  static const char *const titles[HWI_LIFETIMES] = {"at once", "< 1 ms", "< 1 s", "< 1 min", "longer", "to the end"};
  struct hwi_text *text = table->text;
  hwi_line_right(&text->line, "blocks", HWI_RANK_CELLS - 1 + HWI_AMOUNT_CELLS);
  for (int step = 0; step < HWI_LIFETIMES; step++)
    if (has_column(table, step))
      hwi_line_right(&text->line, titles[step], SHARE_CELLS + (step == END ? GAP_CELLS : 0));
  hwi_text_end(text, HWI_DIM);
}

static void add_figures(const struct table *table, uint64_t rank, const uint64_t lifetimes[HWI_LIFETIMES])
{
  struct hwi_text *text = table->text;
  struct hwi_number number = {""};
  uint64_t blocks = 0;
  for (int step = 0; step < HWI_LIFETIMES; step++)
    blocks += lifetimes[step];
  if (rank > 0)
    number = hwi_count_text(rank);
  hwi_line_right(&text->line, number.text, HWI_RANK_CELLS - 1);
  hwi_line_right(&text->line, hwi_count_text(blocks).text, HWI_AMOUNT_CELLS);
  for (int step = 0; step < HWI_LIFETIMES; step++)
    if (has_column(table, step))
      hwi_line_right(&text->line, hwi_share_text(lifetimes[step], blocks).text,
                     SHARE_CELLS + (step == END ? GAP_CELLS : 0));
}

static void add_lifetimes(uint64_t to[HWI_LIFETIMES], const struct hwi_stack *stack)
{
  for (int step = 0; step < HWI_LIFETIMES; step++)
    to[step] += stack->lifetimes[step];
}

static void print_row(const struct table *table, const struct hwi_duplicates_group *group,
                      const struct hwi_stack_label *label, uint64_t rank)
{
  uint64_t lifetimes[HWI_LIFETIMES] = {0};
  for (uint32_t i = 0; i < group->count; i++)
    add_lifetimes(lifetimes, &table->text->profile->stacks[group->stacks[i]]);
  add_figures(table, rank, lifetimes);
  hwi_text_go_to_name(table->text, table->is_in_row, GAP_CELLS);
  hwi_text_stack_label(table->text, table->frames, label);
  hwi_text_end(table->text, HWI_PLAIN);
}

static void print_rest(const struct table *table, const struct hwi_selection *selection,
                       const struct hwi_duplicates *duplicates)
{
  const struct hwi_stack *stacks = table->text->profile->stacks;
  uint64_t rest[HWI_LIFETIMES] = {0};
  if (duplicates->stack_count == selection->stack_count)
    return;
  for (uint32_t i = 0; i < selection->stack_count; i++)
    add_lifetimes(rest, &stacks[selection->stacks[i]]);
  for (uint32_t i = 0; i < duplicates->stack_count; i++) {
    for (int step = 0; step < HWI_LIFETIMES; step++)
      rest[step] -= stacks[duplicates->stacks[i]].lifetimes[step];
  }
  add_figures(table, 0, rest);
  hwi_text_go_to_name(table->text, table->is_in_row, GAP_CELLS);
  hwi_text_rest(table->text, selection->stack_count - duplicates->stack_count, "stack");
  hwi_text_end(table->text, HWI_PLAIN);
}

static void print_all(const struct table *table, bool is_narrowed, const uint64_t all[HWI_LIFETIMES])
{
  add_figures(table, 0, all);
  hwi_text_go_to_name(table->text, table->is_in_row, GAP_CELLS);
  hwi_line_puts(&table->text->line, is_narrowed ? "the selected part" : "the run");
  hwi_text_end(table->text, HWI_PLAIN);
}

/* Returns the rows' names, and chooses their place. The caller frees them. Returns NULL if there is no memory. */
static struct hwi_stack_label *name_rows(struct table *table, const struct hwi_duplicates *duplicates)
{
  struct hwi_stack_label *labels = calloc(duplicates->count + 1, sizeof *labels);
  const struct hwi_row_names names = {labels, (uint32_t)duplicates->count,
                                      HWI_RANK_CELLS - 1 + HWI_AMOUNT_CELLS + SHARE_CELLS * ((size_t)table->spans + 1) +
                                          2 * GAP_CELLS,
                                      HWI_RANK_CELLS + GAP_CELLS};
  for (size_t row = 0; labels && row < duplicates->count; row++)
    labels[row].stack = duplicates->groups[row].stacks[0];
  if (!labels)
    table->text->line.failed = true;
  else
    table->is_in_row = hwi_text_place_names(table->text, table->frames, &names);
  return labels;
}

int hwi_text_lifetimes(struct hwi_text *text, const struct hwi_selection *selection, struct hwi_named_frames *frames,
                       struct hwi_error *error)
{
  struct hwi_duplicates duplicates;
  uint64_t all[HWI_LIFETIMES] = {0};
  bool is_narrowed = selection->narrowing.rule_count > 0;
  const struct hwi_duplicates_ranking ranking = hwi_duplicates_ranking_of(selection);
  int status = hwi_duplicates_init(&duplicates, frames, &ranking, hwi_text_rows(text, selection->stack_count), error);
  if (!is_narrowed)
    hwi_lifetimes_of_run(text->profile, all);
  for (uint32_t i = 0; i < selection->stack_count && is_narrowed; i++)
    add_lifetimes(all, &text->profile->stacks[selection->stacks[i]]);
  struct table table = {.text = text, .frames = frames, .spans = spans_of(all)};
  struct hwi_stack_label *labels = status == HW_OK ? name_rows(&table, &duplicates) : NULL;
  hwi_text_heading(text, "How long blocks live", "[--cost peak|live|calls|bytes|temporary]");
  hwi_text_filter(text, selection);
  print_titles(&table);
  print_all(&table, is_narrowed, all);
  for (size_t row = 0; labels && row < duplicates.count; row++)
    print_row(&table, &duplicates.groups[row], &labels[row], row + 1);
  if (labels)
    print_rest(&table, selection, &duplicates);
  free(labels);
  hwi_duplicates_release(&duplicates);
  return status;
}
