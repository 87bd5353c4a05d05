/* breaches.c - the calls in forbidden zones (HW_NO_ALLOC), each kind with its stack */
#include "report/text/frames.h"
#include "report/text/text.h"

static void print_breach(struct hwi_text *text, const struct hwi_breach *breach)
{
  hwi_line_puts(&text->line, "  ");
  hwi_line_counted(&text->line, breach->calls, breach->is_free ? "free" : "allocation");
  hwi_line_printf(&text->line, " (%s) in ", hwi_bytes_text(breach->bytes).text);
  hwi_text_scope_path(&text->line, text, breach->scope);
  hwi_line_printf(&text->line, ", first in instance %s at %s, thread \"", hwi_count_text(breach->first_instance).text,
                  hwi_time_text(breach->first_ns).text);
  hwi_line_clean(&text->line, text->profile->threads[breach->first_thread].name);
  hwi_line_puts(&text->line, breach->is_free && breach->stack ? "\"; the blocks are from" : "\"");
  hwi_text_end_wrapped(text, HWI_FRAMES_INDENT, HWI_PLAIN);
}

static int print_rows(struct hwi_text_frames *printer, uint64_t rows, struct hwi_error *error)
{
  struct hwi_text *text = printer->text;
  const struct hwi_breach *breaches = text->profile->breaches;
  int status = HW_OK;
  for (uint64_t i = 0; i < rows && status == HW_OK; i++)
    status = breaches[i].stack ? hwi_text_frames_measure(printer, breaches[i].stack, error) : HW_OK;
  hwi_text_frames_fit(printer);
  for (uint64_t i = 0; i < rows && status == HW_OK; i++) {
    print_breach(text, &breaches[i]);
    if (breaches[i].stack)
      status = hwi_text_frames_print(printer, breaches[i].stack, error);
  }
  return status;
}

int hwi_text_breaches(struct hwi_text *text, struct hwi_named_frames *frames, struct hwi_error *error)
{
  const uint64_t count = text->profile->breach_count, most = hwi_text_rows(text, count);
  const uint64_t rows = count < most ? count : most;
  if (count == 0)
    return HW_OK;
  hwi_text_blank(text);
  hwi_line_puts(&text->line, "Allocations and frees in forbidden zones, in the order of their first calls");
  hwi_text_end(text, HWI_BOLD);
  struct hwi_text_frames printer;
  hwi_text_frames_init(&printer, text, frames);
  int status = print_rows(&printer, rows, error);
  if (rows < count) {
    hwi_line_puts(&text->line, "  ");
    hwi_text_rest(text, count - rows, "more stack");
    hwi_text_end(text, HWI_PLAIN);
  }
  hwi_text_frames_release(&printer);
  return status;
}
