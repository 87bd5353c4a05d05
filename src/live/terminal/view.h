/* view.h - what the user of the terminal has chosen, and the figures that are shown */
#ifndef HWI_LIVE_TERMINAL_VIEW_H
#define HWI_LIVE_TERMINAL_VIEW_H

#include "live/analyst.h"
#include "live/rows.h"

enum {
  HWI_VIEW_RESETS = 16,
  HWI_VIEW_MESSAGE_BYTES = HWI_ERROR_TEXT_BYTES,
  HWI_VIEW_COLUMNS_MIN = 72,
  HWI_VIEW_LINES_MIN = 12
};

enum hwi_view_prompt { HWI_PROMPT_NONE = 0, HWI_PROMPT_FILTER, HWI_PROMPT_MARK };

struct hwi_view {
  const char *trace; /* of the run */
  size_t columns, height;
  bool has_utf8;
  bool is_once; /* not interactive: without keys, and no more rows than fit */

  enum hwi_live_by by;
  enum hwi_live_column sort;
  char rules[HWI_LIVE_RULES][HWI_LIVE_RULE_BYTES];
  uint32_t rule_count;
  uint64_t resets[HWI_VIEW_RESETS]; /* moments from which growth counts; the last one does */
  uint32_t reset_count;
  bool wants_reset; /* the next question is for the present moment */
  bool is_paused, has_help, wants_end, wants_redraw;
  bool wants_figures; /* at once, also while it is paused */
  bool awaits_rows;   /* those that are shown are not the ones that were chosen: keys wait */
  uint32_t interval_ms;
  uint64_t chosen_key;  /* of the chosen row */
  bool has_chosen;      /* the row is followed by its key; else it is the first one */
  size_t chosen, first; /* rows: the chosen one, and the first one that is shown. Of frames: `first_frame` */
  uint64_t stack;       /* its key, whose frames are shown; 0: rows are */
  size_t first_frame;
  enum hwi_view_prompt prompt;
  char input[HWI_LIVE_RULE_BYTES]; /* for the prompt */
  char message[HWI_VIEW_MESSAGE_BYTES];

  struct hwi_live_rows *rows; /* NULL: there are none yet */
  enum hwi_follow_state state;
};

void hwi_view_init(struct hwi_view *view, const char *trace);
void hwi_view_release(struct hwi_view *view);

/* Makes the question for the next figures. */
struct hwi_live_question hwi_view_question(const struct hwi_view *view);

/* Takes an answer, figures or the moment of a reset, and closes its descriptor. Returns false if there are no figures; the view's
 * message then says why. */
bool hwi_view_take(struct hwi_view *view, const struct hwi_live_answer *answer);

/* The number of rows or frames that fit on the screen. */
size_t hwi_view_room(const struct hwi_view *view);

/* The cells of a row's name, and of the parts of a chart; the lines of a chart. */
size_t hwi_view_name_cells(const struct hwi_live_question *question);
size_t hwi_view_chart_cells(const struct hwi_view *view);
size_t hwi_view_chart_lines(const struct hwi_view *view);

/* Whether the lines of the question have room for the column. */
bool hwi_view_has_column(const struct hwi_live_question *question, enum hwi_live_column column);
bool hwi_view_has_share(const struct hwi_live_question *question);
size_t hwi_view_column_cells(enum hwi_live_column column);
enum { HWI_VIEW_SHARE_CELLS = 8, HWI_VIEW_LABEL_CELLS = 10, HWI_VIEW_GAP_CELLS = 2 };

/* Chooses a row: it stays chosen when the order changes. */
void hwi_view_choose(struct hwi_view *view, size_t row);

#endif
