/* view.c - what the user of the terminal has chosen, and the figures that are shown */
#include "live/terminal/view.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
  INTERVAL_MS = 1000,
  TALL_LINES = 34,  /* a screen that has room for a higher chart */
  HEAD_LINES = 3,   /* command, process, live */
  ROWS_BEYOND = 50, /* below the screen: the chosen row is followed there */
  NARROWEST_NAME = 16,
};

/* --- the layout --- */

struct column {
  size_t cells, least_columns; /* least: of a screen with room for it */
};

static const struct column columns[HWI_LIVE_COLUMNS] = {
    [HWI_LIVE_GROWTH] = {9, 0},   [HWI_LIVE_GROWTH_RATE] = {10, 0}, [HWI_LIVE_BYTES] = {9, 0},
    [HWI_LIVE_BLOCKS] = {10, 0},  [HWI_LIVE_CALL_RATE] = {10, 0},   [HWI_LIVE_PEAK] = {10, 110},
    [HWI_LIVE_CALLS] = {13, 130},
};
static const struct column share = {HWI_VIEW_SHARE_CELLS, 100};

size_t hwi_view_column_cells(enum hwi_live_column column)
{
  return columns[column].cells;
}

bool hwi_view_has_column(const struct hwi_live_question *question, enum hwi_live_column column)
{
  return question->width >= columns[column].least_columns || question->sort == column;
}

bool hwi_view_has_share(const struct hwi_live_question *question)
{
  return question->width >= share.least_columns;
}

size_t hwi_view_name_cells(const struct hwi_live_question *question)
{
  size_t used = HWI_VIEW_GAP_CELLS + (hwi_view_has_share(question) ? share.cells : 0);
  for (int column = 0; column < HWI_LIVE_COLUMNS; column++)
    used += hwi_view_has_column(question, (enum hwi_live_column)column) ? columns[column].cells : 0;
  return question->width > used + NARROWEST_NAME ? question->width - used : NARROWEST_NAME;
}

size_t hwi_view_chart_cells(const struct hwi_view *view)
{
  const size_t cells = view->columns - HWI_VIEW_LABEL_CELLS - 1;
  return cells < HWI_LIVE_CHART_MAX ? cells : HWI_LIVE_CHART_MAX;
}

size_t hwi_view_chart_lines(const struct hwi_view *view)
{
  return view->height >= TALL_LINES ? 4 : 2;
}

/* The tabs, the chosen row's whole name, and keys. */
static size_t interactive_lines(const struct hwi_view *view)
{
  return view->is_once ? 0 : 3;
}

size_t hwi_view_room(const struct hwi_view *view)
{
  const size_t titles = 1, used = HEAD_LINES + hwi_view_chart_lines(view) + interactive_lines(view) + titles +
                                  (view->rule_count > 0 ? 1 : 0) + (view->stack != 0 ? 2 : 0);
  return view->height > used ? view->height - used : 1;
}

/* --- the figures --- */

void hwi_view_init(struct hwi_view *view, const char *trace)
{
  *view = (struct hwi_view){.trace = trace, .sort = HWI_LIVE_GROWTH, .interval_ms = INTERVAL_MS};
}

void hwi_view_release(struct hwi_view *view)
{
  free(view->rows);
  view->rows = NULL;
}

struct hwi_live_question hwi_view_question(const struct hwi_view *view)
{
  struct hwi_live_question question = {
      .by = view->by,
      .sort = view->sort,
      .row_count = (uint32_t)(view->first + hwi_view_room(view) + (view->is_once ? 0 : ROWS_BEYOND)),
      .width = (uint32_t)view->columns,
      .chart_count = (uint32_t)hwi_view_chart_cells(view),
      .stack = view->stack,
      .has_utf8 = view->has_utf8,
      .since_ns = view->reset_count > 0 ? view->resets[view->reset_count - 1] : HWI_LIVE_NO_BEGIN,
      .rule_count = view->rule_count,
  };
  memcpy(question.rules, view->rules, sizeof question.rules);
  question.cells = (uint32_t)hwi_view_name_cells(&question);
  return question;
}

void hwi_view_choose(struct hwi_view *view, size_t row)
{
  const size_t count = view->rows ? view->rows->row_count : 0, room = hwi_view_room(view);
  view->chosen = row < count ? row : count > 0 ? count - 1 : 0;
  view->has_chosen = view->chosen > 0;
  if (view->has_chosen)
    view->chosen_key = hwi_live_row_list(view->rows)[view->chosen].key;
  if (view->chosen < view->first)
    view->first = view->chosen;
  if (view->chosen >= view->first + room)
    view->first = view->chosen + 1 - room;
}

/* The chosen row may be elsewhere now. */
static void follow_chosen(struct hwi_view *view)
{
  size_t row = view->has_chosen ? view->chosen : 0;
  for (uint32_t i = 0; i < view->rows->row_count && view->has_chosen; i++)
    if (hwi_live_row_list(view->rows)[i].key == view->chosen_key)
      row = i;
  if (view->stack == 0)
    hwi_view_choose(view, row);
}

/* Returns what the descriptor has; NULL if there is no memory. */
static struct hwi_live_rows *read_rows(int fd, size_t bytes)
{
  char *rows = malloc(bytes);
  for (size_t done = 0; rows && done < bytes;) {
    const ssize_t got = pread(fd, rows + done, bytes - done, (off_t)done);
    if (got <= 0) {
      free(rows);
      return NULL;
    }
    done += (size_t)got;
  }
  return (struct hwi_live_rows *)(void *)rows;
}

static void take_rows(struct hwi_view *view, const struct hwi_live_answer *answer)
{
  struct hwi_live_rows *rows = read_rows(answer->fd, answer->bytes);
  if (!rows) {
    snprintf(view->message, sizeof view->message, "no memory for the figures");
    return;
  }
  free(view->rows);
  view->rows = rows;
  view->state = answer->state;
  follow_chosen(view);
}

static void take_reset(struct hwi_view *view, const struct hwi_live_answer *answer)
{
  char text[HWI_VIEW_MESSAGE_BYTES] = "";
  if (view->reset_count == HWI_VIEW_RESETS) {
    memmove(view->resets, view->resets + 1, sizeof view->resets - sizeof *view->resets);
    view->reset_count--;
  }
  if (pread(answer->fd, text, sizeof text - 1, 0) > 0 &&
      sscanf(text, "{\"ns\":%" SCNu64, &view->resets[view->reset_count]) == 1)
    view->reset_count++;
  view->wants_figures = true;
}

bool hwi_view_take(struct hwi_view *view, const struct hwi_live_answer *answer)
{
  view->wants_redraw = true;
  if (answer->fd < 0) {
    snprintf(view->message, sizeof view->message, "%s", answer->error);
    return false;
  }
  if (answer->form == HWI_LIVE_ROWS)
    take_rows(view, answer);
  else
    take_reset(view, answer);
  close(answer->fd);
  return view->rows;
}
