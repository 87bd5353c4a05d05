/* table.c - the rows of figures, as lines in columns */
#include "live/terminal/table.h"

#include <stdio.h>

#include "base/wide.h"
#include "report/words/number.h"

/* In the order of the screen. */
static const struct {
  enum hwi_live_column column;
  const char *title;
} columns[] = {
    {HWI_LIVE_GROWTH, "growth"}, {HWI_LIVE_GROWTH_RATE, "growth/s"}, {HWI_LIVE_BYTES, "live"},
    {HWI_LIVE_BLOCKS, "blocks"}, {HWI_LIVE_CALL_RATE, "allocs/s"},   {HWI_LIVE_PEAK, "at peak"},
    {HWI_LIVE_CALLS, "allocs"},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

static const char *const name_titles[HWI_LIVE_BYS] = {
    [HWI_LIVE_BY_STACK] = "stack", [HWI_LIVE_BY_FUNCTION] = "function", [HWI_LIVE_BY_THREAD] = "thread",
    [HWI_LIVE_BY_SIZE] = "size",   [HWI_LIVE_BY_CLASS] = "sizes",       [HWI_LIVE_BY_PROCESS] = "process",
};

/* --- titles --- */

/* Adds since when growth counts, if there is room. */
static void add_growth(struct hwi_line *line, const struct hwi_live_rows *rows, size_t cells)
{
  struct hwi_line words = {0};
  const bool is_reset = rows->question.since_ns != HWI_LIVE_NO_BEGIN;
  hwi_line_printf(&words, is_reset ? "  (reset %s ago)" : "  (growth in %s)", hwi_time_text(rows->growth_ns).text);
  if (hwi_cells(hwi_line_text(&words)) <= cells)
    hwi_line_puts(line, hwi_line_text(&words));
  hwi_line_release_part(line, &words);
}

static void draw_titles(struct hwi_screen *screen, const struct hwi_live_rows *rows)
{
  const struct hwi_live_question *question = &rows->question;
  struct hwi_line *line = hwi_screen_begin(screen);
  for (int i = 0; i < COLUMNS; i++) {
    char title[32];
    if (!hwi_view_has_column(question, columns[i].column))
      continue;
    const char *mark = question->sort != columns[i].column ? "" : screen->has_utf8 ? "▼" : "*";
    snprintf(title, sizeof title, "%s%s", mark, columns[i].title);
    hwi_line_right(line, title, hwi_view_column_cells(columns[i].column));
  }
  if (hwi_view_has_share(question))
    hwi_line_right(line, "share", HWI_VIEW_SHARE_CELLS);
  hwi_line_repeat(line, " ", HWI_VIEW_GAP_CELLS);
  const char *name = name_titles[question->by];
  hwi_line_puts(line, name);
  add_growth(line, rows, question->cells - hwi_cells(name));
  hwi_screen_fill(screen, 0);
  hwi_screen_look(screen, 0, HWI_LOOK_BAR);
}

/* --- rows --- */

static uint64_t per_second(uint64_t count, uint64_t ns)
{
  return ns > 0 ? hwi_wide_share(count, HWI_NS_A_SECOND, 0, ns) : 0;
}

static struct hwi_number signed_text(int64_t bytes)
{
  return bytes == 0 ? (struct hwi_number){"0"} : hwi_signed_bytes_text(bytes);
}

static struct hwi_number cell_text(const struct hwi_live_rows *rows, const struct hwi_live_row *row,
                                   enum hwi_live_column column)
{
  const int64_t recent = row->recent_growth_bytes;
  switch (column) {
  case HWI_LIVE_BYTES:
    return hwi_bytes_text(row->live_bytes);
  case HWI_LIVE_BLOCKS:
    return hwi_count_text(row->live_blocks);
  case HWI_LIVE_GROWTH:
    return signed_text(row->growth_bytes);
  case HWI_LIVE_GROWTH_RATE:
    return signed_text(recent < 0 ? -(int64_t)per_second(0 - (uint64_t)recent, rows->recent_ns)
                                  : (int64_t)per_second((uint64_t)recent, rows->recent_ns));
  case HWI_LIVE_CALL_RATE:
    return hwi_count_text(per_second(row->recent_calls, rows->recent_ns));
  case HWI_LIVE_CALLS:
    return hwi_count_text(row->calls);
  default:
    return hwi_bytes_text(row->peak_bytes);
  }
}

static void draw_row(struct hwi_screen *screen, const struct hwi_live_rows *rows, const struct hwi_live_row *row)
{
  const struct hwi_live_question *question = &rows->question;
  struct hwi_line *line = hwi_screen_begin(screen);
  for (int i = 0; i < COLUMNS; i++) {
    const enum hwi_live_column column = columns[i].column;
    if (!hwi_view_has_column(question, column))
      continue;
    const size_t from = line->bytes;
    hwi_line_right(line, cell_text(rows, row, column).text, hwi_view_column_cells(column));
    if (column == HWI_LIVE_GROWTH && row->growth_bytes != 0)
      hwi_screen_look(screen, from, row->growth_bytes > 0 ? HWI_LOOK_RISE : HWI_LOOK_FALL);
  }
  if (hwi_view_has_share(question))
    hwi_line_right(line, hwi_share_text(row->live_bytes, rows->live_bytes).text, HWI_VIEW_SHARE_CELLS);
  hwi_line_repeat(line, " ", HWI_VIEW_GAP_CELLS);
  hwi_line_puts(line, hwi_live_text(rows, row->name_off));
}

/* A chosen line is a bar over the whole width. */
static void choose_line(struct hwi_screen *screen)
{
  hwi_screen_fill(screen, 0);
  hwi_screen_look(screen, 0, HWI_LOOK_BAR);
}

void hwi_table_draw(struct hwi_screen *screen, const struct hwi_view *view)
{
  const struct hwi_live_rows *rows = view->rows;
  const size_t room = hwi_view_room(view);
  draw_titles(screen, rows);
  for (size_t i = view->first; i < rows->row_count && i < view->first + room; i++) {
    draw_row(screen, rows, &hwi_live_row_list(rows)[i]);
    if (i == view->chosen && !view->is_once)
      choose_line(screen);
  }
  if (rows->row_count == 0)
    hwi_line_puts(hwi_screen_begin(screen), "  nothing is live");
}

void hwi_table_draw_frames(struct hwi_screen *screen, const struct hwi_view *view)
{
  const struct hwi_live_rows *rows = view->rows;
  const size_t room = hwi_view_room(view);
  draw_titles(screen, rows);
  if (rows->row_count > 0)
    draw_row(screen, rows, hwi_live_row_list(rows));
  else
    hwi_line_puts(hwi_screen_begin(screen), "  nothing is live");
  hwi_screen_begin(screen);
  for (size_t i = view->first_frame; i < rows->line_count && i < view->first_frame + room; i++)
    hwi_line_puts(hwi_screen_begin(screen), hwi_live_text(rows, hwi_live_lines(rows)[i]));
}
