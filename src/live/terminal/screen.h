/* screen.h - lines of text with looks, for a terminal or for a file */
#ifndef HWI_LIVE_TERMINAL_SCREEN_H
#define HWI_LIVE_TERMINAL_SCREEN_H

#include "report/words/line.h"

enum hwi_look {
  HWI_LOOK_TITLE, /* bold */
  HWI_LOOK_FAINT,
  HWI_LOOK_BAR, /* reversed: titles of columns, what is chosen */
  HWI_LOOK_RISE,
  HWI_LOOK_FALL,
  HWI_LOOK_CHART,
  HWI_LOOK_ALARM,
  HWI_LOOKS
};

/* A part of a line has a look; a later part is on top of an earlier one. */
struct hwi_screen_part {
  uint32_t line;
  size_t from, to; /* bytes of the line */
  enum hwi_look look;
};

enum { HWI_SCREEN_LINES_MAX = 1000 };

/* Initialize it with {0}. */
struct hwi_screen {
  size_t columns, height;
  bool has_utf8;
  struct hwi_line lines[HWI_SCREEN_LINES_MAX];
  uint32_t line_count;
  struct hwi_screen_part *parts;
  size_t part_count, part_room;
};

void hwi_screen_clear(struct hwi_screen *screen);
void hwi_screen_release(struct hwi_screen *screen);

/* Begins the next line, and returns it; the last one again if there are too many. */
struct hwi_line *hwi_screen_begin(struct hwi_screen *screen);

/* The current line has this look from byte `from` to its present end, unless there is no memory. */
void hwi_screen_look(struct hwi_screen *screen, size_t from, enum hwi_look look);

/* Adds blanks to the current line up to the last column, less `cells`. */
void hwi_screen_fill(struct hwi_screen *screen, size_t cells);

const char *hwi_screen_ellipsis(const struct hwi_screen *screen);

#endif
