/* suppressions.c - what each line of a list of suppressions matched */
#include <inttypes.h>

#include "report/text/text.h"

/* Adds `prefix` and text from outside, shortened to the rest of the line. */
static void add_shortened(struct hwi_text *text, const char *prefix, const char *value)
{
  struct hwi_line whole = {0};
  hwi_line_puts(&whole, prefix);
  hwi_line_clean(&whole, value);
  size_t used = hwi_cells(hwi_line_text(&text->line)), columns = text->style->columns;
  hwi_line_shorten(&text->line, hwi_line_text(&whole), columns > used ? columns - used : 0,
                   hwi_style_ellipsis(text->style));
  hwi_line_release_part(&text->line, &whole);
}

void hwi_text_suppressions(struct hwi_text *text, const struct hwi_suppressions *suppressions)
{
  enum { GAP_CELLS = 3 };
  hwi_text_blank(text);
  hwi_line_puts(&text->line, "Suppressed by ");
  add_shortened(text, "", suppressions->path);
  hwi_text_end(text, HWI_BOLD);
  hwi_line_right(&text->line, "bytes", HWI_RANK_CELLS - 1 + HWI_AMOUNT_CELLS);
  hwi_line_right(&text->line, "blocks", HWI_AMOUNT_CELLS);
  hwi_line_right(&text->line, "line", HWI_SHARE_CELLS);
  hwi_text_end(text, HWI_DIM);
  for (size_t i = 0; i < suppressions->count; i++) {
    const struct hwi_suppression *item = &suppressions->items[i];
    hwi_line_right(&text->line, hwi_bytes_text(item->bytes).text, HWI_RANK_CELLS - 1 + HWI_AMOUNT_CELLS);
    hwi_line_right(&text->line, hwi_count_text(item->blocks).text, HWI_AMOUNT_CELLS);
    hwi_line_right(&text->line, hwi_count_text(item->line).text, HWI_SHARE_CELLS);
    hwi_line_repeat(&text->line, " ", GAP_CELLS);
    add_shortened(text, "leak:", item->pattern);
    hwi_text_end(text, item->stacks > 0 ? HWI_PLAIN : HWI_ALARM);
  }
}
