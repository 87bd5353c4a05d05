/* text_who.c - a stack in a few words: the frame that wanted the memory, and who called it where that tells rows apart */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/cxx_name.h"
#include "report/text.h"

enum { PLACE_CELLS_MAX = 32, BRACKET_CELLS = 3, NAME_CELLS_MIN = 16, NAME_CELLS_MAX = 48, CALLERS_MAX = 3 };

/* A function without a name. */
static void add_start(struct hwi_line *line, const struct hwi_text *text, const struct hwi_shown_frame *frame,
                      size_t cells)
{
  struct hwi_line name = {0};
  hwi_line_puts(&name, "?? ");
  hwi_line_clean(&name, hwi_base_name(hwi_module_path(text->profile, frame->module)));
  hwi_line_printf(&name, "+0x%" PRIx64, frame->symbol->start);
  hwi_line_shorten(line, hwi_line_text(&name), cells, hwi_style_ellipsis(text->style));
  hwi_line_release(&name);
}

static void add_function(struct hwi_line *line, const struct hwi_text *text, const struct hwi_shown_frame *frame,
                         size_t cells)
{
  if (frame->symbol->start != 0)
    add_start(line, text, frame, cells);
  else
    hwi_cxx_name_add(line, frame->symbol->function != NULL ? frame->symbol->function : "??",
                     cells < NAME_CELLS_MAX ? cells : NAME_CELLS_MAX, hwi_style_ellipsis(text->style));
}

static void add_frame(struct hwi_line *line, const struct hwi_text *text, const struct hwi_shown_frame *frame,
                      size_t cells)
{
  const char *ellipsis = hwi_style_ellipsis(text->style);
  if (frame->symbol->start != 0) {
    add_start(line, text, frame, cells);
    return;
  }
  struct hwi_line place = {0};
  const char *module = hwi_base_name(hwi_module_path(text->profile, frame->module));
  if (frame->symbol->file != NULL)
    hwi_line_path(&place, hwi_base_name(frame->symbol->file), frame->symbol->line, PLACE_CELLS_MAX, ellipsis);
  else
    hwi_line_path(&place, frame->module != 0 ? module : "no module", 0, PLACE_CELLS_MAX, ellipsis);
  size_t place_cells = hwi_cells(hwi_line_text(&place)) + BRACKET_CELLS;
  bool has_room = cells >= place_cells + NAME_CELLS_MIN;
  add_function(line, text, frame, has_room ? cells - place_cells : cells);
  if (has_room)
    hwi_line_printf(line, " (%s)", hwi_line_text(&place));
  hwi_line_release(&place);
}

/* "list_resize (listobject.c:70) < app1 (listobject.c:340)", without the places where there is no room for them. */
static void add_chain(struct hwi_line *line, const struct hwi_text *text, const struct hwi_shown_frame *frames,
                      uint32_t count, size_t cells)
{
  static void (*const adds[])(struct hwi_line * line, const struct hwi_text *text, const struct hwi_shown_frame *frame,
                              size_t cells) = {add_frame, add_function};
  struct hwi_line words = {0};
  for (size_t way = 0; way < sizeof adds / sizeof *adds; way++) {
    hwi_line_clear(&words);
    for (uint32_t i = 0; i < count; i++) {
      hwi_line_puts(&words, i > 0 ? " < " : "");
      adds[way](&words, text, &frames[i], SIZE_MAX);
    }
    if (hwi_cells(hwi_line_text(&words)) <= cells)
      break;
  }
  hwi_line_shorten(line, hwi_line_text(&words), cells, hwi_style_ellipsis(text->style));
  hwi_line_release(&words);
}

static void add_who(struct hwi_line *line, const struct hwi_text *text, struct hwi_named_frames *frames,
                    const struct hwi_who *who)
{
  uint32_t first = 0, last = 0, end;
  if (hwi_named_frames_load(frames, who->stack, NULL) == HW_OK)
    hwi_named_frames_trim(frames, &first, &last);
  if (first == last || frames->items[first].symbol == NULL) {
    hwi_line_shorten(line, "a stack that is not known", who->cells, hwi_style_ellipsis(text->style));
    return;
  }
  for (end = first + 1; end < last && end - first <= who->callers && frames->items[end].symbol != NULL;)
    end++;
  if (end - first > 1)
    add_chain(line, text, &frames->items[first], end - first, who->cells);
  else
    add_frame(line, text, &frames->items[first], who->cells);
}

void hwi_text_who(struct hwi_text *text, struct hwi_named_frames *frames, const struct hwi_who *who)
{
  add_who(&text->line, text, frames, who);
}

/* --- which rows need callers --- */

struct words {
  struct hwi_line line;
  struct hwi_who *who;
};

static int compare_words(const void *left, const void *right)
{
  const struct words *a = left, *b = right;
  return strcmp(hwi_line_text(&a->line), hwi_line_text(&b->line));
}

/* Those whose words other stacks have, too, get one caller more. Whether any did. */
static bool deepen(struct hwi_text *text, struct hwi_named_frames *frames, struct words *words, uint32_t count)
{
  bool any = false;
  for (uint32_t i = 0; i < count; i++) {
    hwi_line_clear(&words[i].line);
    add_who(&words[i].line, text, frames, words[i].who);
    text->line.failed |= words[i].line.failed;
  }
  qsort(words, count, sizeof *words, compare_words);
  for (uint32_t begin = 0, end; begin < count; begin = end) {
    bool are_alike = false; /* and not one stack, named twice */
    for (end = begin + 1; end < count && compare_words(&words[begin], &words[end]) == 0; end++)
      are_alike |= words[end].who->stack != words[begin].who->stack;
    for (uint32_t i = begin; i < end && are_alike; i++)
      words[i].who->callers++;
    any |= are_alike;
  }
  return any;
}

void hwi_text_tell_apart(struct hwi_text *text, struct hwi_named_frames *frames, struct hwi_who *whos, uint32_t count)
{
  struct words *words = calloc((size_t)count + 1, sizeof *words);
  if (words == NULL) {
    text->line.failed = true;
    return;
  }
  for (uint32_t i = 0; i < count; i++)
    words[i].who = &whos[i];
  for (uint32_t round = 0; round < CALLERS_MAX && deepen(text, frames, words, count);)
    round++;
  for (uint32_t i = 0; i < count; i++)
    hwi_line_release(&words[i].line);
  free(words);
}
