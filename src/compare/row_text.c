/* row_text.c - texts of a comparison: what its rows are called, and changes */
#include "compare/row_text.h"

#include <inttypes.h>
#include <stdio.h>

#include "report/selection/entries.h"
#include "report/text/text.h"

/* --- names of rows --- */

int hwi_diff_row_side(const struct hwi_diff_row *row)
{
  return row->items[HWI_NEW] != HWI_NO_ITEM ? HWI_NEW : HWI_OLD;
}

const char *hwi_diff_row_state(const struct hwi_diff_row *row, const char *both)
{
  if (row->items[HWI_OLD] == HWI_NO_ITEM)
    return "new";
  if (row->items[HWI_NEW] == HWI_NO_ITEM)
    return "gone";
  return row->similar ? "similar" : both;
}

bool hwi_comparison_is_grouped(const struct hwi_comparison *comparison)
{
  int by = comparison->options->report.by;
  return by == HWI_BY_FUNCTION || by == HWI_BY_FILE || by == HWI_BY_LINE || by == HWI_BY_MODULE;
}

bool hwi_comparison_has_totals(const struct hwi_comparison *comparison)
{
  return hwi_comparison_is_grouped(comparison) || comparison->options->report.by == HWI_BY_SCOPE;
}

static void add_threads(struct hwi_line *line, const struct hwi_profile_thread *thread, const struct hwi_diff_row *row)
{
  hwi_line_clean(line, thread->name);
  uint32_t old = row->item_counts[HWI_OLD], new = row->item_counts[HWI_NEW];
  if (old == new &&new > 1)
    hwi_line_printf(line, " (%" PRIu32 " threads)", new);
  else if (old + new > 1)
    hwi_line_printf(line, " (%" PRIu32 " threads, were %" PRIu32 ")", new, old);
}

void hwi_diff_row_name(struct hwi_line *line, struct hwi_comparison *comparison, const struct hwi_diff_row *row,
                       size_t cells, const struct hwi_style *style)
{
  struct hwi_compare_side *side = &comparison->sides[hwi_diff_row_side(row)];
  const struct hwi_profile *profile = side->report.profile;
  const struct hwi_text text = {.report = &side->report, .profile = profile, .style = style};
  const char *ellipsis = hwi_style_ellipsis(style);
  uint32_t item = row->items[hwi_diff_row_side(row)];
  struct hwi_line name = {0};
  if (hwi_comparison_is_grouped(comparison))
    hwi_text_group_name(&name, &text, &side->groups.items[item], cells);
  else if (comparison->options->report.by == HWI_BY_STACK)
    hwi_stack_label_add(&name, &(struct hwi_stack_label_words){&side->frames, ellipsis},
                        &(struct hwi_stack_label){.stack = item, .cells = cells, .via = true});
  else if (comparison->options->report.by == HWI_BY_ENTRY)
    hwi_line_puts(&name, hwi_entry_shown(item));
  else if (comparison->options->report.by == HWI_BY_SIZE)
    hwi_line_puts(&name, hwi_bytes_text(profile->sizes[item].size).text);
  else if (comparison->options->report.by == HWI_BY_SCOPE)
    hwi_text_scope_path(&name, &text, item);
  else
    add_threads(&name, &profile->threads[item], row);
  hwi_line_shorten(line, hwi_line_text(&name), cells, ellipsis);
  hwi_line_release_part(line, &name);
}

/* --- changes --- */

static struct hwi_number with_sign(uint64_t old, uint64_t new, struct hwi_number value)
{
  struct hwi_number signed_value;
  if (old == new)
    return value;
  snprintf(signed_value.text, sizeof signed_value.text, "%c%.30s", new > old ? '+' : '-', value.text);
  return signed_value;
}

struct hwi_number hwi_change_text(int64_t change, enum hwi_cost cost)
{
  uint64_t magnitude = change < 0 ? 0 - (uint64_t)change : (uint64_t)change;
  return change < 0 ? with_sign(magnitude, 0, hwi_cost_text(magnitude, cost))
                    : with_sign(0, magnitude, hwi_cost_text(magnitude, cost));
}

struct hwi_number hwi_change_share_text(uint64_t old, uint64_t new)
{
  enum { WHOLE_PERCENT = 100 };
  struct hwi_number number = {""};
  if (old == 0 || old == new)
    return number;
  double percent = 100.0 * ((double)new - (double)old) / (double)old;
  double magnitude = percent < 0 ? -percent : percent;
  if (magnitude < 0.05)
    snprintf(number.text, sizeof number.text, "%c<0.1 %%", new > old ? '+' : '-');
  else if (magnitude < WHOLE_PERCENT)
    snprintf(number.text, sizeof number.text, "%+.1f %%", percent);
  else
    snprintf(number.text, sizeof number.text, "%c%.26s %%", new > old ? '+' : '-',
             hwi_count_text((uint64_t)(magnitude + 0.5)).text);
  return number;
}

struct hwi_number hwi_change_time_text(uint64_t old_ns, uint64_t new_ns)
{
  return with_sign(old_ns, new_ns, hwi_time_text(new_ns > old_ns ? new_ns - old_ns : old_ns - new_ns));
}
