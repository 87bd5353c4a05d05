/* row_name.c - what a row of a comparison is called */
#include "compare/row_name.h"

#include <inttypes.h>

#include "report/selection/entries.h"
#include "report/text/text.h"

int hwi_row_side(const struct hwi_row *row)
{
  return row->items[HWI_NEW] != HWI_NO_ITEM ? HWI_NEW : HWI_OLD;
}

bool hwi_comparison_is_grouped(const struct hwi_comparison *comparison)
{
  int by = comparison->options->report.by;
  return by == HWI_BY_FUNCTION || by == HWI_BY_FILE || by == HWI_BY_LINE || by == HWI_BY_MODULE;
}

static void add_threads(struct hwi_line *line, const struct hwi_profile_thread *thread, const struct hwi_row *row)
{
  hwi_line_clean(line, thread->name);
  uint32_t old = row->item_counts[HWI_OLD], new = row->item_counts[HWI_NEW];
  if (old == new &&new > 1)
    hwi_line_printf(line, " (%" PRIu32 " threads)", new);
  else if (old + new > 1)
    hwi_line_printf(line, " (%" PRIu32 " threads, were %" PRIu32 ")", new, old);
}

void hwi_row_name(struct hwi_line *line, struct hwi_comparison *comparison, const struct hwi_row *row, size_t cells,
                  const struct hwi_style *style)
{
  struct hwi_compare_side *side = &comparison->sides[hwi_row_side(row)];
  const struct hwi_profile *profile = side->report.profile;
  const struct hwi_text text = {.report = &side->report, .profile = profile, .style = style};
  const char *ellipsis = hwi_style_ellipsis(style);
  uint32_t item = row->items[hwi_row_side(row)];
  struct hwi_line name = {0};
  if (hwi_comparison_is_grouped(comparison))
    hwi_text_group_name(&name, &text, &side->groups.items[item], cells);
  else if (comparison->options->report.by == HWI_BY_STACK)
    hwi_who_add(&name, &(struct hwi_who_words){&side->frames, ellipsis},
                &(struct hwi_who){.stack = item, .cells = cells, .via = true});
  else if (comparison->options->report.by == HWI_BY_ENTRY)
    hwi_line_puts(&name, hwi_entry_shown(item));
  else if (comparison->options->report.by == HWI_BY_SIZE)
    hwi_line_puts(&name, hwi_bytes_text(profile->sizes[item].size).text);
  else
    add_threads(&name, &profile->threads[item], row);
  hwi_line_shorten(line, hwi_line_text(&name), cells, ellipsis);
  hwi_line_release_part(line, &name);
}
