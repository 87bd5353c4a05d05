/* curses_library.h - ncurses, loaded when a terminal shows the heap */
#ifndef HWI_LIVE_TERMINAL_CURSES_LIBRARY_H
#define HWI_LIVE_TERMINAL_CURSES_LIBRARY_H

#define NCURSES_NOMACROS /* which name the functions themselves */
#include <ncursesw/curses.h>
/* after curses.h, which it needs; it has macros with names of members of ours */
#include <ncursesw/term.h>
#undef columns
#undef lines

#include "base/error.h"

struct hwi_curses_library {
  /* the type of the terminal */
  __typeof__(&setupterm) setupterm;
  __typeof__(&tigetstr) tigetstr;
  __typeof__(&set_curterm) set_curterm;
  __typeof__(&del_curterm) del_curterm;
  /* its use */
  __typeof__(&newterm) newterm;
  __typeof__(&delscreen) delscreen;
  __typeof__(&endwin) endwin;
  __typeof__(&cbreak) cbreak;
  __typeof__(&noecho) noecho;
  __typeof__(&nonl) nonl;
  __typeof__(&curs_set) curs_set;
  __typeof__(&keypad) keypad;
  __typeof__(&nodelay) nodelay;
  __typeof__(&set_escdelay) set_escdelay;
  __typeof__(&has_colors) has_colors;
  __typeof__(&start_color) start_color;
  __typeof__(&use_default_colors) use_default_colors;
  __typeof__(&init_pair) init_pair;
  __typeof__(&attr_set) attr_set;
  __typeof__(&erase) erase;
  __typeof__(&mvaddnstr) mvaddnstr;
  __typeof__(&refresh) refresh;
  __typeof__(&clearok) clearok;
  __typeof__(&get_wch) get_wch;
  /* its variables */
  __typeof__(&stdscr) stdscr;
  __typeof__(&curscr) curscr;
  __typeof__(&COLS) COLS;
  __typeof__(&LINES) LINES;
};

/* Loads it. Returns 0 or a negative status. */
int hwi_curses_library_load(struct hwi_curses_library *curses, struct hwi_error *error);

#endif
