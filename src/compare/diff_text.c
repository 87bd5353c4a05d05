/* diff_text.c - a comparison as text: both runs' figures, then what changed, the largest change first */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "compare/compare.h"
#include "compare/duration_rows.h"
#include "compare/missing_names.h"
#include "compare/row_text.h"
#include "compare/scope_rows.h"
#include "profile/blocks/sample.h"
#include "report/content/evidence.h"
#include "report/text/frames.h"

enum {
  TOP_DEFAULT = 10,
  CHANGE_CELLS = 12,
  PERCENT_CELLS = 10,
  GAP_CELLS = 3,
  LABEL_CELLS = 14,
  FIGURE_CELLS = 15,
  FIGURE_CELLS_NARROW = 14, /* with an error after them */
};

struct printer {
  struct hwi_comparison *comparison;
  const struct hwi_style *style;
  struct hwi_text texts[HWI_SIDES]; /* output that is not about one side uses NEW's */
  struct hwi_text_frames frames[HWI_SIDES];
  struct hwi_line *line; /* NEW's */
};

static void end(struct printer *printer, enum hwi_emphasis emphasis)
{
  hwi_text_end(&printer->texts[HWI_NEW], emphasis);
}

static void end_wrapped(struct printer *printer, enum hwi_emphasis emphasis)
{
  hwi_text_end_wrapped(&printer->texts[HWI_NEW], 2, emphasis);
}

/* --- the head --- */

static const char *const side_names[HWI_SIDES] = {"OLD", "NEW"};

static void print_run(struct printer *printer, int side)
{
  const struct hwi_image *image = printer->texts[side].image;
  struct hwi_line name = {0}, command = {0};
  hwi_line_printf(printer->line, "%s  ", side_names[side]);
  if (image) {
    hwi_line_clean(&name, hwi_base_name(image->info->path));
    hwi_line_clean(&command, image->info->command);
  }
  const char *ellipsis = hwi_style_ellipsis(printer->style);
  hwi_line_shorten(printer->line, hwi_line_text(&name), printer->style->columns / 2, ellipsis);
  hwi_line_puts(printer->line, "   ");
  size_t used = hwi_cells(hwi_line_text(printer->line));
  hwi_line_shorten(printer->line, hwi_line_text(&command),
                   printer->style->columns > used ? printer->style->columns - used : 0, ellipsis);
  hwi_line_release(&name);
  hwi_line_release(&command);
  end(printer, HWI_BOLD);
}

static bool is_sampled(const struct printer *printer)
{
  return printer->texts[HWI_OLD].profile->sample_bytes || printer->texts[HWI_NEW].profile->sample_bytes;
}

/* Errors need the room of less important columns in a narrow window. */
static bool is_cramped(const struct printer *printer)
{
  return is_sampled(printer) && printer->style->columns < HWI_COLUMNS_DEFAULT;
}

static size_t figure_cells(const struct printer *printer)
{
  return is_cramped(printer) ? FIGURE_CELLS_NARROW : FIGURE_CELLS;
}

static void print_figure_line(struct printer *printer, const char *label, const struct hwi_number texts[3],
                              struct hwi_number share)
{
  hwi_line_puts(printer->line, "  ");
  hwi_line_left(printer->line, label, LABEL_CELLS);
  for (int i = 0; i < 3; i++)
    hwi_line_right(printer->line, texts[i].text, figure_cells(printer));
  hwi_line_right(printer->line, share.text, PERCENT_CELLS);
  end(printer, HWI_PLAIN);
}

/* Prints the filters of the comparison, and which patterns match nothing in either run. */
static void print_filter(struct printer *printer)
{
  const struct hwi_narrowing *old = &printer->comparison->sides[HWI_OLD].selection.narrowing;
  const struct hwi_narrowing *new = &printer->comparison->sides[HWI_NEW].selection.narrowing;
  if (new->rule_count == 0)
    return;
  hwi_line_puts(printer->line, "  ");
  hwi_text_rules(printer->line, new);
  end_wrapped(printer, HWI_PLAIN);
  for (uint32_t i = 0; i < new->rule_count; i++) {
    if (old->rules[i].name.matched || new->rules[i].name.matched)
      continue;
    hwi_line_puts(printer->line, "  ");
    hwi_narrowing_explain(printer->line, &new->rules[i], "either recording");
    end_wrapped(printer, HWI_ALARM);
  }
}

/* Returns the error of a change: the variance of a difference is the sum of both. A sample that has nothing of a row says
 * that there is, with 95 %, not more than the size from which one in 20 samples has nothing: exp(-3) is 5 %. */
static uint64_t error_of(const struct printer *printer, const struct hwi_amount amounts[HWI_SIDES], enum hwi_cost cost)
{
  enum { SAMPLES_MISSED = 3 };
  struct hwi_amount both = amounts[HWI_OLD];
  hwi_amount_add(&both, &amounts[HWI_NEW]);
  uint64_t error = hwi_amount_cost_error(&both, cost);
  for (int side = 0; side < HWI_SIDES && hwi_cost_is_bytes(cost); side++) {
    const uint64_t missed = SAMPLES_MISSED * printer->texts[side].profile->sample_bytes;
    if (hwi_amount_cost(&amounts[side], cost) == 0 && missed > error)
      error = missed;
  }
  return error;
}

/* Adds the error of a change of this unit. */
static void add_error(struct printer *printer, uint64_t error, enum hwi_cost unit)
{
  struct hwi_line text = {0};
  hwi_line_printf(&text, "%s %s", hwi_style_plus_minus(printer->style), hwi_cost_text(error, unit).text);
  hwi_line_right(printer->line, hwi_line_text(&text), CHANGE_CELLS);
  hwi_line_release(&text);
}

static bool is_within(const struct printer *printer, const struct hwi_amount amounts[HWI_SIDES], enum hwi_cost cost)
{
  const uint64_t error = error_of(printer, amounts, cost);
  return error > 0 && (uint64_t)llabs(hwi_change(amounts, cost)) <= error;
}

/* Prints a figure that is an estimate with this error, if either run is a sample. */
static void print_with_error(struct printer *printer, const char *label, const uint64_t values[HWI_SIDES],
                             enum hwi_cost unit, uint64_t error)
{
  const int64_t change = (int64_t)(values[HWI_NEW] - values[HWI_OLD]);
  hwi_line_puts(printer->line, "  ");
  hwi_line_left(printer->line, label, LABEL_CELLS);
  for (int side = 0; side < HWI_SIDES; side++)
    hwi_line_right(printer->line, hwi_cost_text(values[side], unit).text, figure_cells(printer));
  hwi_line_right(printer->line, hwi_change_text(change, unit).text, figure_cells(printer));
  if (!is_cramped(printer))
    hwi_line_right(printer->line, hwi_change_share_text(values[HWI_OLD], values[HWI_NEW]).text, PERCENT_CELLS);
  if (is_sampled(printer))
    add_error(printer, error, unit);
  if (error > 0 && (uint64_t)llabs(change) <= error)
    hwi_line_puts(printer->line, "  (within)");
  end(printer, HWI_PLAIN);
}

static void print_estimate(struct printer *printer, const char *label, enum hwi_cost cost)
{
  const struct hwi_amount *all = printer->comparison->all;
  const uint64_t values[HWI_SIDES] = {hwi_amount_cost(&all[HWI_OLD], cost), hwi_amount_cost(&all[HWI_NEW], cost)};
  print_with_error(printer, label, values, cost, error_of(printer, all, cost));
}

static void print_blocks(struct printer *printer)
{
  const struct hwi_amount *old = &printer->comparison->all[HWI_OLD], *new = &printer->comparison->all[HWI_NEW];
  print_with_error(printer, "  blocks", (const uint64_t[HWI_SIDES]){old->live_blocks, new->live_blocks}, HWI_COST_CALLS,
                   hwi_sample_error((double)old->variance.live_blocks + new->variance.live_blocks));
}

static void print_figure(struct printer *printer, const char *label, uint64_t old, uint64_t new, enum hwi_cost unit)
{
  const struct hwi_number texts[3] = {hwi_cost_text(old, unit), hwi_cost_text(new, unit),
                                      hwi_change_text((int64_t)(new - old), unit)};
  print_figure_line(printer, label, texts, hwi_change_share_text(old, new));
}

/* Returns whether all calls of both runs are known, although at least one is a sample. */
static bool knows_all_calls(const struct printer *printer)
{
  return is_sampled(printer) && !hwi_comparison_is_narrowed(printer->comparison) &&
         printer->texts[HWI_OLD].profile->calls_are_exact && printer->texts[HWI_NEW].profile->calls_are_exact;
}

static void say_sampled(struct printer *printer)
{
  if (!is_sampled(printer))
    return;
  hwi_line_puts(printer->line, "Sampled: ");
  for (int side = 0; side < HWI_SIDES; side++) {
    const uint64_t sample_bytes = printer->texts[side].profile->sample_bytes;
    hwi_line_printf(printer->line, "%s%s ", side > 0 ? ", " : "", side_names[side]);
    if (sample_bytes)
      hwi_line_printf(printer->line, "one allocation per %s", hwi_binary_bytes_text(sample_bytes).text);
    else
      hwi_line_puts(printer->line, "exact");
  }
  hwi_line_printf(printer->line, ". %s is the error of a change (95 %%); smaller changes are within it.",
                  hwi_style_plus_minus(printer->style));
  end_wrapped(printer, HWI_BOLD);
}

/* Prints the runs' figures for the filter. Frees and failures are known only for whole runs. */
static void print_figures(struct printer *printer)
{
  const struct hwi_profile *old = printer->texts[HWI_OLD].profile, *new = printer->texts[HWI_NEW].profile;
  say_sampled(printer);
  hwi_text_blank(&printer->texts[HWI_NEW]);
  print_filter(printer);
  hwi_line_repeat(printer->line, " ", 2 + LABEL_CELLS);
  hwi_line_right(printer->line, "old", figure_cells(printer));
  hwi_line_right(printer->line, "new", figure_cells(printer));
  hwi_line_right(printer->line, "change", figure_cells(printer));
  end(printer, HWI_DIM);
  if (old->is_of_memory || new->is_of_memory) { /* there is nothing else to compare */
    print_estimate(printer, "live", HWI_COST_LIVE);
    print_blocks(printer);
    hwi_text_blank(&printer->texts[HWI_NEW]);
    return;
  }
  print_estimate(printer, "peak", HWI_COST_PEAK);
  print_estimate(printer, "at the end", HWI_COST_LIVE);
  print_blocks(printer);
  if (knows_all_calls(printer)) {
    print_figure(printer, "allocated", old->totals.allocated_bytes, new->totals.allocated_bytes, HWI_COST_BYTES);
    print_figure(printer, "allocations", old->totals.allocation_calls, new->totals.allocation_calls, HWI_COST_CALLS);
  } else {
    print_estimate(printer, "allocated", HWI_COST_BYTES);
    print_estimate(printer, "allocations", HWI_COST_CALLS);
  }
  if (!hwi_comparison_is_narrowed(printer->comparison))
    print_figure(printer, "frees", old->totals.free_calls, new->totals.free_calls, HWI_COST_CALLS);
  print_estimate(printer, "temporary", HWI_COST_TEMPORARY);
  if (!hwi_comparison_is_narrowed(printer->comparison))
    print_figure(printer, "failed", old->totals.failed_calls, new->totals.failed_calls, HWI_COST_CALLS);
  const struct hwi_number times[3] = {hwi_time_text(old->duration_ns), hwi_time_text(new->duration_ns),
                                      hwi_change_time_text(old->duration_ns, new->duration_ns)};
  print_figure_line(printer, "duration", times, hwi_change_share_text(old->duration_ns, new->duration_ns));
  hwi_text_blank(&printer->texts[HWI_NEW]);
}

/* --- warnings about the figures --- */

/* Prints the report's notes on one run after its name, or nothing if there are none. */
static void print_notes(struct printer *printer, int side)
{
  char *notes = NULL;
  size_t bytes = 0;
  struct hwi_style style = *printer->style;
  style.out = open_memstream(&notes, &bytes);
  if (!style.out)
    return;
  printer->texts[side].style = &style;
  hwi_text_notes(&printer->texts[side]);
  printer->texts[side].style = printer->style;
  fclose(style.out);
  if (bytes > 0) {
    hwi_line_printf(printer->line, "About %s:", side_names[side]);
    end(printer, HWI_BOLD);
    fputs(notes, printer->style->out);
  }
  free(notes);
}

static int print_missing_names(struct printer *printer, int side, struct hwi_error *error)
{
  struct hwi_missing_names missing;
  const struct hwi_profile *profile = printer->texts[side].profile;
  int status = hwi_missing_names_init(&missing, &printer->comparison->sides[side].frames, error);
  if (status == HW_OK && missing.count > 0) {
    hwi_line_printf(printer->line, "%s has no names for ", side_names[side]);
    hwi_line_clean(printer->line, hwi_module_name(profile, missing.first));
    if (missing.count > 1)
      hwi_line_printf(printer->line, " and %s other%s", hwi_count_text(missing.count - 1).text,
                      missing.count > 2 ? "s" : "");
    hwi_line_printf(printer->line, " (%s): stacks through it can only be matched by module. ",
                    hwi_symbol_reason_text(missing.reasons[missing.first]));
    hwi_line_puts(printer->line,
                  profile->modules[missing.first].build_id_bytes
                      ? "record --keep-files keeps them; a copy of the file can be named by --debug-dir."
                      : "report --keep-names keeps them; copies of files need a build-id (-Wl,--build-id).");
    end_wrapped(printer, HWI_ALARM);
    hwi_text_blank(&printer->texts[HWI_NEW]);
  }
  hwi_missing_names_release(&missing);
  return status;
}

/* --- rows --- */

/* Returns the cost of the column after old and new: calls, or bytes if the ranking is by calls. */
static enum hwi_cost second_cost(const struct printer *printer)
{
  return printer->comparison->cost == HWI_COST_CALLS ? HWI_COST_BYTES : HWI_COST_CALLS;
}

/* A name after the figures needs the space of the percentage. */
static bool shows_percent(const struct printer *printer)
{
  const bool has_room =
      printer->comparison->options->report.by == HWI_BY_STACK || printer->style->columns >= HWI_NARROW_COLUMNS;
  return has_room && !is_cramped(printer);
}

static void print_titles(struct printer *printer)
{
  hwi_line_right(printer->line, "change", HWI_RANK_CELLS - 1 + CHANGE_CELLS);
  hwi_line_repeat(printer->line, " ", shows_percent(printer) ? PERCENT_CELLS : 0);
  hwi_line_right(printer->line, "old", CHANGE_CELLS);
  hwi_line_right(printer->line, "new", CHANGE_CELLS);
  const char *second = second_cost(printer) == HWI_COST_CALLS ? "calls" : "allocated";
  if (!is_cramped(printer))
    hwi_line_right(printer->line, hwi_comparison_has_totals(printer->comparison) ? "total" : second, CHANGE_CELLS);
  if (is_sampled(printer))
    hwi_line_right(printer->line, hwi_style_plus_minus(printer->style), CHANGE_CELLS);
  end(printer, HWI_DIM);
}

static void add_change(struct printer *printer, uint64_t rank, const struct hwi_amount amounts[HWI_SIDES])
{
  enum hwi_cost cost = printer->comparison->cost;
  struct hwi_number number = {""};
  if (rank > 0)
    snprintf(number.text, sizeof number.text, "%" PRIu64, rank);
  hwi_line_right(printer->line, number.text, HWI_RANK_CELLS - 1);
  hwi_line_right(printer->line, hwi_change_text(hwi_change(amounts, cost), cost).text, CHANGE_CELLS);
  if (!shows_percent(printer))
    return;
  struct hwi_number share =
      hwi_change_share_text(hwi_amount_cost(&amounts[HWI_OLD], cost), hwi_amount_cost(&amounts[HWI_NEW], cost));
  hwi_line_right(printer->line, share.text, PERCENT_CELLS);
}

static void add_figures(struct printer *printer, uint64_t rank, const struct hwi_diff_row *row)
{
  enum hwi_cost cost = printer->comparison->cost, second = second_cost(printer);
  add_change(printer, rank, row->amounts);
  for (int side = 0; side < HWI_SIDES; side++)
    hwi_line_right(printer->line, hwi_cost_text(hwi_amount_cost(&row->amounts[side], cost), cost).text, CHANGE_CELLS);
  struct hwi_number last = hwi_comparison_has_totals(printer->comparison)
                               ? hwi_change_text(hwi_change(row->totals, cost), cost)
                               : hwi_change_text(hwi_change(row->amounts, second), second);
  if (!is_cramped(printer))
    hwi_line_right(printer->line, last.text, CHANGE_CELLS);
  if (is_sampled(printer))
    add_error(printer, error_of(printer, row->amounts, cost), cost);
  hwi_line_repeat(printer->line, " ", GAP_CELLS);
  if (is_within(printer, row->amounts, cost))
    hwi_line_puts(printer->line, "(within) ");
}

static int print_stack_row(struct printer *printer, uint64_t rank, const struct hwi_diff_row *row,
                           struct hwi_error *error)
{
  int side = hwi_diff_row_side(row);
  add_figures(printer, rank, row);
  hwi_line_puts(printer->line, hwi_diff_row_state(row, ""));
  end(printer, HWI_BOLD);
  return hwi_text_frames_print(&printer->frames[side], row->items[side], error);
}

static void print_item_row(struct printer *printer, uint64_t rank, const struct hwi_diff_row *row)
{
  const char *state = hwi_diff_row_state(row, "");
  add_figures(printer, rank, row);
  if (*state != '\0')
    hwi_line_printf(printer->line, "%s: ", state);
  size_t used = hwi_cells(hwi_line_text(printer->line)), columns = printer->style->columns;
  hwi_diff_row_name(printer->line, printer->comparison, row, columns > used ? columns - used : 0, printer->style);
  end(printer, HWI_PLAIN);
  if (printer->comparison->options->report.by == HWI_BY_SCOPE)
    hwi_diff_text_scope(&printer->texts[HWI_NEW], printer->comparison, row);
}

/* Measures the columns, which the frames of both sides share. */
static int measure(struct printer *printer, size_t rows, struct hwi_error *error)
{
  enum { MEASURED_ROWS = 100 };
  int status = HW_OK;
  for (size_t i = 0; i < rows && i < MEASURED_ROWS && status == HW_OK; i++) {
    const struct hwi_diff_row *row = &printer->comparison->rows[i];
    int side = hwi_diff_row_side(row);
    status = hwi_text_frames_measure(&printer->frames[side], row->items[side], error);
    printer->frames[1 - side].columns = printer->frames[side].columns;
  }
  for (int side = 0; side < HWI_SIDES; side++)
    hwi_text_frames_fit(&printer->frames[side]);
  return status;
}

static void print_rest(struct printer *printer, size_t rows)
{
  const struct hwi_comparison *comparison = printer->comparison;
  static const char *const nouns[][2] = {
      {"more stack", "stack"}, {"more function", "function"},       {"more file", "file"},
      {"more line", "line"},   {"more module", "module"},           {"more thread", "thread"},
      {"more size", "size"},   {"more entry point", "entry point"}, {"more scope", "scope"}};
  struct hwi_amount rest[HWI_SIDES] = {{0}};
  for (size_t i = rows; i < comparison->changed_count; i++) {
    for (int side = 0; side < HWI_SIDES; side++)
      hwi_amount_add(&rest[side], &comparison->rows[i].amounts[side]);
  }
  const struct {
    size_t count;
    const char *what;
  } left_out[] = {{comparison->changed_count - rows, "(--top 0)"},
                  {comparison->few_calls_count, "with fewer calls (--min-calls)"},
                  {comparison->below_count, "that changed less (--threshold)"}};
  for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++) {
    if (left_out[i].count == 0)
      continue;
    if (i == 0)
      add_change(printer, 0, rest);
    hwi_line_puts(printer->line, i == 0 ? "   in " : "      also ");
    hwi_line_counted(printer->line, left_out[i].count, nouns[comparison->options->report.by][i > 0]);
    hwi_line_printf(printer->line, " %s", left_out[i].what);
    end(printer, HWI_PLAIN);
  }
  if (comparison->changed_count == 0) {
    const bool no_scopes = comparison->options->report.by == HWI_BY_SCOPE && comparison->row_count == 0;
    hwi_line_puts(printer->line, no_scopes ? "      nothing: neither program marked scopes" : "      nothing");
    end(printer, HWI_PLAIN);
  }
}

static size_t rows_of(const struct hwi_comparison *comparison)
{
  uint64_t top = comparison->options->report.top;
  if (top == HWI_TOP_DEFAULT)
    top = TOP_DEFAULT;
  return top == 0 || top > comparison->changed_count ? comparison->changed_count : (size_t)top;
}

static void print_heading(struct printer *printer)
{
  static const char *const whats[] = {"Stacks",  "Functions",   "Source files", "Source lines", "Modules",
                                      "Threads", "Block sizes", "Entry points", "Scopes"};
  static const char *const costs[] = {"at the peak", "at the end", "by allocations", "by bytes allocated",
                                      "by temporary allocations"};
  const bool are_of_memory =
      printer->texts[HWI_OLD].profile->is_of_memory && printer->texts[HWI_NEW].profile->is_of_memory;
  struct hwi_line heading = {0};
  hwi_line_printf(&heading, "%s that changed", whats[printer->comparison->options->report.by]);
  if (!are_of_memory)
    hwi_line_printf(&heading, " %s", costs[printer->comparison->cost]);
  hwi_text_heading(&printer->texts[HWI_NEW], hwi_line_text(&heading), "[--cost peak|live|calls|bytes|temporary]");
  hwi_line_release(&heading);
}

static int print_rows(struct printer *printer, struct hwi_error *error)
{
  const struct hwi_comparison *comparison = printer->comparison;
  size_t rows = rows_of(comparison);
  bool by_stack = comparison->options->report.by == HWI_BY_STACK;
  print_heading(printer);
  if (rows > 0)
    print_titles(printer);
  int status = by_stack ? measure(printer, rows, error) : HW_OK;
  for (size_t i = 0; i < rows && status == HW_OK; i++) {
    if (by_stack)
      status = print_stack_row(printer, i + 1, &comparison->rows[i], error);
    else
      print_item_row(printer, i + 1, &comparison->rows[i]);
  }
  print_rest(printer, rows);
  return status;
}

/* --- all of it --- */

static int init_text(struct printer *printer, int side, struct hwi_error *error)
{
  struct hwi_compare_side *of = &printer->comparison->sides[side];
  struct hwi_text *text = &printer->texts[side];
  *text = (struct hwi_text){
      .report = &of->report, .profile = of->report.profile, .style = printer->style, .cost = printer->comparison->cost};
  text->image = hwi_head_image(text->profile, &text->counted);
  hwi_text_frames_init(&printer->frames[side], text, &of->frames);
  return hwi_static_allocators_init(&text->static_allocators, &of->report, error);
}

int hwi_compare_text(struct hwi_comparison *comparison, const struct hwi_style *style, struct hwi_error *error)
{
  struct printer printer = {.comparison = comparison, .style = style};
  printer.line = &printer.texts[HWI_NEW].line;
  int status = HW_OK;
  for (int side = 0; side < HWI_SIDES && status == HW_OK; side++)
    status = init_text(&printer, side, error);
  if (status == HW_OK) {
    print_run(&printer, HWI_OLD);
    print_run(&printer, HWI_NEW);
    print_figures(&printer);
  }
  for (int side = 0; side < HWI_SIDES && status == HW_OK; side++) {
    print_notes(&printer, side);
    status = print_missing_names(&printer, side, error);
  }
  if (status == HW_OK && comparison->options->report.durations)
    status = hwi_diff_text_durations(&printer.texts[HWI_NEW], comparison, error);
  else if (status == HW_OK)
    status = print_rows(&printer, error);
  if (status == HW_OK && comparison->options->suppressions)
    hwi_text_suppressions(&printer.texts[HWI_NEW], comparison->options->suppressions);
  for (int side = 0; side < HWI_SIDES; side++) {
    hwi_text_frames_release(&printer.frames[side]);
    hwi_static_allocators_release(&printer.texts[side].static_allocators);
    hwi_line_release(&printer.texts[side].line);
  }
  return status;
}
