/* screen.c - lines of text with looks, for a terminal or for a file */
#include "live/terminal/screen.h"

#include <stdlib.h>

#include "trace/grow.h"

void hwi_screen_clear(struct hwi_screen *screen)
{
  for (uint32_t i = 0; i < screen->line_count; i++)
    hwi_line_clear(&screen->lines[i]);
  screen->line_count = 0;
  screen->part_count = 0;
}

void hwi_screen_release(struct hwi_screen *screen)
{
  for (uint32_t i = 0; i < HWI_SCREEN_LINES_MAX; i++)
    hwi_line_release(&screen->lines[i]);
  free(screen->parts);
  *screen = (struct hwi_screen){0};
}

struct hwi_line *hwi_screen_begin(struct hwi_screen *screen)
{
  if (screen->line_count < HWI_SCREEN_LINES_MAX)
    screen->line_count++;
  return &screen->lines[screen->line_count - 1];
}

void hwi_screen_look(struct hwi_screen *screen, size_t from, enum hwi_look look)
{
  const uint32_t line = screen->line_count - 1;
  if (hwi_grow((void **)&screen->parts, &screen->part_room, screen->part_count + 1, sizeof *screen->parts))
    screen->parts[screen->part_count++] = (struct hwi_screen_part){line, from, screen->lines[line].bytes, look};
}

void hwi_screen_fill(struct hwi_screen *screen, size_t cells)
{
  struct hwi_line *line = &screen->lines[screen->line_count - 1];
  const size_t used = hwi_cells(hwi_line_text(line)) + cells;
  if (used < screen->columns)
    hwi_line_repeat(line, " ", screen->columns - used);
}

const char *hwi_screen_ellipsis(const struct hwi_screen *screen)
{
  return screen->has_utf8 ? "…" : "...";
}
