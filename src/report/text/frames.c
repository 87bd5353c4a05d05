/* frames.c - prints a stack's significant frames as lines of a text, in columns */
#include "report/text/frames.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/names/symbol_name.h"

enum {
  GAP_CELLS = 3,
  PLACE_MAX = 26,
  PLACE_MAX_WIDE = 48,
  MODULE_MAX = 30,
  FUNCTION_MIN = 20,
};

/* --- the three parts of a frame --- */

static uint64_t file_address(const struct hwi_text_frames *printer, const struct hwi_shown_frame *frame)
{
  return frame->address - printer->frames->modules[frame->module].bias;
}

static void add_function(struct hwi_line *line, const struct hwi_text_frames *printer,
                         const struct hwi_fold_line *shown, size_t cells)
{
  const struct hwi_shown_frame *frame = &printer->frames->items[shown->first];
  const char *ellipsis = hwi_style_ellipsis(printer->text->style);
  if (frame->symbol && frame->symbol->function) {
    struct hwi_number times = {""}, count = hwi_count_text(shown->count);
    if (shown->count > 1)
      snprintf(times.text, sizeof times.text, " %s%.24s", printer->text->style->utf8 ? "×" : "x", count.text);
    size_t suffix = hwi_cells(times.text);
    hwi_symbol_name_add(line, frame->symbol, cells > suffix ? cells - suffix : 0, ellipsis);
    hwi_line_puts(line, times.text);
    return;
  }
  struct hwi_line name = {0};
  if (!frame->symbol && frame->address == 0 && printer->frames->count == 1) {
    hwi_line_puts(&name, "a stack that is not known");
  } else if (!frame->symbol && frame->address == 0) {
    hwi_line_printf(&name, "%s frames left out by the recorder", ellipsis);
  } else if (!frame->symbol) {
    hwi_line_printf(&name, "%s %s frames left out by the recorder (record --depth)", ellipsis,
                    hwi_count_text(frame->address).text);
  } else if (frame->module == 0) {
    hwi_line_printf(&name, "?? 0x%" PRIx64, frame->address);
  } else {
    hwi_line_puts(&name, "?? ");
    hwi_line_clean(&name, hwi_module_name(printer->frames->profile, frame->module));
    uint64_t start = frame->symbol->start; /* the name in rankings by function */
    hwi_line_printf(&name, "+0x%" PRIx64, start != 0 ? start : file_address(printer, frame));
  }
  hwi_line_shorten(line, hwi_line_text(&name), cells, ellipsis);
  hwi_line_release_part(line, &name);
}

static void add_file(struct hwi_line *line, const struct hwi_text_frames *printer, const struct hwi_symbol *symbol,
                     size_t cells)
{
  bool wide = printer->text->style->columns >= HWI_WIDE_COLUMNS;
  hwi_line_path(line, wide ? symbol->file : hwi_base_name(symbol->file), symbol->line, cells,
                hwi_style_ellipsis(printer->text->style));
}

/* Adds why a function has no name, and the offset of the call in it, instead of a line. */
static void add_reason(struct hwi_line *line, const struct hwi_text_frames *printer,
                       const struct hwi_shown_frame *frame, size_t cells)
{
  struct hwi_line reason = {0};
  hwi_line_puts(&reason, hwi_symbol_reason_text((enum hwi_symbol_reason)frame->symbol->reason));
  if (frame->symbol->start != 0)
    hwi_line_printf(&reason, ", at +0x%" PRIx64, file_address(printer, frame) - frame->symbol->start);
  hwi_line_shorten(line, hwi_line_text(&reason), cells, hwi_style_ellipsis(printer->text->style));
  hwi_line_release_part(line, &reason);
}

/* Adds the frame's place in the source; else why that is unknown; else, if modules have no column, the module. */
static void add_place(struct hwi_line *line, const struct hwi_text_frames *printer, const struct hwi_shown_frame *frame,
                      size_t cells)
{
  if (!frame->symbol)
    return;
  if (frame->symbol->file)
    add_file(line, printer, frame->symbol, cells);
  else if (!frame->symbol->function)
    add_reason(line, printer, frame, cells);
  else if (printer->text->style->columns < HWI_NARROW_COLUMNS)
    hwi_line_shorten(line, hwi_module_name(printer->frames->profile, frame->module), cells,
                     hwi_style_ellipsis(printer->text->style));
}

static void add_module(struct hwi_line *line, const struct hwi_text_frames *printer,
                       const struct hwi_shown_frame *frame, size_t cells)
{
  enum { ID_BYTES_SHOWN = 4 };
  if (!frame->symbol || frame->module == 0)
    return;
  struct hwi_line name = {0};
  const struct hwi_profile_module *module = &printer->frames->profile->modules[frame->module];
  bool is_named = frame->symbol->function;
  if (!is_named && (!printer->id_is_printed || printer->id_is_printed[frame->module]))
    return; /* the module is already before the address */
  if (!is_named && module->build_id_bytes >= ID_BYTES_SHOWN) {
    hwi_line_puts(&name, "build-id ");
    for (int i = 0; i < ID_BYTES_SHOWN; i++)
      hwi_line_printf(&name, "%02x", module->build_id[i]);
    hwi_line_puts(&name, hwi_style_ellipsis(printer->text->style));
  } else {
    hwi_line_clean(&name, hwi_module_name(printer->frames->profile, frame->module));
  }
  hwi_line_shorten(line, hwi_line_text(&name), cells, hwi_style_ellipsis(printer->text->style));
  hwi_line_release_part(line, &name);
}

static void print_frame(struct hwi_text_frames *printer, const struct hwi_fold_line *shown)
{
  const struct hwi_shown_frame *frame = &printer->frames->items[shown->first];
  struct hwi_line *line = &printer->text->line;
  const struct hwi_frame_columns *columns = &printer->columns;
  static const char inlined[] = "  (inlined)";
  size_t at = HWI_FRAMES_INDENT;
  hwi_line_repeat(line, " ", at);
  if (!frame->symbol) {
    add_function(line, printer, shown, printer->text->style->columns - at);
    hwi_text_end(printer->text, HWI_PLAIN);
    return;
  }
  printer->printed++;
  printer->stripped += !frame->symbol->function && frame->symbol->reason == HWI_SYMBOL_STRIPPED;
  printer->unverified += frame->symbol->reason == HWI_SYMBOL_NO_BUILD_ID;
  add_function(line, printer, shown, columns->function);
  at += columns->function + GAP_CELLS;
  if (columns->place > 0) {
    hwi_line_pad(line, at - 1);
    hwi_line_puts(line, " ");
    add_place(line, printer, frame, columns->place);
    at += columns->place + GAP_CELLS;
  }
  if (columns->module > 0) {
    hwi_line_pad(line, at - 1);
    hwi_line_puts(line, " ");
    add_module(line, printer, frame, columns->module);
    if (printer->id_is_printed && !frame->symbol->function)
      printer->id_is_printed[frame->module] = true;
    if (frame->symbol->inlined && hwi_cells(hwi_line_text(line)) + sizeof inlined - 1 <= printer->text->style->columns)
      hwi_line_puts(line, inlined);
  }
  hwi_text_end(printer->text, HWI_PLAIN);
}

/* --- folds --- */

/* "librclcpp" of "librclcpp.so.16"; a program's name as it is. */
static void add_library(struct hwi_line *line, const char *module)
{
  struct hwi_line name = {0};
  hwi_line_clean(&name, module);
  const char *suffix = strstr(hwi_line_text(&name), ".so");
  hwi_line_add(line, hwi_line_text(&name),
               suffix ? (size_t)(suffix - hwi_line_text(&name)) : strlen(hwi_line_text(&name)));
  hwi_line_release_part(line, &name);
}

void hwi_text_frames_fold(struct hwi_line *line, const struct hwi_text *text, const struct hwi_named_frames *frames,
                          const struct hwi_fold_line *fold)
{
  enum { NAMED_MAX = 3 };
  hwi_line_printf(line, "%s %s frames of ", hwi_style_ellipsis(text->style), hwi_count_text(fold->count).text);
  uint32_t named[NAMED_MAX], named_count = 0;
  for (uint32_t i = fold->first; i < fold->first + fold->count; i++) {
    bool known = !frames->items[i].symbol;
    for (uint32_t k = 0; k < named_count && !known; k++)
      known = named[k] == frames->items[i].module;
    if (known)
      continue;
    if (named_count == NAMED_MAX) {
      hwi_line_puts(line, " and others");
      break;
    }
    named[named_count++] = frames->items[i].module;
    hwi_line_puts(line, named_count > 1 ? ", " : "");
    if (frames->items[i].module == 0)
      hwi_line_puts(line, "no module");
    else
      add_library(line, hwi_module_name(frames->profile, frames->items[i].module));
  }
}

static void print_fold(struct hwi_text_frames *printer, const struct hwi_fold_line *fold)
{
  struct hwi_line *line = &printer->text->line;
  hwi_line_repeat(line, " ", HWI_FRAMES_INDENT);
  hwi_text_frames_fold(line, printer->text, printer->frames, fold);
  if (!printer->hint_given) {
    hwi_line_pad(line, HWI_FRAMES_INDENT + printer->columns.function + GAP_CELLS);
    hwi_line_puts(line, "(--frames all)");
    printer->hint_given = true;
  }
  hwi_text_end(printer->text, HWI_DIM);
}

/* --- a stack --- */

void hwi_text_frames_init(struct hwi_text_frames *printer, struct hwi_text *text, struct hwi_named_frames *frames)
{
  bool needs_hint = !text->report->options.all_frames && !text->style->paper;
  *printer = (struct hwi_text_frames){.text = text, .frames = frames, .hint_given = !needs_hint};
  printer->id_is_printed = calloc((size_t)frames->profile->module_count + 1, sizeof *printer->id_is_printed);
  text->line.failed |= !printer->id_is_printed;
}

void hwi_text_frames_release(struct hwi_text_frames *printer)
{
  hwi_folded_release(&printer->folded);
  free(printer->id_is_printed);
}

static int load(struct hwi_text_frames *printer, uint32_t stack, struct hwi_error *error)
{
  int status = hwi_named_frames_load(printer->frames, stack, error);
  if (status < 0)
    return status;
  return hwi_fold(&printer->folded, printer->frames, printer->text->report->options.all_frames ? 0 : HWI_FOLD_LINES_MAX,
                  error);
}

static size_t larger(size_t a, size_t b)
{
  return a > b ? a : b;
}

static void measure_frame(struct hwi_text_frames *printer, const struct hwi_fold_line *shown)
{
  const struct hwi_shown_frame *frame = &printer->frames->items[shown->first];
  struct hwi_line line = {0};
  if (!frame->symbol)
    return;
  add_function(&line, printer, shown, SIZE_MAX);
  printer->columns.function = larger(printer->columns.function, hwi_cells(hwi_line_text(&line)));
  hwi_line_clear(&line);
  add_place(&line, printer, frame, printer->text->style->columns >= HWI_WIDE_COLUMNS ? PLACE_MAX_WIDE : PLACE_MAX);
  printer->columns.place = larger(printer->columns.place, hwi_cells(hwi_line_text(&line)));
  hwi_line_clear(&line);
  add_module(&line, printer, frame, MODULE_MAX);
  printer->columns.module = larger(printer->columns.module, hwi_cells(hwi_line_text(&line)));
  hwi_line_release_part(&printer->text->line, &line);
}

int hwi_text_frames_measure(struct hwi_text_frames *printer, uint32_t stack, struct hwi_error *error)
{
  int status = load(printer, stack, error);
  for (uint32_t i = 0; i < printer->folded.count && status == HW_OK; i++) {
    if (!printer->folded.lines[i].folded)
      measure_frame(printer, &printer->folded.lines[i]);
  }
  return status;
}

void hwi_text_frames_fit(struct hwi_text_frames *printer)
{
  struct hwi_frame_columns *columns = &printer->columns;
  size_t left = printer->text->style->columns - HWI_FRAMES_INDENT;
  left -= columns->place > 0 ? columns->place + GAP_CELLS : 0;
  if (printer->text->style->columns < HWI_NARROW_COLUMNS)
    columns->module = 0;
  else
    left -= columns->module + GAP_CELLS;
  left = larger(left, FUNCTION_MIN);
  columns->function = columns->function < left ? columns->function : left;
}

int hwi_text_frames_print(struct hwi_text_frames *printer, uint32_t stack, struct hwi_error *error)
{
  int status = load(printer, stack, error);
  if (status < 0)
    return status;
  if (printer->frames->count == 0) {
    hwi_line_repeat(&printer->text->line, " ", HWI_FRAMES_INDENT);
    hwi_line_puts(&printer->text->line, "stack not known");
    hwi_text_end(printer->text, HWI_PLAIN);
  }
  for (uint32_t i = 0; i < printer->folded.count; i++) {
    const struct hwi_fold_line *line = &printer->folded.lines[i];
    if (line->folded)
      print_fold(printer, line);
    else
      print_frame(printer, line);
  }
  return HW_OK;
}

static void print_hint(struct hwi_text *text, const char *hint)
{
  if (!*hwi_style_hint(text->style, hint))
    return;
  hwi_line_repeat(&text->line, " ", HWI_FRAMES_INDENT);
  hwi_line_puts(&text->line, hint);
  hwi_text_end_wrapped(text, HWI_FRAMES_INDENT, HWI_DIM);
}

void hwi_text_frames_hint(struct hwi_text_frames *printer)
{
  if (printer->unverified > 0)
    print_hint(printer->text,
               "without a build-id, the file found for these frames may be of another build: it is not used; names: "
               "report --keep-names where the program ran, or link it with -Wl,--build-id");
  if (printer->stripped > printer->printed / 2)
    print_hint(printer->text, "most of these frames are stripped; names: debug packages (-dbgsym), or --debug-dir DIR");
}
