/* core_last_calls.c - the last calls of a recorded process whose trace is lost */
#include <inttypes.h>

#include "report/content/core_last_calls.h"
#include "report/selection/entries.h"
#include "report/text/text.h"

void hwi_text_core_recorder(struct hwi_text *text, const struct hwi_core *core)
{
  if (!core->recorded_to)
    return;
  hwi_line_puts(&text->line, "It was recorded to ");
  hwi_line_clean(&text->line, core->recorded_to);
  if (core->last_calls)
    hwi_line_puts(&text->line, ", which is not here; its last calls are at the end of this report.");
  else
    hwi_line_puts(&text->line, ": with --recording and that name, blocks have their stacks.");
  hwi_text_end_wrapped(text, 2, HWI_PLAIN);
}

static void print_call(struct hwi_text *text, const struct hwi_last_calls *calls, const struct hwi_last_call *call)
{
  enum { ENTRY_CELLS = 24 };
  struct hwi_last_call_stack stack;
  struct hwi_line shown = {0};
  hwi_last_call_stack_of(calls, call, &stack);
  hwi_line_puts(&text->line, "  ");
  hwi_line_left(&text->line, hwi_entry_shown(stack.entry), ENTRY_CELLS);
  hwi_line_right(&text->line, call->is_free ? "" : hwi_bytes_text(call->size).text, HWI_AMOUNT_CELLS);
  if (call->has_failed)
    hwi_line_puts(&text->line, "   failed");
  else
    hwi_line_printf(&text->line, "   %#" PRIx64, call->address);
  if (hwi_core_names_add_callers(text->report->core_names, stack.addresses, stack.count, &shown))
    hwi_line_printf(&text->line, "  %s", hwi_line_text(&shown));
  hwi_line_release_part(&text->line, &shown);
  hwi_text_end_wrapped(text, 4, HWI_PLAIN);
}

static void print_thread(struct hwi_text *text, const struct hwi_last_calls *calls,
                         const struct hwi_last_thread *thread)
{
  const uint64_t rows = hwi_text_rows(text, thread->count);
  if (!thread->count)
    return;
  hwi_line_printf(&text->line, "Thread %" PRIu32 ", ", thread->tid);
  hwi_line_clean(&text->line, thread->name);
  hwi_line_puts(&text->line,
                thread->is_ordered ? ", the latest first:" : ", the latest one of each stack, in no order of time:");
  hwi_text_end_wrapped(text, 2, HWI_PLAIN);
  for (uint64_t i = 0; i < rows; i++)
    print_call(text, calls, &thread->calls[i]);
}

void hwi_text_core_last_calls(struct hwi_text *text, const struct hwi_core *core)
{
  const struct hwi_last_calls *calls = core->last_calls;
  if (!calls || !calls->count)
    return;
  hwi_text_blank(text);
  hwi_text_heading(text, "Last calls that the recorder has in memory", "[--recording TRACE]");
  for (size_t i = 0; i < hwi_text_rows(text, calls->count); i++)
    print_thread(text, calls, &calls->threads[i]);
}
