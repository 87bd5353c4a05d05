/* core_crash.c - how a signal ended the process of a core dump, in the head of the report: what the thread did, and its stack */
#include "report/content/core_crash.h"

#include <inttypes.h>

#include "base/base_name.h"
#include "report/names/symbol_name.h"
#include "report/text/text.h"

enum { LINES_MAX = 12, NAME_CELLS = 64 };

/* Adds "main (app.c:7)", "malloc (libc.so.6)", "?? (libc.so.6+0x2724a)". */
static void add_code(struct hwi_text *text, const struct hwi_symbol *symbol, const struct hwi_core_module *module,
                     uint64_t address)
{
  struct hwi_line *line = &text->line;
  if (symbol->function)
    hwi_symbol_name_add(line, symbol, NAME_CELLS, hwi_style_ellipsis(text->style));
  else
    hwi_line_puts(line, "??");
  hwi_line_puts(line, " (");
  hwi_line_clean(line, symbol->file ? hwi_base_name(symbol->file) : module ? hwi_base_name(module->path) : "no module");
  if (symbol->file)
    hwi_line_printf(line, ":%" PRIu32, symbol->line);
  else if (!symbol->function)
    hwi_line_printf(line, "+0x%" PRIx64, address - (module ? module->bias : 0));
  hwi_line_puts(line, symbol->inlined ? ", inlined)" : ")");
}

/* Prints the lines of a frame that is there so many times. Returns how many lines these are. */
static int print_frame(struct hwi_text *text, const struct hwi_thread_frame *frame, size_t times)
{
  const struct hwi_core_module *module;
  const struct hwi_symbol *symbols;
  const uint32_t count =
      hwi_core_names_code(text->report->core_names, frame->address, frame->is_return, &module, &symbols);
  for (uint32_t i = 0; i < count; i++) {
    hwi_line_puts(&text->line, "  ");
    add_code(text, &symbols[i], module, frame->address);
    if (times > 1 && i + 1 == count)
      hwi_line_printf(&text->line, ", %s times", hwi_count_text(times).text);
    hwi_text_end_wrapped(text, 4, HWI_PLAIN);
  }
  return (int)count;
}

/* A function that calls itself at the same place has one line. */
static void print_stack(struct hwi_text *text, const struct hwi_core_crash *crash)
{
  const size_t end = hwi_core_crash_shown_end(crash, text->report->core_names);
  int lines = 0;
  for (size_t i = crash->first, next; i < end; i = next) {
    for (next = i + 1; next < end && crash->stack->frames[next].address == crash->stack->frames[i].address; next++)
      continue;
    if (lines >= LINES_MAX) {
      hwi_line_puts(&text->line, "  and ");
      hwi_line_counted(&text->line, end - i, "more frame");
      hwi_text_end(text, HWI_DIM);
      return;
    }
    lines += print_frame(text, &crash->stack->frames[i], next - i);
  }
}

/* An address that was written beyond a block is proposed where the damage is listed. */
static void print_next(struct hwi_text *text, const struct hwi_core_crash *crash)
{
  static const char *const why[] = {[HWI_CRASH_FROM_DAMAGE] = "where the heap is damaged",
                                    [HWI_CRASH_FROM_REGISTER] = "to which its registers refer",
                                    [HWI_CRASH_FROM_STACK] = "to which its stack refers"};
  if (crash->source == HWI_CRASH_FROM_NOWHERE || (crash->damage && crash->damage->is_overrun))
    return;
  if (crash->source == HWI_CRASH_FROM_ACCESS)
    hwi_line_puts(&text->line, "--around crash shows what is there, and what its registers refer to.");
  else
    hwi_line_printf(&text->line, "--around crash shows what is around 0x%" PRIx64 ", %s.", crash->address,
                    why[crash->source]);
  hwi_text_end_wrapped(text, 2, HWI_PLAIN);
}

void hwi_text_core_crash(struct hwi_text *text)
{
  const struct hwi_memory *memory = text->report->core->memory;
  struct hwi_core_crash crash;
  hwi_core_crash_find(&crash, text->report->core_names);
  if (!crash.is_known)
    return;
  hwi_line_printf(&text->line, "Thread %" PRIu32 " ", memory->threads[0].tid);
  hwi_core_crash_add_cause(&text->line, &crash, memory);
  hwi_line_puts(&text->line, crash.stack ? ":" : ".");
  hwi_text_end_wrapped(text, 2, HWI_ALARM);
  print_stack(text, &crash);
  print_next(text, &crash);
}
