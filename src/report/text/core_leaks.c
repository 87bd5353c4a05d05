/* core_leaks.c - the leaks in a core dump: how many, of which kinds, and where they come from */
#include <inttypes.h>

#include "report/content/core_leaks.h"
#include "report/text/frames.h"

static void print_doubt(struct hwi_text *text, const struct hwi_core_heap_sum *sum, const char *what)
{
  if (!sum->blocks)
    return;
  hwi_line_printf(&text->line, "%s in ", hwi_bytes_text(sum->bytes).text);
  hwi_line_counted(&text->line, sum->blocks, "block");
  hwi_line_puts(&text->line, what);
  hwi_text_end_wrapped(text, 2, HWI_PLAIN);
}

static void print_sums(struct hwi_text *text, const struct hwi_core *core, const struct hwi_core_leaks *groups)
{
  const struct hwi_leaks *leaks = core->leaks;
  hwi_text_heading(text, "Leaks: live blocks that nothing reaches", "[--who ADDRESS]");
  hwi_text_core_sum(text, "direct", &groups->sums[HWI_LEAK_DIRECT], "no other leak refers to them");
  hwi_text_core_sum(text, "cycles", &groups->sums[HWI_LEAK_CYCLE], "they only refer to each other");
  hwi_text_core_sum(text, "indirect", &groups->sums[HWI_LEAK_INDIRECT], "other leaks refer to them");
  if (leaks->suppressed.blocks)
    hwi_text_core_sum(text, "suppressed", &leaks->suppressed, "known leaks, and what only they refer to");
  hwi_text_core_sum(text, "not leaked", &leaks->reached, "reached from a root");
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

static void print_rest(struct hwi_text *text, const struct hwi_core_leaks *leaks, uint64_t rows)
{
  uint64_t bytes = 0;
  for (uint64_t row = rows; row < leaks->count; row++)
    bytes += leaks->list[row].bytes;
  if (rows == leaks->count)
    return;
  hwi_text_cost(text, 0, bytes, leaks->all.bytes);
  hwi_line_puts(&text->line, "   ");
  hwi_text_rest(text, leaks->count - rows, "group");
  hwi_text_end(text, HWI_PLAIN);
}

int hwi_text_core_leaks(struct hwi_text *text, struct hwi_named_frames *frames, struct hwi_error *error)
{
  struct hwi_core_leaks leaks;
  struct hwi_text_frames printer;
  int status = hwi_core_leaks_group(&leaks, text->report, error);
  if (status < 0)
    return status;
  print_sums(text, text->report->core, &leaks);
  if (leaks.count == 0) {
    hwi_text_blank(text);
    hwi_line_puts(&text->line, "No leaks.");
    hwi_text_end(text, HWI_PLAIN);
  }
  const uint64_t rows = hwi_text_rows(text, leaks.count);
  hwi_text_blank(text);
  hwi_text_frames_init(&printer, text, frames);
  for (uint64_t row = 0; row < rows && status == HW_OK; row++)
    status = hwi_text_frames_measure(&printer, leaks.list[row].stack, error);
  hwi_text_frames_fit(&printer);
  for (uint64_t row = 0; row < rows && status == HW_OK; row++)
    status = print_leak(&printer, &leaks.list[row], row + 1, leaks.all.bytes, error);
  print_rest(text, &leaks, rows);
  hwi_text_frames_hint(&printer);
  hwi_text_frames_release(&printer);
  if (text->report->suppressions)
    hwi_text_suppressions(text, text->report->suppressions);
  hwi_core_leaks_release(&leaks);
  return status;
}
