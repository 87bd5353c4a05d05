/* stack_labels.c - stacks in a few words, as parts of a line */
#include <string.h>

#include "report/text/text.h"

static struct hwi_stack_label_words words_of(const struct hwi_text *text, struct hwi_named_frames *frames)
{
  return (struct hwi_stack_label_words){frames, hwi_style_ellipsis(text->style)};
}

void hwi_text_stack_label(struct hwi_text *text, struct hwi_named_frames *frames, const struct hwi_stack_label *label)
{
  const struct hwi_stack_label_words words = words_of(text, frames);
  hwi_stack_label_add(&text->line, &words, label);
}

void hwi_text_distinguish(struct hwi_text *text, struct hwi_named_frames *frames, struct hwi_stack_label *labels,
                          uint32_t count)
{
  const struct hwi_stack_label_words words = words_of(text, frames);
  if (!hwi_stack_labels_distinguish(&words, labels, count))
    text->line.failed = true;
}

static void name_in(struct hwi_text *text, struct hwi_named_frames *frames, const struct hwi_row_names *names,
                    size_t used)
{
  const size_t columns = text->style->columns;
  for (uint32_t i = 0; i < names->count; i++)
    names->labels[i] =
        (struct hwi_stack_label){.stack = names->labels[i].stack, .cells = columns > used ? columns - used : 0};
  hwi_text_distinguish(text, frames, names->labels, names->count);
}

/* Whether `label` loses more than its place in the source in its own cells, and would lose less in `cells`. */
static bool is_cut(const struct hwi_stack_label_words *words, struct hwi_stack_label label, size_t cells)
{
  struct hwi_line name = {0}, whole = {0};
  hwi_stack_label_add(&name, words, &label);
  label.cells = cells;
  hwi_stack_label_add(&whole, words, &label);
  bool cut = strstr(hwi_line_text(&name), words->ellipsis) &&
             hwi_cells(hwi_line_text(&name)) < hwi_cells(hwi_line_text(&whole));
  hwi_line_release(&name);
  hwi_line_release(&whole);
  return cut;
}

static bool is_any_cut(const struct hwi_text *text, struct hwi_named_frames *frames, const struct hwi_row_names *names)
{
  const struct hwi_stack_label_words words = words_of(text, frames);
  for (uint32_t i = 0; i < names->count; i++) {
    if (is_cut(&words, names->labels[i], text->style->columns - names->used_below))
      return true;
  }
  return false;
}

bool hwi_text_place_names(struct hwi_text *text, struct hwi_named_frames *frames, const struct hwi_row_names *names)
{
  enum {
    LEAST = 20,
    MUCH = 40
  }; /* cells: fewer than LEAST are not enough for any name, MUCH are enough for most names */
  const size_t columns = text->style->columns, room = columns > names->used_in_row ? columns - names->used_in_row : 0;
  if (room >= LEAST) {
    name_in(text, frames, names, names->used_in_row);
    if (room >= MUCH || !is_any_cut(text, frames, names))
      return true;
  }
  name_in(text, frames, names, names->used_below);
  return false;
}

void hwi_text_go_to_name(struct hwi_text *text, bool is_in_row, size_t gap_cells)
{
  if (is_in_row) {
    hwi_line_repeat(&text->line, " ", gap_cells);
    return;
  }
  hwi_text_end(text, HWI_PLAIN);
  hwi_line_pad(&text->line, HWI_RANK_CELLS + gap_cells);
}
