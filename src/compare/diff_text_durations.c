/* diff_text_durations.c - durations of calls in both runs, as text: for each function a line per run, and the change */
#include "compare/change.h"
#include "compare/duration_rows.h"
#include "report/selection/entries.h"
#include "report/text/text.h"

enum { LABEL_CELLS = 9, CALLS_CELLS = 12, TIME_CELLS = 11, REMARK_INDENT = 6 };

static void print_titles(struct hwi_text *text)
{
  hwi_line_right(&text->line, "calls", LABEL_CELLS + CALLS_CELLS);
  for (const struct hwi_figure *figure = hwi_duration_figures; figure->key; figure++) {
    if (figure->title)
      hwi_line_right(&text->line, figure->title, TIME_CELLS);
  }
  hwi_text_end(text, HWI_DIM);
}

static void print_side(struct hwi_text *text, const char *label, const struct hwi_duration_tally *tally)
{
  hwi_line_left(&text->line, label, LABEL_CELLS);
  hwi_line_right(&text->line, hwi_count_text(tally->calls).text, CALLS_CELLS);
  for (const struct hwi_figure *figure = hwi_duration_figures; figure->key; figure++) {
    if (figure->title && tally->calls > 0)
      hwi_line_right(&text->line, hwi_short_time_text(hwi_figure_value(figure, tally)).text, TIME_CELLS);
  }
  hwi_text_end(text, HWI_PLAIN);
}

static void print_change(struct hwi_text *text, const struct hwi_duration_tally *const tallies[HWI_SIDES])
{
  const struct hwi_duration_tally *old = tallies[HWI_OLD], *new = tallies[HWI_NEW];
  if (old->calls == 0 || new->calls == 0) /* there is nothing to compare with */
    return;
  hwi_line_left(&text->line, "  change", LABEL_CELLS);
  hwi_line_right(&text->line, hwi_change_share_text(old->calls, new->calls).text, CALLS_CELLS);
  for (const struct hwi_figure *figure = hwi_duration_figures; figure->key; figure++) {
    uint64_t before = hwi_figure_value(figure, old), after = hwi_figure_value(figure, new);
    if (figure->title)
      hwi_line_right(&text->line, hwi_change_share_text(before, after).text, TIME_CELLS);
  }
  hwi_text_end(text, HWI_PLAIN);
}

static void print_row(struct hwi_text *text, const char *name,
                      const struct hwi_duration_tally *const tallies[HWI_SIDES])
{
  if (tallies[HWI_OLD]->calls + tallies[HWI_NEW]->calls == 0) /* no call has a duration */
    return;
  hwi_line_puts(&text->line, name);
  hwi_text_end(text, HWI_BOLD);
  print_side(text, "  old", tallies[HWI_OLD]);
  print_side(text, "  new", tallies[HWI_NEW]);
  print_change(text, tallies);
}

/* Prints which part of each time is not the allocator's, if the recorder measured it. */
static void print_remarks(struct hwi_text *text, const struct hwi_duration_rows *rows)
{
  uint64_t old = rows->sides[HWI_OLD].clock_cost_ns, new = rows->sides[HWI_NEW].clock_cost_ns;
  hwi_line_puts(&text->line, "      ");
  if (old > 0 && new > 0)
    hwi_line_printf(&text->line,
                    "Times are of the allocator alone, each with %s (old) and %s (new) for reading the clock; "
                    "percentiles are at most 0.8 %% too large.",
                    hwi_short_time_text(old).text, hwi_short_time_text(new).text);
  else /* another tool's */
    hwi_line_puts(&text->line, "Times are as the recordings have them; percentiles are at most 0.8 % too large.");
  hwi_text_end_wrapped(text, REMARK_INDENT, HWI_DIM);
  const char *const names[HWI_SIDES] = {"OLD", "NEW"};
  for (int side = 0; side < HWI_SIDES; side++) {
    uint64_t untimed = rows->sides[side].all.untimed;
    if (untimed == 0)
      continue;
    hwi_line_printf(&text->line, "      %s has ", names[side]);
    hwi_line_counted(&text->line, untimed, "more call");
    hwi_line_puts(&text->line, " without a duration");
    hwi_text_end(text, HWI_DIM);
  }
}

static void print_table(struct hwi_text *text, const struct hwi_duration_rows *rows)
{
  hwi_text_heading(text, "How long calls took", "");
  print_titles(text);
  for (uint32_t row = 0; row <= rows->entry_count; row++) {
    const struct hwi_duration_tally *const tallies[HWI_SIDES] = {hwi_duration_row_tally(rows, HWI_OLD, row),
                                                                 hwi_duration_row_tally(rows, HWI_NEW, row)};
    print_row(text, row < rows->entry_count ? hwi_entry_shown(rows->entries[row]) : "all calls", tallies);
  }
  print_remarks(text, rows);
}

int hwi_diff_text_durations(struct hwi_text *text, const struct hwi_comparison *comparison, struct hwi_error *error)
{
  struct hwi_duration_rows rows;
  int status = hwi_duration_rows_init(&rows, comparison, error);
  if (status == HW_OK)
    print_table(text, &rows);
  hwi_duration_rows_release(&rows);
  return status;
}
