/* durations.c - how long calls took: a row for each entry point, then the slowest calls with their stacks */
#include <inttypes.h>

#include "report/content/durations.h"
#include "report/selection/entries.h"
#include "report/text/frames.h"

enum { CALLS_CELLS = 12, TIME_CELLS = 8, GAP_CELLS = 3, NAME_MIN = 14, TOTAL_CELLS = 10, MEASURED_ROWS = 100 };

/* --- the table --- */

/* Returns how many cells the calls and the figures with a title take. */
static size_t figure_cells(void)
{
  size_t cells = CALLS_CELLS;
  for (const struct hwi_figure *figure = hwi_duration_figures; figure->key; figure++)
    cells += figure->title ? TIME_CELLS : 0;
  return cells;
}

static bool has_total(const struct hwi_text *text)
{
  return text->style->columns >= figure_cells() + TOTAL_CELLS + GAP_CELLS + 2 * NAME_MIN;
}

static void print_titles(struct hwi_text *text)
{
  hwi_line_right(&text->line, "calls", CALLS_CELLS);
  for (const struct hwi_figure *figure = hwi_duration_figures; figure->key; figure++) {
    if (figure->title)
      hwi_line_right(&text->line, figure->title, TIME_CELLS);
  }
  if (has_total(text))
    hwi_line_right(&text->line, "in all", TOTAL_CELLS);
  hwi_text_end(text, HWI_DIM);
}

static void add_time(struct hwi_text *text, uint64_t ns, size_t cells)
{
  hwi_line_right(&text->line, hwi_short_time_text(ns).text, cells);
}

static void print_tally(struct hwi_text *text, const struct hwi_duration_tally *tally, const char *name)
{
  hwi_line_right(&text->line, hwi_count_text(tally->calls).text, CALLS_CELLS);
  for (const struct hwi_figure *figure = hwi_duration_figures; figure->key; figure++) {
    if (figure->title)
      add_time(text, hwi_figure_value(figure, tally), TIME_CELLS);
  }
  if (has_total(text))
    add_time(text, tally->sum_ns, TOTAL_CELLS);
  size_t used = figure_cells() + GAP_CELLS + (has_total(text) ? TOTAL_CELLS : 0);
  if (text->style->columns < used + hwi_cells(name)) { /* the name goes below its figures */
    hwi_text_end(text, HWI_PLAIN);
    hwi_line_pad(&text->line, GAP_CELLS);
  } else {
    hwi_line_repeat(&text->line, " ", GAP_CELLS);
  }
  hwi_line_puts(&text->line, name);
  hwi_text_end(text, HWI_PLAIN);
}

static void print_remarks(struct hwi_text *text, const struct hwi_report_durations *found)
{
  if (found->clock_cost_ns == 0) /* recorded by another tool */
    hwi_line_puts(&text->line, "      Times are those of the recording; percentiles are at most 0.8 % too large.");
  else
    hwi_line_printf(
        &text->line,
        "      Times are of the allocator alone, each with %s for reading the clock; percentiles are at most 0.8 %% "
        "too large.",
        hwi_short_time_text(found->clock_cost_ns).text);
  hwi_text_end_wrapped(text, HWI_FRAMES_INDENT, HWI_DIM);
  if (found->all.untimed == 0)
    return;
  hwi_line_puts(&text->line, "      ");
  hwi_line_counted(&text->line, found->all.untimed, "more call");
  hwi_line_puts(&text->line, " without a duration (the first call, and calls that made other calls)");
  hwi_text_end_wrapped(text, HWI_FRAMES_INDENT, HWI_DIM);
}

static void print_table(struct hwi_text *text, const struct hwi_report_durations *found)
{
  if (found->all.calls == 0) {
    hwi_text_none(text);
    return;
  }
  print_titles(text);
  uint32_t rows = 0;
  for (uint32_t i = 0; i < found->entry_count; i++) {
    const struct hwi_duration_tally *tally = &found->durations.entries[found->entries[i]];
    if (tally->calls > 0)
      print_tally(text, tally, hwi_entry_shown(found->entries[i]));
    rows += tally->calls > 0;
  }
  if (rows > 1)
    print_tally(text, &found->all, "all calls");
  print_remarks(text, found);
}

/* --- the slowest --- */

static void add_thread(struct hwi_text *text, uint32_t number)
{
  const struct hwi_profile_thread *thread = &text->profile->threads[number];
  hwi_line_puts(&text->line, ", thread ");
  hwi_line_clean(&text->line, thread->name[0] != '\0' ? thread->name : "?");
  hwi_line_printf(&text->line, " (%" PRIu32 ")", thread->tid);
}

/* Returns what the row itself does not show. */
static const char *remark_of(const struct hwi_slow_call *call)
{
  if (call->failed)
    return ", failed";
  if (!call->is_free)
    return "";
  return call->stack != 0 ? ", allocated in" : ", of an unknown block";
}

static int print_call(struct hwi_text_frames *printer, const struct hwi_slow_call *call, uint64_t rank,
                      struct hwi_error *error)
{
  struct hwi_text *text = printer->text;
  hwi_line_right(&text->line, hwi_count_text(rank).text, HWI_RANK_CELLS - 1);
  add_time(text, call->took_ns, HWI_AMOUNT_CELLS);
  hwi_line_printf(&text->line, "   %s", hwi_entry_shown(call->entry));
  if (call->stack != 0)
    hwi_line_printf(&text->line, " of %s", hwi_bytes_text(call->size).text);
  hwi_line_printf(&text->line, " at %s", hwi_time_text(call->ns).text);
  add_thread(text, call->thread);
  hwi_line_puts(&text->line, remark_of(call));
  hwi_text_end_wrapped(text, HWI_FRAMES_INDENT, HWI_BOLD);
  return call->stack != 0 ? hwi_text_frames_print(printer, call->stack, error) : HW_OK;
}

static int print_slowest(struct hwi_text *text, const struct hwi_durations *durations, struct hwi_named_frames *frames,
                         struct hwi_error *error)
{
  struct hwi_text_frames printer;
  int status = HW_OK;
  hwi_text_frames_init(&printer, text, frames);
  for (size_t i = 0; i < durations->slow_count && i < MEASURED_ROWS && status == HW_OK; i++)
    if (durations->slowest[i].stack != 0)
      status = hwi_text_frames_measure(&printer, durations->slowest[i].stack, error);
  hwi_text_frames_fit(&printer);
  for (size_t i = 0; i < durations->slow_count && status == HW_OK; i++)
    status = print_call(&printer, &durations->slowest[i], i + 1, error);
  hwi_text_frames_release(&printer);
  return status;
}

int hwi_text_durations(struct hwi_text *text, const struct hwi_selection *selection, struct hwi_named_frames *frames,
                       struct hwi_error *error)
{
  struct hwi_report_durations found;
  const struct hwi_durations_wanted wanted = {.slow_calls = HWI_SLOW_CALLS_TEXT};
  int status = hwi_report_durations_init(&found, text->report, &selection->narrowing, wanted, error);
  if (status == HW_OK) {
    hwi_text_heading(text, "How long calls took", "");
    hwi_text_filter(text, selection);
    print_table(text, &found);
  }
  if (status == HW_OK && found.durations.slow_count > 0) {
    hwi_text_blank(text);
    hwi_text_heading(text, "The slowest calls", "[--top N]");
    status = print_slowest(text, &found.durations, frames, error);
  }
  hwi_report_durations_release(&found);
  return status;
}
