/* stacks.c - the ranking by stack: figures, then the significant frames */
#include <stdlib.h>

#include "memory/heaps/heap.h"
#include "report/content/stack_sizes.h"
#include "report/text/frames.h"

enum { MEASURED_ROWS = 100 };

/* --- the sizes of a stack's blocks --- */

/* Adds "rounding +41.2 %": what usable sizes add to a stack's bytes at the peak, if both the share and the amount
 * are large. */
static void word_rounding(struct hwi_line *line, const struct hwi_text *text, const struct hwi_amount *amount)
{
  enum { SLACK_PART = 10, PEAK_PART = 100 };
  uint64_t slack = amount->peak_usable > amount->peak_bytes ? amount->peak_usable - amount->peak_bytes : 0;
  if (text->cost == HWI_COST_PEAK && slack >= amount->peak_bytes / SLACK_PART &&
      slack > text->profile->totals.peak_bytes / PEAK_PART)
    hwi_line_printf(line, "; rounding +%s", hwi_share_text(slack, amount->peak_bytes).text);
}

/* Adds as many sizes as there is room for. */
static void add_sizes(struct hwi_text *text, const struct hwi_duplicates_group *group, const struct hwi_amount *amount)
{
  struct hwi_stack_sizes sizes;
  struct hwi_line rounding = {0};
  if (!hwi_stack_sizes_init(&sizes, text->profile, group, text->cost)) {
    text->line.failed = true;
    return;
  }
  word_rounding(&rounding, text, amount);
  size_t used = hwi_cells(hwi_line_text(&text->line)) + rounding.bytes;
  size_t room = text->style->columns > used ? text->style->columns - used : 0;
  const char *separator = "   ";
  for (uint32_t i = 0; i < sizes.count; i++) {
    struct hwi_line item = {0};
    hwi_line_printf(&item, "%s%s (%s)", separator, hwi_bytes_text(sizes.items[i].size).text,
                    hwi_count_text(sizes.items[i].shown).text);
    size_t cells = hwi_cells(hwi_line_text(&item));
    bool fits = cells <= room;
    if (fits)
      hwi_line_puts(&text->line, hwi_line_text(&item));
    hwi_line_release_part(&text->line, &item);
    if (!fits)
      break;
    room -= cells;
    separator = ", ";
  }
  if (*separator == ',') /* there is a size before it */
    hwi_line_puts(&text->line, hwi_line_text(&rounding));
  hwi_line_release_part(&text->line, &rounding);
  hwi_stack_sizes_release(&sizes);
}

/* --- the ranking --- */

/* Makes the columns wide enough for the first stacks. */
static int measure(struct hwi_text_frames *printer, const struct hwi_duplicates *duplicates, uint64_t rows,
                   struct hwi_error *error)
{
  int status = HW_OK;
  for (uint64_t row = 0; row < rows && row < MEASURED_ROWS && status == HW_OK; row++)
    status = hwi_text_frames_measure(printer, duplicates->groups[row].stacks[0], error);
  hwi_text_frames_fit(printer);
  return status;
}

static struct hwi_amount sum_of(const struct hwi_selection *selection, const struct hwi_duplicates_group *group)
{
  struct hwi_amount sum = {0};
  for (uint32_t i = 0; i < group->count; i++)
    hwi_amount_add(&sum, &selection->amounts[group->stacks[i]]);
  return sum;
}

static int print_stack(struct hwi_text_frames *printer, const struct hwi_selection *selection,
                       const struct hwi_duplicates_group *group, uint64_t rank, struct hwi_error *error)
{
  struct hwi_text *text = printer->text;
  const struct hwi_amount amount = sum_of(selection, group);
  hwi_text_cost(text, rank, group->cost, hwi_amount_cost(&selection->all, text->cost));
  hwi_text_amounts(text, &amount);
  if (!hwi_narrowing_splits_stacks(&selection->narrowing)) /* else a part of them may be filtered out */
    add_sizes(text, group, &amount);
  hwi_text_end(text, HWI_BOLD);
  return hwi_text_frames_print(printer, group->stacks[0], error);
}

/* Several stacks that are not shown; `all` is the amount that shares are relative to. */
struct rest {
  const struct hwi_amount *amount, *all;
  uint64_t count;
};

static void print_rest(struct hwi_text *text, const struct rest *rest, const char *what, const char *hint)
{
  if (rest->count == 0)
    return;
  hwi_text_cost(text, 0, hwi_amount_cost(rest->amount, text->cost), hwi_amount_cost(rest->all, text->cost));
  hwi_line_puts(&text->line, "   in ");
  hwi_line_counted(&text->line, rest->count, what);
  hwi_line_puts(&text->line, hwi_style_hint(text->style, hint));
  hwi_text_end(text, HWI_PLAIN);
}

/* Prints how many stacks had nothing live at the peak and so have no row. These are the stacks after the first
 * `count`, except `shown` of them that are the same as stacks that have a row. */
static void print_others(struct hwi_text *text, const struct hwi_selection *selection, uint32_t count, uint64_t shown)
{
  uint64_t others = 0;
  for (uint32_t i = count; i < selection->stack_count; i++)
    others += selection->amounts[selection->stacks[i]].calls > 0;
  if (others <= shown || text->cost != HWI_COST_PEAK)
    return;
  hwi_line_puts(&text->line, "      ");
  hwi_line_counted(&text->line, others - shown, count > 0 ? "other stack" : "stack");
  hwi_line_printf(&text->line, " allocated, with nothing live at %s%s", hwi_text_cost_name(text).text,
                  hwi_style_hint(text->style, " (--cost calls)"));
  hwi_text_end(text, HWI_DIM);
}

void hwi_text_few_calls(struct hwi_text *text, const struct hwi_selection *selection)
{
  print_rest(text, &(struct rest){&selection->few_calls, &selection->all, selection->few_calls_count}, "stack",
             " with fewer calls (--min-calls)");
}

/* Else the only frame of a block is its type. */
static bool has_stacks(const struct hwi_core *core)
{
  return core->recording || core->heap->owners;
}

static void print_heading(struct hwi_text *text, const struct hwi_selection *selection)
{
  static const char *const headings[] = {"Top stacks at ", "Top stacks by live bytes at ", "Top stacks by allocations",
                                         "Top stacks by bytes allocated", "Top stacks by temporary allocations"};
  char heading[96];
  const bool is_narrow = text->profile->sample_bytes && text->style->columns < HWI_NARROW_COLUMNS;
  snprintf(heading, sizeof heading, "%s%s", headings[text->cost], hwi_text_cost_name(text).text);
  if (text->report->core)
    hwi_text_heading(text, has_stacks(text->report->core) ? "Live blocks by stack" : "Live blocks by type",
                     HWI_TEXT_BY_OF_CORE);
  else
    hwi_text_heading(text, heading, "[--cost peak|live|calls|bytes|temporary]");
  hwi_text_narrowing(text, selection);
  hwi_text_amount_titles(text);
  if (!hwi_narrowing_splits_stacks(&selection->narrowing))
    hwi_line_puts(&text->line, is_narrow ? "   block sizes" : "   block sizes (how many)");
  hwi_text_end(text, HWI_DIM);
}

/* Returns how many rows are printed. */
static uint64_t count_rows(const struct hwi_text *text, const struct hwi_selection *selection,
                           const struct hwi_duplicates *duplicates)
{
  uint64_t rows = duplicates->count, all = hwi_amount_cost(&selection->all, text->cost);
  while (rows > 0 && hwi_text_is_crumb(text, rows - 1, duplicates->groups[rows - 1].cost, all))
    rows--;
  return rows;
}

/* Prints what the rows do not show: `costly` stacks, and those whose cost is 0. */
static void print_left_out(struct hwi_text *text, const struct hwi_selection *selection,
                           const struct hwi_duplicates *duplicates, uint64_t rows)
{
  struct hwi_amount rest = selection->selected;
  uint32_t costly = 0;
  uint64_t costly_shown = 0, others_shown = 0;
  while (costly < selection->stack_count &&
         hwi_amount_cost(&selection->amounts[selection->stacks[costly]], text->cost) > 0)
    costly++;
  for (uint64_t row = 0; row < rows; row++) {
    for (uint32_t i = 0; i < duplicates->groups[row].count; i++) {
      const struct hwi_amount *amount = &selection->amounts[duplicates->groups[row].stacks[i]];
      hwi_amount_subtract(&rest, amount);
      costly_shown += hwi_amount_cost(amount, text->cost) > 0;
      others_shown += hwi_amount_cost(amount, text->cost) == 0 && amount->calls > 0;
    }
  }
  print_rest(text, &(struct rest){&rest, &selection->all, costly - costly_shown},
             text->report->core && !has_stacks(text->report->core) ? "more type" : "more stack", " (--top 0)");
  print_others(text, selection, costly, others_shown);
  hwi_text_few_calls(text, selection);
}

int hwi_text_stacks(struct hwi_text *text, const struct hwi_selection *selection, struct hwi_named_frames *frames,
                    struct hwi_error *error)
{
  struct hwi_text_frames printer;
  struct hwi_duplicates duplicates;
  struct hwi_duplicates_ranking ranking = hwi_duplicates_ranking_of(selection);
  ranking.least = 1; /* a cost of 0 has no row */
  int status = hwi_duplicates_init(&duplicates, frames, &ranking, hwi_text_rows(text, selection->stack_count), error);
  const uint64_t rows = count_rows(text, selection, &duplicates);
  hwi_text_frames_init(&printer, text, frames);
  print_heading(text, selection);
  if (status == HW_OK)
    status = measure(&printer, &duplicates, rows, error);
  for (uint64_t row = 0; row < rows && status == HW_OK; row++)
    status = print_stack(&printer, selection, &duplicates.groups[row], row + 1, error);
  print_left_out(text, selection, &duplicates, rows);
  hwi_text_frames_hint(&printer);
  if (rows == 0)
    hwi_text_none(text);
  hwi_text_frames_release(&printer);
  hwi_duplicates_release(&duplicates);
  return status;
}
