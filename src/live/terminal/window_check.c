/* window_check.c - whether a terminal can show a screen. Apart from window.c, since term.h has macros with the names of many of
 * our members */
#include "live/terminal/window.h"

#include <ncursesw/curses.h>
#include <stdlib.h>
#include <unistd.h>
/* after curses.h, which it needs */
#include <ncursesw/term.h>

/* Returns whether the type is known, and the cursor can be moved. */
static bool is_known(void)
{
  int reason;
  if (setupterm(NULL, STDOUT_FILENO, &reason) != OK)
    return false;
  const bool moves = tigetstr("cup");
  del_curterm(cur_term);
  return moves;
}

int hwi_window_check(struct hwi_error *error)
{
  const char *type = getenv("TERM");
  const bool is_named = type && *type != '\0';
  if (!isatty(STDOUT_FILENO))
    return hwi_error_set(error, HW_ERR_USAGE, "--text needs a terminal; --text --once prints one screen without one");
  if (is_named && is_known())
    return 0;
  return hwi_error_set(
      error, HW_ERR_USAGE,
      "the terminal's type is %s%s, which cannot show a screen: set TERM, such as to xterm-256color; or "
      "use --page, or --text --once",
      is_named ? "TERM=" : "not set", is_named ? type : "");
}
