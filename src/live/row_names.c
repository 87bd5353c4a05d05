/* row_names.c - the names of the rows that a terminal shows, and the lines of a stack's frames */
#include "live/row_names.h"

#include <inttypes.h>

#include "report/names/cxx_name.h"
#include "report/selection/selection.h"
#include "report/words/number.h"

enum { SIZE_CELLS = 15, CLASS_CELLS = 27, PLACE_SHARE = 3, PLACE_CELLS_MIN = 16, GAP_CELLS = 2 };

const struct hwi_symbol *hwi_row_function(struct hwi_named_frames *frames, uint32_t stack, uint32_t *module)
{
  uint32_t first = 0, last = 0;
  if (hwi_named_frames_load(frames, stack, NULL) == HW_OK)
    hwi_named_frames_trim(frames, &first, &last);
  *module = first < last ? frames->items[first].module : 0;
  return first < last ? frames->items[first].symbol : NULL;
}

/* Adds the name of a function, which may have none. */
static void add_function(struct hwi_line *line, const struct hwi_row_names *names, const struct hwi_symbol *symbol,
                         uint32_t module, size_t cells)
{
  struct hwi_line name = {0};
  if (symbol->function) {
    hwi_cxx_name_add(line, symbol->function, cells, names->ellipsis);
    return;
  }
  hwi_line_puts(&name, "?? ");
  hwi_line_clean(&name, module != 0 ? hwi_module_name(names->frames->profile, module) : "no module");
  if (symbol->start != 0)
    hwi_line_printf(&name, "+0x%" PRIx64, symbol->start);
  hwi_line_shorten(line, hwi_line_text(&name), cells, names->ellipsis);
  hwi_line_release_part(line, &name);
}

void hwi_row_function_add(struct hwi_line *line, const struct hwi_row_names *names, uint32_t stack, size_t cells)
{
  uint32_t module;
  const struct hwi_symbol *symbol = hwi_row_function(names->frames, stack, &module);
  if (symbol)
    add_function(line, names, symbol, module, cells);
  else
    hwi_line_shorten(line, "stack not known", cells, names->ellipsis);
}

void hwi_row_thread_add(struct hwi_line *line, const struct hwi_row_names *names, uint32_t index, size_t cells)
{
  const struct hwi_profile *profile = names->frames->profile;
  const struct hwi_profile_thread *thread = &profile->threads[index];
  struct hwi_line name = {0};
  hwi_line_clean(&name, thread->name[0] != '\0' ? thread->name : "?");
  hwi_line_printf(&name, " (%" PRIu32 ")", thread->tid);
  const struct hwi_image *image = &profile->images[thread->image];
  if (profile->image_count > 1 && image->info)
    hwi_line_printf(&name, " of %" PRIu32, image->info->header.pid);
  hwi_line_shorten(line, hwi_line_text(&name), cells, names->ellipsis);
  hwi_line_release_part(line, &name);
}

void hwi_row_size_add(struct hwi_line *line, uint64_t size)
{
  char exact[sizeof(struct hwi_number) + sizeof " B"];
  snprintf(exact, sizeof exact, "%s B", hwi_count_text(size).text);
  hwi_line_right(line, exact, SIZE_CELLS);
}

void hwi_row_class_add(struct hwi_line *line, unsigned class)
{
  char range[2 * sizeof(struct hwi_number) + sizeof " to  B"];
  snprintf(range, sizeof range, "%s to %s B", hwi_count_text(hwi_size_class_least(class)).text,
           hwi_count_text(hwi_size_class_most(class)).text);
  hwi_line_right(line, range, CLASS_CELLS);
}

void hwi_row_process_add(struct hwi_line *line, const struct hwi_row_names *names, const struct hwi_image *image,
                         size_t cells)
{
  const struct hwi_trace_info *info = image->info;
  struct hwi_line name = {0};
  if (info) {
    hwi_line_printf(&name, "%" PRIu32 "%s ", info->header.pid, info->being_written ? "" : " (ended)");
    hwi_line_clean(&name, info->command && *info->command != '\0' ? info->command : info->exe ? info->exe : "");
  }
  hwi_line_shorten(line, hwi_line_text(&name), cells, names->ellipsis);
  hwi_line_release_part(line, &name);
}

void hwi_row_frame_add(struct hwi_line *line, const struct hwi_row_names *names, const struct hwi_shown_frame *frame)
{
  const size_t width = names->question->width, share = width / PLACE_SHARE;
  const size_t place = share > PLACE_CELLS_MIN ? share : PLACE_CELLS_MIN, function = width - place - GAP_CELLS;
  const struct hwi_symbol *symbol = frame->symbol;
  if (!symbol && frame->address == 0)
    hwi_line_puts(line, "frames that are not known");
  else if (!symbol)
    hwi_line_printf(line, "%s frames left out by the recorder", hwi_count_text(frame->address).text);
  if (!symbol)
    return;
  add_function(line, names, symbol, frame->module, function);
  hwi_line_pad(line, function + GAP_CELLS);
  struct hwi_line module = {0};
  if (symbol->file) {
    hwi_line_path(line, symbol->file, symbol->line, place, names->ellipsis);
  } else {
    hwi_line_clean(&module, hwi_module_name(names->frames->profile, frame->module));
    hwi_line_shorten(line, hwi_line_text(&module), place, names->ellipsis);
  }
  hwi_line_release_part(line, &module);
}
