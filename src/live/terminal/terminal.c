/* terminal.c - the heap of a running program on a terminal, like top
 *
 * Keys are answered at once; figures come from the analyst, one question at a time, at the interval that the user has
 * chosen, or at once after a key that needs others.
 */
#include "live/terminal/terminal.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "live/terminal/keys.h"
#include "live/terminal/picture.h"
#include "live/terminal/window.h"
#include "platform/os.h"
#include "report/words/style.h"

struct terminal {
  const struct hwi_analyst *analyst;
  struct hwi_view view;
  struct hwi_screen screen;
  struct hwi_window window;
  bool is_asked, is_analyst_gone;
  uint64_t next_ms; /* when to ask again */
};

static void take_keys(struct terminal *terminal)
{
  for (uint32_t key; !terminal->view.awaits_rows && (key = hwi_window_key()) != HWI_KEY_NONE;) {
    hwi_window_size(&terminal->view.columns, &terminal->view.height);
    hwi_keys_take(&terminal->view, key);
  }
}

static void take_answer(struct terminal *terminal)
{
  struct hwi_live_answer answer;
  terminal->is_asked = false;
  if (hwi_analyst_take(terminal->analyst, &answer))
    hwi_view_take(&terminal->view, &answer);
  else
    terminal->is_analyst_gone = true;
  if (!terminal->view.wants_figures)
    terminal->view.awaits_rows = false;
}

/* Asks the next question, if one is due. */
static void ask(struct terminal *terminal)
{
  struct hwi_view *view = &terminal->view;
  const bool is_due = !view->is_paused && hwi_os_monotonic_ms() >= terminal->next_ms;
  if (terminal->is_asked || (!view->wants_reset && !view->wants_figures && !is_due))
    return;
  terminal->is_asked = true;
  if (view->wants_reset) {
    view->wants_reset = false;
    terminal->is_analyst_gone = !hwi_analyst_ask(terminal->analyst, HWI_LIVE_NOW, false);
    return;
  }
  const struct hwi_live_question question = hwi_view_question(view);
  view->wants_figures = false;
  terminal->next_ms = hwi_os_monotonic_ms() + view->interval_ms;
  terminal->is_analyst_gone = !hwi_analyst_ask_rows(terminal->analyst, &question, false);
}

static int patience_ms(const struct terminal *terminal)
{
  const uint64_t now = hwi_os_monotonic_ms();
  if (terminal->is_asked || terminal->view.is_paused)
    return -1;
  return terminal->next_ms > now ? (int)(terminal->next_ms - now) : 0;
}

static void go_on(struct terminal *terminal, int stop_fd)
{
  enum { KEYS, ANALYST, STOP, FDS };
  struct pollfd fds[FDS] = {
      [KEYS] = {.fd = terminal->window.keys, .events = POLLIN},
      [ANALYST] = {.fd = terminal->analyst->socket, .events = POLLIN},
      [STOP] = {.fd = stop_fd, .events = POLLIN},
  };
  struct hwi_view *view = &terminal->view;
  while (!view->wants_end && !terminal->is_analyst_gone && !fds[STOP].revents) {
    ask(terminal);
    fds[KEYS].events = view->awaits_rows ? 0 : POLLIN;
    if (view->wants_redraw) {
      view->wants_redraw = false;
      hwi_picture_draw(&terminal->screen, view);
      hwi_window_show(&terminal->window, &terminal->screen);
    }
    if (poll(fds, FDS, patience_ms(terminal)) < 0)
      memset(&fds[ANALYST].revents, 0, sizeof fds[ANALYST].revents); /* a signal: the size may have changed */
    if (fds[KEYS].revents & (POLLHUP | POLLERR | POLLNVAL))
      return; /* there is no terminal any more */
    if (fds[ANALYST].revents)
      take_answer(terminal);
    take_keys(terminal); /* also those that were read before, and waited for the answer */
  }
}

int hwi_terminal_check(struct hwi_error *error)
{
  return hwi_window_check(error);
}

int hwi_terminal_run(const struct hwi_analyst *analyst, const char *trace, int stop_fd, struct hwi_error *error)
{
  struct hwi_style style;
  struct terminal *terminal = calloc(1, sizeof *terminal);
  if (!terminal)
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory for a screen");
  terminal->analyst = analyst;
  hwi_style_init(&style, stdout);
  hwi_view_init(&terminal->view, trace);
  terminal->view.has_utf8 = style.utf8;
  terminal->view.wants_redraw = true;
  int status = hwi_window_open(&terminal->window, error);
  if (status == 0) {
    hwi_window_size(&terminal->view.columns, &terminal->view.height);
    go_on(terminal, stop_fd);
    hwi_window_close(&terminal->window);
    if (terminal->is_analyst_gone)
      status = hwi_error_set(error, HW_ERR_IO, "the process that followed the run has ended");
  }
  hwi_view_release(&terminal->view);
  hwi_screen_release(&terminal->screen);
  free(terminal);
  return status;
}

/* --- once --- */

/* Prints the lines without blanks at their ends. */
static void print(const struct hwi_screen *screen)
{
  for (uint32_t i = 0; i < screen->line_count; i++) {
    const char *text = hwi_line_text(&screen->lines[i]);
    size_t bytes = screen->lines[i].bytes;
    while (bytes > 0 && text[bytes - 1] == ' ')
      bytes--;
    printf("%.*s\n", (int)bytes, text);
  }
}

int hwi_terminal_print(const struct hwi_analyst *analyst, struct hwi_error *error)
{
  enum { LINES = 26 }; /* 20 rows */
  struct hwi_style style;
  struct hwi_view view;
  struct hwi_live_answer answer;
  struct hwi_screen *screen = calloc(1, sizeof *screen);
  hwi_style_init(&style, stdout);
  hwi_view_init(&view, NULL);
  view.is_once = true;
  view.has_utf8 = style.utf8;
  view.columns = style.columns;
  view.height = LINES;
  const struct hwi_live_question question = hwi_view_question(&view);
  int status = 0;
  if (!screen)
    status = hwi_error_set(error, HW_ERR_MEMORY, "no memory for a screen");
  else if (!hwi_analyst_ask_rows(analyst, &question, true) || !hwi_analyst_take(analyst, &answer))
    status = hwi_error_set(error, HW_ERR_IO, "the process that follows the run has ended");
  else if (!hwi_view_take(&view, &answer))
    status = hwi_error_set(error, HW_ERR_IO, "%s", view.message);
  if (status == 0) {
    hwi_picture_draw(screen, &view);
    print(screen);
  }
  if (screen)
    hwi_screen_release(screen);
  free(screen);
  hwi_view_release(&view);
  return status;
}
