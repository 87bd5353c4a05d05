/* text_lifetimes.c - how long blocks live, stack by stack: shares of each stack's blocks */
#include "report/lifetimes.h"
#include "report/text.h"

enum {
  SHARE_CELLS = 9,
  GAP_CELLS = 3,
  FIGURE_CELLS = HWI_RANK_CELLS - 1 + HWI_AMOUNT_CELLS + SHARE_CELLS * HWI_LIFETIMES
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
  hwi_line_repeat(&text->line, " ", GAP_CELLS);
}

void hwi_text_lifetimes(struct hwi_text *text, const struct hwi_selection *selection, struct hwi_named_frames *frames)
{
  enum { NAME_MIN = 20 };
  size_t used = FIGURE_CELLS + 2 * GAP_CELLS;
  size_t cells = text->style->columns > used + NAME_MIN ? text->style->columns - used : NAME_MIN;
  uint64_t all[HWI_LIFETIMES], rows = hwi_text_rows(text, selection->stack_count);
  hwi_lifetimes_of_run(text->profile, all);
  hwi_text_heading(text, "How long blocks live", "[--cost peak|live|calls|bytes|temporary]");
  print_titles(text);
  add_figures(text, 0, all);
  hwi_line_puts(&text->line, "the run");
  hwi_text_end(text, HWI_PLAIN);
  for (uint64_t row = 0; row < rows; row++) {
    add_figures(text, row + 1, text->profile->stacks[selection->stacks[row]].lifetimes);
    hwi_text_who(text, frames, selection->stacks[row], cells);
    hwi_text_end(text, HWI_PLAIN);
  }
  if (rows == selection->stack_count)
    return;
  hwi_line_repeat(&text->line, " ", FIGURE_CELLS + 2 * GAP_CELLS);
  hwi_line_printf(&text->line, "%s more (--top 0)", hwi_count_text(selection->stack_count - rows).text);
  hwi_text_end(text, HWI_PLAIN);
}
