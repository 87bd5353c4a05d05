/* core_leaks.c - the leaks in a core dump: how many, of which kinds, and where they come from */
#include <inttypes.h>

#include "report/content/core_leaks.h"
#include "report/text/frames.h"

static void print_sum(struct hwi_text *text, const char *label, const struct hwi_core_heap_sum *sum, const char *more)
{
  enum { LABEL_CELLS = 12 };
  struct hwi_line blocks = {0};
  hwi_line_puts(&text->line, "  ");
  hwi_line_left(&text->line, label, LABEL_CELLS);
  hwi_line_right(&text->line, hwi_bytes_text(sum->bytes).text, HWI_AMOUNT_CELLS);
  hwi_line_puts(&text->line, "   ");
  hwi_line_counted(&blocks, sum->blocks, "block");
  hwi_line_left(&text->line, hwi_line_text(&blocks), 2 * HWI_AMOUNT_CELLS);
  hwi_line_release_part(&text->line, &blocks);
  const size_t used = hwi_cells(hwi_line_text(&text->line)), columns = text->style->columns;
  hwi_line_shorten(&text->line, more, columns > used ? columns - used : 0, hwi_style_ellipsis(text->style));
  hwi_text_end(text, HWI_PLAIN);
}

static void print_doubt(struct hwi_text *text, const struct hwi_core_heap_sum *sum, const char *what)
{
  if (!sum->blocks)
    return;
  hwi_line_printf(&text->line, "%s in ", hwi_bytes_text(sum->bytes).text);
  hwi_line_counted(&text->line, sum->blocks, "block");
  hwi_line_puts(&text->line, what);
  hwi_text_end_wrapped(text, 2, HWI_PLAIN);
}

static void print_sums(struct hwi_text *text, const struct hwi_core *core)
{
  const struct hwi_leaks *leaks = core->leaks;
  hwi_text_blank(text);
  hwi_text_heading(text, "Leaks: live blocks that nothing reaches", "[--who ADDRESS]");
  print_sum(text, "direct", &leaks->sums[HWI_LEAK_DIRECT], "no other leak refers to them");
  print_sum(text, "cycles", &leaks->sums[HWI_LEAK_CYCLE], "they only refer to each other");
  print_sum(text, "indirect", &leaks->sums[HWI_LEAK_INDIRECT], "other leaks refer to them");
  if (leaks->suppressed.blocks)
    print_sum(text, "suppressed", &leaks->suppressed, "known leaks, and what only they refer to");
  print_sum(text, "not leaked", &leaks->reached, "reached from a root");
  print_doubt(text, &leaks->by_interior,
              " are not leaked, but reached only over addresses inside of blocks, not over those of their starts.");
  print_doubt(text, &leaks->from_below,
              " of the leaks were reached below the end of a stack: by calls that have returned.");
  print_doubt(text, &leaks->from_freed, " of the leaks are reached from free blocks.");
  if (core->graph->unknown_bytes) {
    hwi_line_printf(&text->line,
                    "%s of memory are not in the core dump: blocks that only these reach are counted as leaks.",
                    hwi_bytes_text(core->graph->unknown_bytes).text);
    hwi_text_end_wrapped(text, 2, HWI_ALARM);
  }
}

static int print_leak(struct hwi_text_frames *printer, const struct hwi_core_leak *leak, uint64_t rank, uint64_t all,
                      struct hwi_error *error)
{
  struct hwi_text *text = printer->text;
  hwi_text_cost(text, rank, leak->bytes, all);
  hwi_line_puts(&text->line, "   ");
  hwi_line_counted(&text->line, leak->blocks, "block");
  if (leak->block_bytes)
    hwi_line_printf(&text->line, " of %s", hwi_bytes_text(leak->block_bytes).text);
  hwi_line_printf(&text->line, ", %s, %s %#" PRIx64,
                  leak->kind == HWI_LEAK_CYCLE ? "in cycles" : hwi_leak_kind_names[leak->kind],
                  leak->blocks == 1 ? "at" : "one at", leak->address);
  hwi_text_end(text, HWI_BOLD);
  return hwi_text_frames_print(printer, leak->stack, error);
}

static void print_rest(struct hwi_text *text, const struct hwi_core_leaks *leaks, uint64_t rows, uint64_t all)
{
  uint64_t bytes = 0;
  for (uint64_t row = rows; row < leaks->count; row++)
    bytes += leaks->list[row].bytes;
  if (rows == leaks->count)
    return;
  hwi_text_cost(text, 0, bytes, all);
  hwi_line_puts(&text->line, "   ");
  hwi_text_rest(text, leaks->count - rows, "group");
  hwi_text_end(text, HWI_PLAIN);
}

/* Blocks of a recording, or with owners in memory, have the sizes that were asked for; the sums are of usable sizes. */
static void print_sizes(struct hwi_text *text, uint64_t grouped_bytes)
{
  const struct hwi_leaks *leaks = text->report->core->leaks;
  uint64_t usable_bytes = 0;
  for (int kind = 0; kind < HWI_LEAK_KINDS; kind++)
    usable_bytes += leaks->sums[kind].bytes;
  if (usable_bytes == grouped_bytes)
    return;
  hwi_line_printf(&text->line, "These are usable sizes; of the leaks, %s were asked for, which are listed below.",
                  hwi_bytes_text(grouped_bytes).text);
  hwi_text_end_wrapped(text, 2, HWI_PLAIN);
}

int hwi_text_core_leaks(struct hwi_text *text, struct hwi_named_frames *frames, struct hwi_error *error)
{
  struct hwi_core_leaks leaks;
  struct hwi_text_frames printer;
  uint64_t all = 0;
  print_sums(text, text->report->core);
  int status = hwi_core_leaks_group(&leaks, text->report, error);
  if (status < 0)
    return status;
  const uint64_t rows = hwi_text_rows(text, leaks.count);
  for (size_t i = 0; i < leaks.count; i++)
    all += leaks.list[i].bytes;
  print_sizes(text, all);
  hwi_text_blank(text);
  hwi_text_frames_init(&printer, text, frames);
  for (uint64_t row = 0; row < rows && status == HW_OK; row++)
    status = hwi_text_frames_measure(&printer, leaks.list[row].stack, error);
  hwi_text_frames_fit(&printer);
  for (uint64_t row = 0; row < rows && status == HW_OK; row++)
    status = print_leak(&printer, &leaks.list[row], row + 1, all, error);
  print_rest(text, &leaks, rows, all);
  hwi_text_frames_hint(&printer);
  hwi_text_frames_release(&printer);
  if (text->report->suppressions)
    hwi_text_suppressions(text, text->report->suppressions);
  hwi_core_leaks_release(&leaks);
  return status;
}
