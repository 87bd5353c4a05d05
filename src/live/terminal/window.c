/* window.c - the user's terminal: shows a screen, and reads keys, by ncurses
 *
 * ncurses restores the terminal at SIGTSTP, and redraws it when the process goes on; the other signals end the loop that
 * uses the window, which closes it. The locale is as report/words/style.h sets it: text is UTF-8.
 */
#include "live/terminal/window.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "live/terminal/curses_library.h"
#include "live/terminal/keys.h"
#include "report/words/style.h"

static struct hwi_curses_library curses; /* loaded by hwi_window_check */

enum { ESCAPE_MS = 25 }; /* a key's sequence comes at once; an escape alone is the key */
enum { PAIR_RISE = 1, PAIR_FALL, PAIR_CHART, PAIR_ALARM };

/* Returns whether the type is known, and the cursor can be moved. */
static bool is_known(void)
{
  int reason;
  if (curses.setupterm(NULL, STDOUT_FILENO, &reason) != OK)
    return false;
  const bool moves = curses.tigetstr("cup");
  curses.del_curterm(curses.set_curterm(NULL));
  return moves;
}

int hwi_window_check(struct hwi_error *error)
{
  const char *type = getenv("TERM");
  const bool is_named = type && *type != '\0';
  if (!isatty(STDOUT_FILENO))
    return hwi_error_set(error, HW_ERR_USAGE, "--text needs a terminal; --text --once prints one screen without one");
  const int status = hwi_curses_library_load(&curses, error);
  if (status < 0)
    return status;
  if (is_named && is_known())
    return 0;
  return hwi_error_set(
      error, HW_ERR_USAGE,
      "the terminal's type is %s%s, which cannot show a screen: set TERM, such as to xterm-256color; or "
      "use --page, or --text --once",
      is_named ? "TERM=" : "not set", is_named ? type : "");
}

/* Returns the stream of the user's keys: standard input may be something else. NULL: there is none. */
static FILE *open_input(void)
{
  const int fd =
      isatty(STDIN_FILENO) ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : open("/dev/tty", O_RDONLY | O_CLOEXEC);
  return fd < 0 ? NULL : fdopen(fd, "r");
}

static void begin_colours(struct hwi_window *window)
{
  struct hwi_style style;
  hwi_style_init(&style, stdout);
  window->has_colour = style.colour && curses.has_colors();
  if (!window->has_colour)
    return;
  curses.start_color();
  curses.use_default_colors();
  curses.init_pair(PAIR_RISE, COLOR_RED, -1);
  curses.init_pair(PAIR_FALL, COLOR_GREEN, -1);
  curses.init_pair(PAIR_CHART, COLOR_BLUE, -1);
  curses.init_pair(PAIR_ALARM, COLOR_RED, -1);
}

int hwi_window_open(struct hwi_window *window, struct hwi_error *error)
{
  *window = (struct hwi_window){.input = open_input()};
  unsetenv("LINES"); /* the size is the terminal's, also when it changes */
  unsetenv("COLUMNS");
  if (window->input)
    window->terminal = curses.newterm(NULL, stdout, window->input);
  if (!window->terminal) {
    if (window->input)
      fclose(window->input);
    return hwi_error_set(error, HW_ERR_IO, "cannot use the terminal: it cannot be read, or there is no memory");
  }
  window->keys = fileno(window->input);
  curses.cbreak();
  curses.noecho();
  curses.nonl();
  curses.curs_set(0);
  curses.keypad(*curses.stdscr, true);
  curses.nodelay(*curses.stdscr, true);
  curses.set_escdelay(ESCAPE_MS);
  begin_colours(window);
  return 0;
}

void hwi_window_close(struct hwi_window *window)
{
  curses.endwin();
  curses.delscreen(window->terminal);
  fclose(window->input);
}

void hwi_window_size(size_t *columns, size_t *lines)
{
  *columns = (size_t)*curses.COLS;
  *lines = (size_t)*curses.LINES;
}

/* --- showing --- */

static void set_look(const struct hwi_window *window, enum hwi_look look)
{
  static const struct {
    attr_t plain, coloured;
    short pair;
  } looks[HWI_LOOKS] = {
      [HWI_LOOK_TITLE] = {A_BOLD, A_BOLD, 0},
      [HWI_LOOK_FAINT] = {A_NORMAL, A_DIM, 0},
      [HWI_LOOK_BAR] = {A_REVERSE, A_REVERSE, 0},
      [HWI_LOOK_RISE] = {A_NORMAL, A_NORMAL, PAIR_RISE},
      [HWI_LOOK_FALL] = {A_NORMAL, A_NORMAL, PAIR_FALL},
      [HWI_LOOK_CHART] = {A_NORMAL, A_NORMAL, PAIR_CHART},
      [HWI_LOOK_ALARM] = {A_BOLD, A_BOLD, PAIR_ALARM},
  };
  curses.attr_set(window->has_colour ? looks[look].coloured : looks[look].plain,
                  window->has_colour ? looks[look].pair : 0, NULL);
}

/* Returns how many bytes of the line fit; the last cell of the screen stays free, where writing could scroll it. */
static size_t fitting_bytes(const struct hwi_screen *screen, uint32_t line)
{
  const size_t spare = line + 1 == (uint32_t)*curses.LINES ? 1 : 0;
  return hwi_cells_prefix(hwi_line_text(&screen->lines[line]), (size_t)*curses.COLS - spare);
}

void hwi_window_show(const struct hwi_window *window, const struct hwi_screen *screen)
{
  curses.erase();
  for (uint32_t i = 0; i < screen->line_count && i < (uint32_t)*curses.LINES; i++) {
    curses.attr_set(A_NORMAL, 0, NULL);
    curses.mvaddnstr((int)i, 0, hwi_line_text(&screen->lines[i]), (int)fitting_bytes(screen, i));
  }
  for (size_t i = 0; i < screen->part_count; i++) {
    const struct hwi_screen_part *part = &screen->parts[i];
    if (part->line >= (uint32_t)*curses.LINES)
      continue;
    const char *text = hwi_line_text(&screen->lines[part->line]);
    const size_t fits = fitting_bytes(screen, part->line), to = part->to < fits ? part->to : fits;
    if (part->from >= to)
      continue;
    set_look(window, part->look);
    struct hwi_line before = {0};
    hwi_line_add(&before, text, part->from);
    curses.mvaddnstr((int)part->line, (int)hwi_cells(hwi_line_text(&before)), text + part->from,
                     (int)(to - part->from));
    hwi_line_release(&before);
  }
  curses.refresh();
}

/* --- keys --- */

static uint32_t key_of(wint_t code)
{
  switch (code) {
  case KEY_UP:
    return HWI_KEY_UP;
  case KEY_DOWN:
    return HWI_KEY_DOWN;
  case KEY_LEFT:
    return HWI_KEY_LEFT;
  case KEY_RIGHT:
    return HWI_KEY_RIGHT;
  case KEY_PPAGE:
    return HWI_KEY_PAGE_UP;
  case KEY_NPAGE:
    return HWI_KEY_PAGE_DOWN;
  case KEY_HOME:
    return HWI_KEY_HOME;
  case KEY_END:
    return HWI_KEY_END;
  case KEY_BTAB:
    return HWI_KEY_BACK_TAB;
  case KEY_BACKSPACE:
    return HWI_KEY_BACKSPACE;
  case KEY_ENTER:
    return HWI_KEY_ENTER;
  case KEY_RESIZE:
    return HWI_KEY_RESIZE;
  default:
    return HWI_KEY_OTHER;
  }
}

uint32_t hwi_window_key(void)
{
  enum { CTRL_L = 'L' & 0x1f };
  wint_t code;
  const int got = curses.get_wch(&code);
  if (got == ERR)
    return HWI_KEY_NONE;
  if (got == KEY_CODE_YES)
    return key_of(code);
  if (code == CTRL_L) { /* something else has written to the terminal: all of it is drawn again */
    curses.clearok(*curses.curscr, true);
    return HWI_KEY_OTHER;
  }
  return code == '\r' ? HWI_KEY_ENTER : code == '\b' ? HWI_KEY_BACKSPACE : code == 0 ? HWI_KEY_OTHER : code;
}
