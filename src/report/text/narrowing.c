/* narrowing.c - prints what a text report is narrowed to, which part of the run that is, and what is suppressed */
#include "report/text/text.h"

/* Adds the rules of the same sort as `like`; `before` is the rule added last, or NULL. Returns the rule added last. */
static const struct hwi_narrowing_rule *add_rules_of(struct hwi_line *line, const struct hwi_narrowing *filter,
                                                     const struct hwi_narrowing_rule *like,
                                                     const struct hwi_narrowing_rule *before)
{
  for (uint32_t i = 0; i < filter->rule_count; i++) {
    const struct hwi_narrowing_rule *rule = &filter->rules[i];
    if (rule->name.kind != like->name.kind || rule->ignores != like->ignores)
      continue;
    if (!before || before->ignores != rule->ignores)
      hwi_line_printf(line, "%s%s", before ? "; " : "", rule->ignores ? "not " : "only ");
    else
      hwi_line_puts(line, rule->name.kind == before->name.kind || rule->ignores ? " or " : ", ");
    hwi_narrowing_rule_add(line, rule);
    before = rule;
  }
  return before;
}

void hwi_text_rules(struct hwi_line *line, const struct hwi_narrowing *filter)
{
  const struct hwi_narrowing_rule *before = NULL;
  for (uint8_t kind = 0; kind < HWI_NARROW_KINDS; kind++)
    before = add_rules_of(line, filter, &(struct hwi_narrowing_rule){.name.kind = kind}, before);
  for (uint8_t kind = 0; kind < HWI_NARROW_KINDS; kind++)
    before = add_rules_of(line, filter, &(struct hwi_narrowing_rule){.name.kind = kind, .ignores = true}, before);
}

static void add_traffic(struct hwi_text *text, const struct hwi_amount *left, const struct hwi_amount *run)
{
  struct hwi_line *line = &text->line;
  hwi_line_printf(line, ", %s of %s allocations", hwi_count_text(left->calls).text, hwi_count_text(run->calls).text);
  hwi_line_printf(line, ", %s of %s allocated", hwi_bytes_text(left->bytes).text, hwi_bytes_text(run->bytes).text);
  hwi_line_printf(line, ", %s of %s at %s", hwi_bytes_text(left->live_bytes).text, hwi_bytes_text(run->live_bytes).text,
                  hwi_text_end_name(text).text);
}

static void print_left(struct hwi_text *text, const struct hwi_selection *selection)
{
  struct hwi_amount run = hwi_amount_of_run(text->profile);
  const struct hwi_amount *left = &selection->all;
  struct hwi_line *line = &text->line;
  hwi_line_puts(line, "  ");
  hwi_text_rules(line, &selection->narrowing);
  if (hwi_amount_is_nothing(left)) {
    hwi_line_puts(line, ": nothing is left of the run");
    hwi_text_end_wrapped(text, 4, HWI_PLAIN);
    return;
  }
  hwi_line_puts(line, ": ");
  hwi_line_printf(line, "%s of %s at %s", hwi_bytes_text(left->peak_bytes).text, hwi_bytes_text(run.peak_bytes).text,
                  hwi_text_peak_name(text).text);
  if (text->profile->span.kind != HWI_SPAN_MOMENT) /* a moment has neither calls nor an end */
    add_traffic(text, left, &run);
  hwi_text_end_wrapped(text, 4, HWI_PLAIN);
}

void hwi_text_filter(struct hwi_text *text, const struct hwi_selection *selection)
{
  const struct hwi_narrowing *filter = &selection->narrowing;
  if (filter->rule_count == 0)
    return;
  print_left(text, selection);
  for (uint32_t i = 0; i < filter->rule_count; i++) {
    const struct hwi_narrowing_rule *rule = &filter->rules[i];
    if (rule->name.matched)
      continue;
    hwi_line_puts(&text->line, "  ");
    hwi_narrowing_explain(&text->line, rule, "this recording");
    hwi_text_end_wrapped(text, 4, HWI_ALARM);
  }
}

/* --- suppressions --- */

/* Adds `prefix` and text from outside, shortened to the rest of the line. */
static void add_shortened(struct hwi_text *text, const char *prefix, const char *value)
{
  struct hwi_line whole = {0};
  hwi_line_puts(&whole, prefix);
  hwi_line_clean(&whole, value);
  size_t used = hwi_cells(hwi_line_text(&text->line)), columns = text->style->columns;
  hwi_line_shorten(&text->line, hwi_line_text(&whole), columns > used ? columns - used : 0,
                   hwi_style_ellipsis(text->style));
  hwi_line_release_part(&text->line, &whole);
}

void hwi_text_suppressions(struct hwi_text *text, const struct hwi_suppressions *suppressions)
{
  enum { GAP_CELLS = 3 };
  hwi_text_blank(text);
  hwi_line_puts(&text->line, "Suppressed by ");
  add_shortened(text, "", suppressions->path);
  hwi_text_end(text, HWI_BOLD);
  hwi_line_right(&text->line, "bytes", HWI_RANK_CELLS - 1 + HWI_AMOUNT_CELLS);
  hwi_line_right(&text->line, "blocks", HWI_AMOUNT_CELLS);
  hwi_line_right(&text->line, "line", HWI_SHARE_CELLS);
  hwi_text_end(text, HWI_DIM);
  for (size_t i = 0; i < suppressions->count; i++) {
    const struct hwi_suppression *item = &suppressions->items[i];
    hwi_line_right(&text->line, hwi_bytes_text(item->bytes).text, HWI_RANK_CELLS - 1 + HWI_AMOUNT_CELLS);
    hwi_line_right(&text->line, hwi_count_text(item->blocks).text, HWI_AMOUNT_CELLS);
    hwi_line_right(&text->line, hwi_count_text(item->line).text, HWI_SHARE_CELLS);
    hwi_line_repeat(&text->line, " ", GAP_CELLS);
    add_shortened(text, "leak:", item->pattern);
    hwi_text_end(text, item->stacks > 0 ? HWI_PLAIN : HWI_ALARM);
  }
}
