/* diff_text_scopes.c - a scope of both runs as text: the line below its row */
#include <string.h>

#include "compare/row_text.h"
#include "compare/scope_rows.h"
#include "report/text/text.h"

/* Adds "1.2 us, was 900 ns"; without the earlier value if it reads the same, or if only one run has the scope. */
static void add_value(struct hwi_line *line, struct hwi_number old, struct hwi_number new,
                      const struct hwi_diff_row *row)
{
  const bool has_both = row->items[HWI_OLD] != HWI_NO_ITEM && row->items[HWI_NEW] != HWI_NO_ITEM;
  hwi_line_puts(line, hwi_diff_row_side(row) == HWI_NEW ? new.text : old.text);
  if (has_both && strcmp(old.text, new.text) != 0)
    hwi_line_printf(line, ", was %s", old.text);
}

static struct hwi_number mean_text(const struct hwi_diff_scope *scope)
{
  return hwi_short_time_text(scope->scope.duration_ns / (scope->scope.instances ? scope->scope.instances : 1));
}

void hwi_diff_text_scope(struct hwi_text *text, const struct hwi_comparison *comparison, const struct hwi_diff_row *row)
{
  enum { INDENT = 6 };
  struct hwi_diff_scope scopes[HWI_SIDES];
  hwi_diff_scopes_of(scopes, comparison, row);
  const struct hwi_diff_scope *old = &scopes[HWI_OLD], *new = &scopes[HWI_NEW];
  const struct {
    const char *label;
    struct hwi_number old, new;
  } values[] = {
      {"instances ", hwi_count_text(old->scope.instances), hwi_count_text(new->scope.instances)},
      {"; allocating ", hwi_count_text(old->scope.allocating), hwi_count_text(new->scope.allocating)},
      {"; mean ", mean_text(old), mean_text(new)},
      {"; longest ", hwi_short_time_text(old->scope.max_ns), hwi_short_time_text(new->scope.max_ns)},
      {"; net ", hwi_signed_bytes_text((int64_t)old->sum.net_bytes),
       hwi_signed_bytes_text((int64_t) new->sum.net_bytes)},
      {"; most net in one ", hwi_bytes_text(old->scope.peak_bytes), hwi_bytes_text(new->scope.peak_bytes)},
  };
  hwi_line_pad(&text->line, INDENT);
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    hwi_line_puts(&text->line, values[i].label);
    add_value(&text->line, values[i].old, values[i].new, row);
  }
  hwi_text_end_wrapped(text, INDENT + 2, HWI_DIM);
}
