/* counters.c - the counters that the program set: one line each */
#include <stdio.h>

#include "report/text/text.h"

enum { COUNTERS_SHOWN = 6, DIGITS = 10, VALUE_BYTES = 40 };

static void add_value(struct hwi_line *line, double value)
{
  char text[VALUE_BYTES];
  snprintf(text, sizeof text, "%.*g", DIGITS, value);
  hwi_line_puts(line, text);
}

static void print_counter(struct hwi_text *text, const struct hwi_program_counter *counter)
{
  hwi_line_puts(&text->line, "  ");
  hwi_line_clean(&text->line, counter->name);
  hwi_line_puts(&text->line, ": ");
  add_value(&text->line, counter->least);
  hwi_line_puts(&text->line, " to ");
  add_value(&text->line, counter->most);
  hwi_line_puts(&text->line, ", last ");
  add_value(&text->line, counter->last);
  hwi_line_puts(&text->line, " (");
  hwi_line_counted(&text->line, counter->sets, "value");
  hwi_line_puts(&text->line, ")");
  hwi_text_end_wrapped(text, 4, HWI_PLAIN);
}

void hwi_text_counters(struct hwi_text *text)
{
  const uint32_t count = text->profile->counter_count;
  if (count == 0)
    return;
  hwi_line_puts(&text->line, "Counters of the program");
  hwi_text_end(text, HWI_BOLD);
  for (uint32_t i = 0; i < count && i < COUNTERS_SHOWN; i++)
    print_counter(text, &text->profile->counters[i]);
  if (count > COUNTERS_SHOWN) {
    hwi_line_printf(&text->line, "  %s more (--json)", hwi_count_text(count - COUNTERS_SHOWN).text);
    hwi_text_end(text, HWI_DIM);
  }
  hwi_text_blank(text);
}
