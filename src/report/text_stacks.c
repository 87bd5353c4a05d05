/* text_stacks.c - the ranking by stack: figures, then the frames that say something */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/cxx_name.h"
#include "report/fold.h"
#include "report/text.h"

enum {
  FRAME_INDENT = 6,
  GAP_CELLS = 3,
  PLACE_MAX = 26,
  PLACE_MAX_WIDE = 48,
  MODULE_MAX = 30,
  FUNCTION_MIN = 20,
  MEASURED_ROWS = 100,
  LINES_MAX = 8, /* a stack, folded */
};

/* How wide the columns of the frames are, over all stacks that are shown. */
struct columns {
  size_t function, place, module;
};

struct printer {
  struct hwi_text *text;
  struct hwi_named_frames *frames;
  struct hwi_folded folded;
  struct columns columns;
  bool hint_given; /* how to unfold has been said */
};

/* --- the three parts of a frame --- */

static void add_function(struct hwi_line *line, const struct printer *printer, const struct hwi_fold_line *shown,
                         size_t cells)
{
  const struct hwi_shown_frame *frame = &printer->frames->items[shown->first];
  const char *ellipsis = hwi_style_ellipsis(printer->text->style);
  if (frame->symbol != NULL && frame->symbol->function != NULL) {
    struct hwi_number times = {""}, count = hwi_count_text(shown->count);
    if (shown->count > 1)
      snprintf(times.text, sizeof times.text, " %s%.24s", printer->text->style->utf8 ? "×" : "x", count.text);
    size_t suffix = hwi_cells(times.text);
    hwi_cxx_name_add(line, frame->symbol->function, cells > suffix ? cells - suffix : 0, ellipsis);
    hwi_line_puts(line, times.text);
    return;
  }
  struct hwi_line name = {0};
  if (frame->symbol == NULL && frame->address == 0) {
    hwi_line_printf(&name, "%s frames left out by the recorder", ellipsis);
  } else if (frame->symbol == NULL) {
    hwi_line_printf(&name, "%s %s frames left out by the recorder (record --depth)", ellipsis,
                    hwi_count_text(frame->address).text);
  } else if (frame->module == 0) {
    hwi_line_printf(&name, "?? 0x%" PRIx64, frame->address);
  } else {
    hwi_line_puts(&name, "?? ");
    hwi_line_clean(&name, hwi_base_name(hwi_module_path(printer->frames->profile, frame->module)));
    hwi_line_printf(&name, "+0x%" PRIx64, frame->address - printer->frames->modules[frame->module].bias);
  }
  hwi_line_shorten(line, hwi_line_text(&name), cells, ellipsis);
  hwi_line_release(&name);
}

static void add_file(struct hwi_line *line, const struct printer *printer, const struct hwi_symbol *symbol,
                     size_t cells)
{
  bool wide = printer->text->style->columns >= HWI_WIDE_COLUMNS;
  hwi_line_path(line, wide ? symbol->file : hwi_base_name(symbol->file), symbol->line, cells,
                hwi_style_ellipsis(printer->text->style));
}

/* Where it is in the source; else why that is unknown; else, where there is no column for it, the module. */
static void add_place(struct hwi_line *line, const struct printer *printer, const struct hwi_shown_frame *frame,
                      size_t cells)
{
  if (frame->symbol == NULL)
    return;
  if (frame->symbol->file != NULL)
    add_file(line, printer, frame->symbol, cells);
  else if (frame->symbol->function == NULL)
    hwi_line_shorten(line, hwi_symbol_reason_text((enum hwi_symbol_reason)frame->symbol->reason), cells,
                     hwi_style_ellipsis(printer->text->style));
  else if (printer->text->style->columns < HWI_NARROW_COLUMNS)
    hwi_line_shorten(line, hwi_base_name(hwi_module_path(printer->frames->profile, frame->module)), cells,
                     hwi_style_ellipsis(printer->text->style));
}

static void add_module(struct hwi_line *line, const struct printer *printer, const struct hwi_shown_frame *frame,
                       size_t cells)
{
  enum { ID_BYTES_SHOWN = 4 };
  if (frame->symbol == NULL || frame->module == 0)
    return;
  struct hwi_line name = {0};
  const struct hwi_profile_module *module = &printer->frames->profile->modules[frame->module];
  if (frame->symbol->function == NULL && module->build_id_bytes >= ID_BYTES_SHOWN) {
    hwi_line_puts(&name, "build-id ");
    for (int i = 0; i < ID_BYTES_SHOWN; i++)
      hwi_line_printf(&name, "%02x", module->build_id[i]);
    hwi_line_puts(&name, hwi_style_ellipsis(printer->text->style));
  } else {
    hwi_line_clean(&name, hwi_base_name(hwi_module_path(printer->frames->profile, frame->module)));
  }
  hwi_line_shorten(line, hwi_line_text(&name), cells, hwi_style_ellipsis(printer->text->style));
  hwi_line_release(&name);
}

static void print_frame(struct printer *printer, const struct hwi_fold_line *shown)
{
  const struct hwi_shown_frame *frame = &printer->frames->items[shown->first];
  struct hwi_line *line = &printer->text->line;
  const struct columns *columns = &printer->columns;
  static const char inlined[] = "  (inlined)";
  size_t at = FRAME_INDENT;
  hwi_line_repeat(line, " ", at);
  if (frame->symbol == NULL) {
    add_function(line, printer, shown, printer->text->style->columns - at);
    hwi_text_end(printer->text, HWI_PLAIN);
    return;
  }
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
    if (frame->symbol->inlined && hwi_cells(hwi_line_text(line)) + sizeof inlined - 1 <= printer->text->style->columns)
      hwi_line_puts(line, inlined);
  }
  hwi_text_end(printer->text, HWI_PLAIN);
}

/* --- folds --- */

/* "librclcpp" of "/opt/ros/lib/librclcpp.so.16"; a program's name as it is. */
static void add_library(struct hwi_line *line, const char *path)
{
  struct hwi_line name = {0};
  hwi_line_clean(&name, hwi_base_name(path));
  const char *suffix = strstr(hwi_line_text(&name), ".so");
  hwi_line_add(line, hwi_line_text(&name),
               suffix != NULL ? (size_t)(suffix - hwi_line_text(&name)) : strlen(hwi_line_text(&name)));
  hwi_line_release(&name);
}

static void print_fold(struct printer *printer, const struct hwi_fold_line *fold)
{
  enum { NAMED_MAX = 3 };
  struct hwi_line *line = &printer->text->line;
  const struct hwi_named_frames *frames = printer->frames;
  hwi_line_repeat(line, " ", FRAME_INDENT);
  hwi_line_printf(line, "%s %s frames of ", hwi_style_ellipsis(printer->text->style), hwi_count_text(fold->count).text);
  uint32_t named[NAMED_MAX], named_count = 0;
  for (uint32_t i = fold->first; i < fold->first + fold->count; i++) {
    bool known = frames->items[i].symbol == NULL;
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
      add_library(line, hwi_module_path(frames->profile, frames->items[i].module));
  }
  if (!printer->hint_given) {
    hwi_line_pad(line, FRAME_INDENT + printer->columns.function + GAP_CELLS);
    hwi_line_puts(line, "(--frames all)");
    printer->hint_given = true;
  }
  hwi_text_end(printer->text, HWI_DIM);
}

/* --- the sizes of a stack's blocks --- */

static uint64_t size_count(const struct hwi_stack_size *size, enum hwi_cost cost)
{
  if (cost == HWI_COST_PEAK)
    return size->peak_blocks;
  return cost == HWI_COST_LIVE ? size->live_blocks : size->calls;
}

static int compare_stack(const void *key, const void *item)
{
  uint32_t stack = *(const uint32_t *)key, other = ((const struct hwi_stack_size *)item)->stack;
  return stack < other ? -1 : stack > other;
}

/* The entry of `stack` with the highest count below `limit` (the earlier one of equals), or NULL. Few stacks have more than a
 * handful of sizes, and only a handful is shown. */
static const struct hwi_stack_size *next_size(const struct hwi_stack_size *first, const struct hwi_stack_size *end,
                                              const struct hwi_stack_size *before, enum hwi_cost cost)
{
  const struct hwi_stack_size *best = NULL;
  for (const struct hwi_stack_size *size = first; size < end; size++) {
    uint64_t count = size_count(size, cost);
    if (count == 0 || (best != NULL && count <= size_count(best, cost)))
      continue;
    if (before != NULL) {
      uint64_t limit = size_count(before, cost);
      if (count > limit || (count == limit && size <= before))
        continue;
    }
    best = size;
  }
  return best;
}

static void add_sizes(struct hwi_text *text, uint32_t stack)
{
  const struct hwi_profile *profile = text->profile;
  const struct hwi_stack_size *all = profile->stack_sizes, *end = all + profile->stack_size_count;
  const struct hwi_stack_size *first = bsearch(&stack, all, profile->stack_size_count, sizeof *all, compare_stack);
  if (first == NULL)
    return;
  while (first > all && first[-1].stack == stack)
    first--;
  const struct hwi_stack_size *last = first;
  while (last < end && last->stack == stack)
    last++;
  size_t room = text->style->columns - hwi_cells(hwi_line_text(&text->line));
  const char *separator = "   ";
  for (const struct hwi_stack_size *size = NULL; (size = next_size(first, last, size, text->cost)) != NULL;) {
    struct hwi_line item = {0};
    hwi_line_printf(&item, "%s%s (%s)", separator, hwi_bytes_text(size->size).text,
                    hwi_count_text(size_count(size, text->cost)).text);
    size_t cells = hwi_cells(hwi_line_text(&item));
    bool fits = cells <= room;
    if (fits)
      hwi_line_puts(&text->line, hwi_line_text(&item));
    hwi_line_release(&item);
    if (!fits)
      break;
    room -= cells;
    separator = ", ";
  }
}

/* --- the ranking --- */

static int load(struct printer *printer, uint32_t stack, struct hwi_error *error)
{
  int status = hwi_named_frames_load(printer->frames, stack, error);
  if (status < 0)
    return status;
  return hwi_fold(&printer->folded, printer->frames, printer->text->report->options.all_frames ? 0 : LINES_MAX, error);
}

static size_t larger(size_t a, size_t b)
{
  return a > b ? a : b;
}

static void measure_frame(struct printer *printer, const struct hwi_fold_line *shown)
{
  const struct hwi_shown_frame *frame = &printer->frames->items[shown->first];
  struct hwi_line line = {0};
  if (frame->symbol == NULL)
    return;
  add_function(&line, printer, shown, SIZE_MAX);
  printer->columns.function = larger(printer->columns.function, hwi_cells(hwi_line_text(&line)));
  hwi_line_clear(&line);
  add_place(&line, printer, frame, printer->text->style->columns >= HWI_WIDE_COLUMNS ? PLACE_MAX_WIDE : PLACE_MAX);
  printer->columns.place = larger(printer->columns.place, hwi_cells(hwi_line_text(&line)));
  hwi_line_clear(&line);
  add_module(&line, printer, frame, MODULE_MAX);
  printer->columns.module = larger(printer->columns.module, hwi_cells(hwi_line_text(&line)));
  hwi_line_release(&line);
}

/* Columns as wide as the first stacks want them; functions take what is left. */
static int measure(struct printer *printer, const struct hwi_selection *selection, uint64_t rows,
                   struct hwi_error *error)
{
  for (uint64_t row = 0; row < rows && row < MEASURED_ROWS; row++) {
    int status = load(printer, selection->stacks[row], error);
    if (status < 0)
      return status;
    for (uint32_t i = 0; i < printer->folded.count; i++) {
      if (!printer->folded.lines[i].folded)
        measure_frame(printer, &printer->folded.lines[i]);
    }
  }
  struct columns *columns = &printer->columns;
  size_t left = printer->text->style->columns - FRAME_INDENT;
  left -= columns->place > 0 ? columns->place + GAP_CELLS : 0;
  if (printer->text->style->columns < HWI_NARROW_COLUMNS)
    columns->module = 0;
  else
    left -= columns->module + GAP_CELLS;
  left = larger(left, FUNCTION_MIN);
  columns->function = columns->function < left ? columns->function : left;
  return HW_OK;
}

static int print_stack(struct printer *printer, const struct hwi_selection *selection, uint64_t row,
                       struct hwi_error *error)
{
  struct hwi_text *text = printer->text;
  uint32_t stack = selection->stacks[row];
  const struct hwi_amount *amount = &selection->amounts[stack];
  hwi_text_cost(text, row + 1, hwi_amount_cost(amount, text->cost), hwi_amount_cost(&selection->all, text->cost));
  hwi_text_amounts(text, amount);
  if (text->report->options.thread == NULL) /* sizes are not kept by thread */
    add_sizes(text, stack);
  hwi_text_end(text, HWI_BOLD);
  int status = load(printer, stack, error);
  if (status < 0)
    return status;
  if (printer->frames->count == 0) {
    hwi_line_repeat(&text->line, " ", FRAME_INDENT);
    hwi_line_puts(&text->line, "stack not known");
    hwi_text_end(text, HWI_PLAIN);
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

static void print_rest(struct hwi_text *text, const struct hwi_amount *amount, uint64_t count, const char *what,
                       const char *hint)
{
  struct hwi_amount run = hwi_amount_of_run(&text->profile->totals);
  if (count == 0)
    return;
  hwi_text_cost(text, 0, hwi_amount_cost(amount, text->cost), hwi_amount_cost(&run, text->cost));
  hwi_line_puts(&text->line, "   in ");
  hwi_line_counted(&text->line, count, what);
  hwi_line_puts(&text->line, hint);
  hwi_text_end(text, HWI_PLAIN);
}

static void print_heading(struct hwi_text *text, const struct hwi_selection *selection)
{
  static const char *const headings[] = {"Top stacks at the peak", "Top stacks of what is live at the end",
                                         "Top stacks by allocations", "Top stacks by bytes allocated",
                                         "Top stacks by temporary allocations"};
  hwi_text_heading(text, headings[text->cost], "[--cost peak|live|calls|bytes|temporary]");
  hwi_text_narrowing(text, selection);
  hwi_text_amount_titles(text);
  if (text->report->options.thread == NULL)
    hwi_line_puts(&text->line, "   block sizes (how many)");
  hwi_text_end(text, HWI_DIM);
}

int hwi_text_stacks(struct hwi_text *text, const struct hwi_selection *selection, struct hwi_named_frames *frames,
                    struct hwi_error *error)
{
  struct printer printer = {.text = text, .frames = frames, .hint_given = text->report->options.all_frames};
  uint32_t count = 0; /* what costs nothing is not worth a row */
  while (count < selection->stack_count &&
         hwi_amount_cost(&selection->amounts[selection->stacks[count]], text->cost) > 0)
    count++;
  uint64_t rows = hwi_text_rows(text, count), all = hwi_amount_cost(&selection->all, text->cost);
  while (rows > 0 &&
         hwi_text_is_crumb(text, rows - 1,
                           hwi_amount_cost(&selection->amounts[selection->stacks[rows - 1]], text->cost), all))
    rows--;
  print_heading(text, selection);
  int status = measure(&printer, selection, rows, error);
  struct hwi_amount rest = selection->selected;
  for (uint64_t row = 0; row < rows && status == HW_OK; row++)
    status = print_stack(&printer, selection, row, error);
  struct hwi_amount shown = {0};
  for (uint64_t row = 0; row < rows; row++)
    hwi_amount_add(&shown, &selection->amounts[selection->stacks[row]]);
  hwi_amount_subtract(&rest, &shown);
  print_rest(text, &rest, count - rows, "more stack", " (--top 0)");
  print_rest(text, &selection->few_calls, selection->few_calls_count, "stack", " with fewer calls (--min-calls)");
  if (count == 0) {
    hwi_line_puts(&text->line, "      none");
    hwi_text_end(text, HWI_PLAIN);
  }
  hwi_folded_release(&printer.folded);
  return status;
}
