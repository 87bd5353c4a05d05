/* text_who.c - a stack in a few words: the frame that wanted the memory */
#include <inttypes.h>

#include "report/cxx_name.h"
#include "report/text.h"

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

void hwi_text_who(struct hwi_text *text, struct hwi_named_frames *frames, uint32_t stack, size_t cells)
{
  enum { PLACE_CELLS_MAX = 32, BRACKET_CELLS = 3, NAME_CELLS_MIN = 16, NAME_CELLS_MAX = 48 };
  struct hwi_line *line = &text->line;
  const char *ellipsis = hwi_style_ellipsis(text->style);
  uint32_t first = 0, last = 0;
  if (hwi_named_frames_load(frames, stack, NULL) == HW_OK)
    hwi_named_frames_trim(frames, &first, &last);
  if (first == last || frames->items[first].symbol == NULL) {
    hwi_line_shorten(line, "a stack that is not known", cells, ellipsis);
    return;
  }
  const struct hwi_shown_frame *frame = &frames->items[first];
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
  size_t name_cells = has_room ? cells - place_cells : cells;
  hwi_cxx_name_add(line, frame->symbol->function != NULL ? frame->symbol->function : "??",
                   name_cells < NAME_CELLS_MAX ? name_cells : NAME_CELLS_MAX, ellipsis);
  if (has_room)
    hwi_line_printf(line, " (%s)", hwi_line_text(&place));
  hwi_line_release(&place);
}
