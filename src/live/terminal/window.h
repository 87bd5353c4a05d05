/* window.h - the user's terminal: shows a screen, and reads keys, by ncurses */
#ifndef HWI_LIVE_TERMINAL_WINDOW_H
#define HWI_LIVE_TERMINAL_WINDOW_H

#include "base/error.h"
#include "live/terminal/screen.h"

struct hwi_window {
  int keys; /* readable when a key was pressed */
  void *input, *terminal;
  bool has_colour;
};

/* Returns 0, or a negative status if standard output is no terminal, or one of an unknown type. */
int hwi_window_check(struct hwi_error *error);

/* Takes over the terminal of standard output, after hwi_window_check. Returns 0 or a negative status. */
int hwi_window_open(struct hwi_window *window, struct hwi_error *error);

/* Gives the terminal back as it was. */
void hwi_window_close(struct hwi_window *window);

void hwi_window_size(size_t *columns, size_t *lines);
void hwi_window_show(const struct hwi_window *window, const struct hwi_screen *screen);

/* Returns the next key, as in keys.h; 0 if there is none. */
uint32_t hwi_window_key(void);

#endif
