/* lifetimes.c - how long blocks live, stack by stack: shares of each stack's blocks */
#include <stdlib.h>

#include "report/alike.h"
#include "report/lifetimes.h"
#include "report/text/text.h"

enum {
  SHARE_CELLS = 9,
  GAP_CELLS = 3,
  NAME_MIN = 20,
  FIGURE_CELLS = HWI_RANK_CELLS - 1 + HWI_AMOUNT_CELLS + SHARE_CELLS * HWI_LIFETIMES + GAP_CELLS
};

static void print_titles(struct hwi_text *text)
{
  static const char *const titles[HWI_LIFETIMES] = {"at once", "< 1 ms", "< 1 s", "< 1 min", "longer", "to the end"};
  hwi_line_right(&text->line, "blocks", HWI_RANK_CELLS - 1 + HWI_AMOUNT_CELLS);
  for (int step = 0; step < HWI_LIFETIMES; step++)
    hwi_line_right(&text->line, titles[step], SHARE_CELLS + (step == HWI_LIFETIME_UNTIL_END ? GAP_CELLS : 0));
  hwi_text_end(text, HWI_DIM);
}

static void add_figures(struct hwi_text *text, uint64_t rank, const uint64_t lifetimes[HWI_LIFETIMES])
{
  struct hwi_number number = {""};
  uint64_t blocks = 0;
  for (int step = 0; step < HWI_LIFETIMES; step++)
    blocks += lifetimes[step];
  if (rank > 0)
    number = hwi_count_text(rank);
  hwi_line_right(&text->line, number.text, HWI_RANK_CELLS - 1);
  hwi_line_right(&text->line, hwi_count_text(blocks).text, HWI_AMOUNT_CELLS);
  for (int step = 0; step < HWI_LIFETIMES; step++)
    hwi_line_right(&text->line, hwi_share_text(lifetimes[step], blocks).text,
                   SHARE_CELLS + (step == HWI_LIFETIME_UNTIL_END ? GAP_CELLS : 0));
}

static bool has_room_beside(const struct hwi_text *text)
{
  return text->style->columns >= FIGURE_CELLS + GAP_CELLS + NAME_MIN;
}

/* Goes to where a row's name stands: beside its figures, or below them where there is no room. */
static void go_to_name(struct hwi_text *text)
{
  if (has_room_beside(text)) {
    hwi_line_repeat(&text->line, " ", GAP_CELLS);
    return;
  }
  hwi_text_end(text, HWI_PLAIN);
  hwi_line_pad(&text->line, HWI_RANK_CELLS + GAP_CELLS);
}

static void add_lifetimes(uint64_t to[HWI_LIFETIMES], const struct hwi_stack *stack)
{
  for (int step = 0; step < HWI_LIFETIMES; step++)
    to[step] += stack->lifetimes[step];
}

static void print_row(struct hwi_text *text, struct hwi_named_frames *frames, const struct hwi_alike_group *group,
                      const struct hwi_who *who, uint64_t rank)
{
  uint64_t lifetimes[HWI_LIFETIMES] = {0};
  for (uint32_t i = 0; i < group->count; i++)
    add_lifetimes(lifetimes, &text->profile->stacks[group->stacks[i]]);
  add_figures(text, rank, lifetimes);
  go_to_name(text);
  hwi_text_who(text, frames, who);
  hwi_text_end(text, HWI_PLAIN);
}

static void print_rest(struct hwi_text *text, const struct hwi_selection *selection, const struct hwi_alike *alike)
{
  uint64_t rest[HWI_LIFETIMES] = {0};
  if (alike->stack_count == selection->stack_count)
    return;
  for (uint32_t i = 0; i < selection->stack_count; i++)
    add_lifetimes(rest, &text->profile->stacks[selection->stacks[i]]);
  for (uint32_t i = 0; i < alike->stack_count; i++) {
    for (int step = 0; step < HWI_LIFETIMES; step++)
      rest[step] -= text->profile->stacks[alike->stacks[i]].lifetimes[step];
  }
  add_figures(text, 0, rest);
  go_to_name(text);
  hwi_text_rest(text, selection->stack_count - alike->stack_count, "stack");
  hwi_text_end(text, HWI_PLAIN);
}

static void print_rows(struct hwi_text *text, const struct hwi_alike *alike, struct hwi_named_frames *frames)
{
  size_t used = has_room_beside(text) ? FIGURE_CELLS + GAP_CELLS : HWI_RANK_CELLS + GAP_CELLS;
  struct hwi_who *whos = calloc(alike->count + 1, sizeof *whos);
  if (whos == NULL) {
    text->line.failed = true;
    return;
  }
  for (size_t row = 0; row < alike->count; row++)
    whos[row] = (struct hwi_who){.stack = alike->groups[row].stacks[0], .cells = text->style->columns - used};
  hwi_text_tell_apart(text, frames, whos, (uint32_t)alike->count);
  for (size_t row = 0; row < alike->count; row++)
    print_row(text, frames, &alike->groups[row], &whos[row], row + 1);
  free(whos);
}

int hwi_text_lifetimes(struct hwi_text *text, const struct hwi_selection *selection, struct hwi_named_frames *frames,
                       struct hwi_error *error)
{
  struct hwi_alike alike;
  uint64_t all[HWI_LIFETIMES] = {0};
  bool is_narrowed = selection->narrowing.rule_count > 0;
  const struct hwi_alike_ranking ranking = hwi_alike_ranking_of(selection);
  int status = hwi_alike_init(&alike, frames, &ranking, hwi_text_rows(text, selection->stack_count), error);
  if (!is_narrowed)
    hwi_lifetimes_of_run(text->profile, all);
  for (uint32_t i = 0; i < selection->stack_count && is_narrowed; i++)
    add_lifetimes(all, &text->profile->stacks[selection->stacks[i]]);
  hwi_text_heading(text, "How long blocks live", "[--cost peak|live|calls|bytes|temporary]");
  hwi_text_filter(text, selection);
  print_titles(text);
  add_figures(text, 0, all);
  go_to_name(text);
  hwi_line_puts(&text->line, is_narrowed ? "what is left of the run" : "the run");
  hwi_text_end(text, HWI_PLAIN);
  if (status == HW_OK) {
    print_rows(text, &alike, frames);
    print_rest(text, selection, &alike);
  }
  hwi_alike_release(&alike);
  return status;
}
