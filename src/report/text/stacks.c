/* stacks.c - the ranking by stack: figures, then the frames that say something */
#include <stdlib.h>

#include "report/stack_sizes.h"
#include "report/text/frames.h"

enum { MEASURED_ROWS = 100 };

/* --- the sizes of a stack's blocks --- */

/* "rounding +41.2 %": what usable sizes add to a stack's bytes at the peak, where that is much of them and not little at
 * all. */
static void word_rounding(struct hwi_line *line, const struct hwi_text *text, uint32_t number)
{
  enum { SLACK_PART = 10, PEAK_PART = 100 };
  const struct hwi_stack *stack = &text->profile->stacks[number];
  uint64_t slack = stack->peak_usable > stack->peak_bytes ? stack->peak_usable - stack->peak_bytes : 0;
  if (text->cost == HWI_COST_PEAK && slack >= stack->peak_bytes / SLACK_PART &&
      slack > text->profile->totals.peak_bytes / PEAK_PART)
    hwi_line_printf(line, "; rounding +%s", hwi_share_text(slack, stack->peak_bytes).text);
}

/* As many as there is room for. */
static void add_sizes(struct hwi_text *text, uint32_t stack)
{
  struct hwi_stack_sizes sizes;
  struct hwi_line rounding = {0};
  if (!hwi_stack_sizes_init(&sizes, text->profile, stack, text->cost)) {
    text->line.failed = true;
    return;
  }
  word_rounding(&rounding, text, stack);
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
  if (*separator == ',') /* a size stands before it */
    hwi_line_puts(&text->line, hwi_line_text(&rounding));
  hwi_line_release_part(&text->line, &rounding);
  hwi_stack_sizes_release(&sizes);
}

/* --- the ranking --- */

/* Columns as wide as the first stacks want them. */
static int measure(struct hwi_text_frames *printer, const struct hwi_selection *selection, uint64_t rows,
                   struct hwi_error *error)
{
  int status = HW_OK;
  for (uint64_t row = 0; row < rows && row < MEASURED_ROWS && status == HW_OK; row++)
    status = hwi_text_frames_measure(printer, selection->stacks[row], error);
  hwi_text_frames_fit(printer);
  return status;
}

static int print_stack(struct hwi_text_frames *printer, const struct hwi_selection *selection, uint64_t row,
                       struct hwi_error *error)
{
  struct hwi_text *text = printer->text;
  uint32_t stack = selection->stacks[row];
  const struct hwi_amount *amount = &selection->amounts[stack];
  hwi_text_cost(text, row + 1, hwi_amount_cost(amount, text->cost), hwi_amount_cost(&selection->all, text->cost));
  hwi_text_amounts(text, amount);
  if (!hwi_narrowing_splits_stacks(&selection->narrowing)) /* else they are not all its own */
    add_sizes(text, stack);
  hwi_text_end(text, HWI_BOLD);
  return hwi_text_frames_print(printer, stack, error);
}

/* Several stacks that are not shown, of `all` that there is. */
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

/* Stacks that had nothing live at the peak, and so no row: behind the first `count`. */
static void print_others(struct hwi_text *text, const struct hwi_selection *selection, uint32_t count)
{
  uint64_t others = 0;
  for (uint32_t i = count; i < selection->stack_count; i++)
    others += selection->amounts[selection->stacks[i]].calls > 0;
  if (others == 0 || text->cost != HWI_COST_PEAK)
    return;
  hwi_line_puts(&text->line, "      ");
  hwi_line_counted(&text->line, others, count > 0 ? "other stack" : "stack");
  hwi_line_printf(&text->line, " allocated, with nothing live at %s%s", hwi_text_cost_name(text).text,
                  hwi_style_hint(text->style, " (--cost calls)"));
  hwi_text_end(text, HWI_DIM);
}

void hwi_text_few_calls(struct hwi_text *text, const struct hwi_selection *selection)
{
  print_rest(text, &(struct rest){&selection->few_calls, &selection->all, selection->few_calls_count}, "stack",
             " with fewer calls (--min-calls)");
}

static void print_heading(struct hwi_text *text, const struct hwi_selection *selection)
{
  static const char *const headings[] = {"Top stacks at ", "Top stacks of what is live at ",
                                         "Top stacks by allocations", "Top stacks by bytes allocated",
                                         "Top stacks by temporary allocations"};
  char heading[96];
  snprintf(heading, sizeof heading, "%s%s", headings[text->cost], hwi_text_cost_name(text).text);
  hwi_text_heading(text, heading, "[--cost peak|live|calls|bytes|temporary]");
  hwi_text_narrowing(text, selection);
  hwi_text_amount_titles(text);
  if (!hwi_narrowing_splits_stacks(&selection->narrowing))
    hwi_line_puts(&text->line, "   block sizes (how many)");
  hwi_text_end(text, HWI_DIM);
}

int hwi_text_stacks(struct hwi_text *text, const struct hwi_selection *selection, struct hwi_named_frames *frames,
                    struct hwi_error *error)
{
  struct hwi_text_frames printer;
  hwi_text_frames_init(&printer, text, frames);
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
  print_rest(text, &(struct rest){&rest, &selection->all, count - rows}, "more stack", " (--top 0)");
  print_others(text, selection, count);
  hwi_text_few_calls(text, selection);
  hwi_text_frames_hint(&printer);
  if (count == 0) {
    hwi_line_puts(&text->line, "      none");
    hwi_text_end(text, HWI_PLAIN);
  }
  hwi_text_frames_release(&printer);
  return status;
}
