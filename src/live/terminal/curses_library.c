/* curses_library.c - ncurses, loaded when a terminal shows the heap */
#include "live/terminal/curses_library.h"

#include "base/library.h"

#define SYMBOL(symbol)                                                  \
  {                                                                     \
    .name = #symbol, .off = offsetof(struct hwi_curses_library, symbol) \
  }
static const struct hwi_library_symbol symbols[] = {
    SYMBOL(setupterm),
    SYMBOL(tigetstr),
    SYMBOL(set_curterm),
    SYMBOL(del_curterm),
    SYMBOL(newterm),
    SYMBOL(delscreen),
    SYMBOL(endwin),
    SYMBOL(cbreak),
    SYMBOL(noecho),
    SYMBOL(nonl),
    SYMBOL(curs_set),
    SYMBOL(keypad),
    SYMBOL(nodelay),
    SYMBOL(set_escdelay),
    SYMBOL(has_colors),
    SYMBOL(start_color),
    SYMBOL(use_default_colors),
    SYMBOL(init_pair),
    SYMBOL(attr_set),
    SYMBOL(erase),
    SYMBOL(mvaddnstr),
    SYMBOL(refresh),
    SYMBOL(clearok),
    SYMBOL(get_wch),
    SYMBOL(stdscr),
    SYMBOL(curscr),
    SYMBOL(COLS),
    SYMBOL(LINES),
};
_Static_assert(sizeof(struct hwi_curses_library) == sizeof symbols / sizeof *symbols * sizeof(void *),
               "each has its line above");

static const struct hwi_library library = {
    .user = "live --text",
    .file = HWI_NCURSESW_FILE,
    .package = "libncursesw6",
    .version = "6.0",
    .symbols = symbols,
    .symbol_count = sizeof symbols / sizeof *symbols,
};
HWI_LIBRARY_NOTE(HWI_NCURSESW_FILE, "terminal", "shows the heap of a running program on a terminal");

int hwi_curses_library_load(struct hwi_curses_library *curses, struct hwi_error *error)
{
  return hwi_library_load(&library, curses, error);
}
