/* chart.c - the live bytes along the run, in eighths of a character's height (or ASCII) */
#include <string.h>

#include "base/wide.h"
#include "report/content/control_group.h"
#include "report/content/evidence.h"
#include "report/text/text.h"

enum { CHART_ROWS = 3, EIGHTHS = 8, CHART_COLUMNS_MAX = 160, CHART_COLUMNS_MIN = 16 };

struct chart {
  uint64_t values[CHART_COLUMNS_MAX];
  bool silent[CHART_COLUMNS_MAX]; /* nothing was recorded in a part of it */
  unsigned columns;
  uint64_t from_ns, span_ns, most;
};

static unsigned column_of(const struct chart *chart, uint64_t ns)
{
  ns = ns > chart->from_ns ? ns - chart->from_ns : 0;
  uint64_t column = hwi_wide_share(ns, chart->columns, 0, chart->span_ns);
  return column < chart->columns ? (unsigned)column : chart->columns - 1;
}

/* Each column shows the highest value within it. Slices may be longer or shorter than columns. */
static void fill_values(struct chart *chart, const struct hwi_profile *profile)
{
  uint64_t from_ns = chart->from_ns;
  for (uint32_t i = 0; i < profile->timeline_count; i++) {
    const struct hwi_time_point *slice = &profile->timeline[i];
    unsigned last = column_of(chart, slice->ns > 0 ? slice->ns - 1 : 0);
    for (unsigned column = column_of(chart, from_ns); column <= last; column++) {
      if (chart->values[column] < slice->max_bytes)
        chart->values[column] = slice->max_bytes;
    }
    from_ns = slice->ns;
  }
  for (unsigned column = 0; column < chart->columns; column++)
    chart->most = chart->most < chart->values[column] ? chart->values[column] : chart->most;
}

static void mark_silent(void *context, const struct hwi_silence *silence)
{
  struct chart *chart = context;
  uint64_t end_ns = chart->from_ns + chart->span_ns;
  uint64_t to_ns = silence->to_ns < end_ns ? silence->to_ns : end_ns;
  if (silence->from_ns >= end_ns || to_ns < chart->from_ns)
    return;
  unsigned last = column_of(chart, to_ns > silence->from_ns ? to_ns - 1 : silence->from_ns);
  for (unsigned column = column_of(chart, silence->from_ns); column <= last; column++)
    chart->silent[column] = true;
}

/* Returns the part of a column's bar in `row` (0 is the lowest), in eighths. A value above 0 is always visible. */
static unsigned eighths(const struct chart *chart, unsigned column, unsigned row)
{
  uint64_t value = chart->values[column];
  uint64_t height = hwi_wide_share(value, CHART_ROWS * EIGHTHS, 0, chart->most);
  if (height == 0 && value > 0)
    height = 1;
  uint64_t below = (uint64_t)row * EIGHTHS;
  if (height <= below)
    return 0;
  return height - below > EIGHTHS ? EIGHTHS : (unsigned)(height - below);
}

/* Returns the glyphs for 0 to 8 eighths. */
static const char *const *glyphs_of(const struct hwi_style *style)
{
  static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  static const char *const ascii[] = {" ", ".", ".", ".", ":", ":", ":", "#", "#"};
  return style->utf8 ? blocks : ascii;
}

static void print_bars(struct hwi_text *text, const struct chart *chart, size_t label_cells)
{
  const char *const *glyphs = glyphs_of(text->style);
  for (unsigned row = CHART_ROWS; row-- > 0;) {
    const char *label = row == CHART_ROWS - 1 ? hwi_bytes_text(chart->most).text : "";
    hwi_line_right(&text->line, label, label_cells);
    hwi_line_puts(&text->line, text->style->utf8 ? " │" : " |");
    hwi_line_puts(&text->line, hwi_style_begin(text->style, HWI_CHART));
    for (unsigned column = 0; column < chart->columns; column++)
      hwi_line_puts(&text->line, glyphs[eighths(chart, column, row)]);
    hwi_line_puts(&text->line, hwi_style_begin(text->style, HWI_PLAIN));
    hwi_text_end(text, HWI_PLAIN);
  }
}

/* --- the memory of the control group, below its limit --- */

struct group_row {
  uint64_t bytes[CHART_COLUMNS_MAX];
  uint64_t limit;
};

/* Each column has the highest sample within it, or the one before. */
static void fill_group(struct group_row *group, const struct chart *chart, const struct hwi_trace_info *info)
{
  for (uint32_t i = 0; i < info->rss_count; i++) {
    const struct hwi_rss_point *point = &info->rss[i];
    if (point->sample.group_limit > 0)
      group->limit = point->sample.group_limit;
    if (point->ns < chart->from_ns || point->ns > chart->from_ns + chart->span_ns)
      continue;
    uint64_t *bytes = &group->bytes[column_of(chart, point->ns)];
    *bytes = point->sample.group_current > *bytes ? point->sample.group_current : *bytes;
  }
  for (unsigned column = 1; column < chart->columns; column++)
    if (group->bytes[column] == 0)
      group->bytes[column] = group->bytes[column - 1];
}

/* One row: a full column is the limit. */
static void print_group(struct hwi_text *text, const struct chart *chart, size_t label_cells)
{
  struct group_row group = {0};
  const struct hwi_control_group all = hwi_control_group_of(text->profile);
  if (!text->image || text->counted != 1 || !hwi_control_group_is_shown(&all))
    return;
  fill_group(&group, chart, text->image->info);
  if (group.limit == 0)
    return;
  hwi_line_right(&text->line, hwi_bytes_text(group.limit).text, label_cells);
  hwi_line_puts(&text->line, text->style->utf8 ? " │" : " |");
  hwi_line_puts(&text->line, hwi_style_begin(text->style, HWI_CHART));
  for (unsigned column = 0; column < chart->columns; column++) {
    const uint64_t bytes = group.bytes[column] < group.limit ? group.bytes[column] : group.limit;
    hwi_line_puts(&text->line, glyphs_of(text->style)[(bytes * EIGHTHS + group.limit / 2) / group.limit]);
  }
  hwi_line_puts(&text->line, hwi_style_begin(text->style, HWI_PLAIN));
  hwi_text_end(text, HWI_PLAIN);
  hwi_line_pad(&text->line, label_cells + 2);
  hwi_line_puts(&text->line, "memory of the control group, up to its limit");
  hwi_text_end(text, HWI_DIM);
}

/* --- the rest --- */

static void print_axis(struct hwi_text *text, const struct chart *chart, size_t label_cells)
{
  bool utf8 = text->style->utf8;
  hwi_line_right(&text->line, "0", label_cells);
  hwi_line_puts(&text->line, utf8 ? " └" : " +");
  for (unsigned column = 0; column < chart->columns; column++)
    hwi_line_puts(&text->line, chart->silent[column] ? "?" : utf8 ? "─" : "-");
  hwi_text_end(text, HWI_PLAIN);

  static const char peak[] = "peak";
  struct hwi_number start = chart->from_ns > 0 ? hwi_time_text(chart->from_ns) : (struct hwi_number){"0 s"};
  struct hwi_number end = hwi_time_text(chart->from_ns + chart->span_ns);
  size_t left = label_cells + 2, right = left + chart->columns - hwi_cells(end.text);
  size_t centre = left + column_of(chart, text->profile->totals.peak_time_ns);
  size_t from = centre > left + 1 ? centre - 1 : left;
  hwi_line_pad(&text->line, left);
  if (from > left + hwi_cells(start.text))
    hwi_line_puts(&text->line, start.text);
  if (from + sizeof peak < right) {
    if (from > left)
      hwi_line_pad(&text->line, from);
    hwi_line_puts(&text->line, peak);
  }
  hwi_line_pad(&text->line, right);
  hwi_line_puts(&text->line, end.text);
  hwi_text_end(text, HWI_DIM);
}

static void print_marks(struct hwi_text *text)
{
  const struct hwi_trace_info *info = text->image ? text->image->info : NULL;
  const char *separator = "marks  ";
  for (uint32_t i = 0; info && i < info->mark_count; i++) {
    if (info->marks[i].type != HW_TOOL_MARK)
      continue;
    hwi_line_printf(&text->line, "%s%s ", separator, hwi_time_text(info->marks[i].ns).text);
    hwi_line_clean(&text->line, info->marks[i].text);
    separator = ", ";
  }
  if (text->line.bytes > 0)
    hwi_text_end_wrapped(text, sizeof "marks  " - 1, HWI_PLAIN);
}

void hwi_text_chart(struct hwi_text *text)
{
  enum { LABEL_CELLS = 9, AXIS_CELLS = 2, MARGIN_CELLS = 4 };
  const struct hwi_profile *profile = text->profile;
  if (profile->timeline_count == 0)
    return;
  struct chart chart = {.from_ns = profile->span.from_ns};
  chart.span_ns = profile->timeline[profile->timeline_count - 1].ns - chart.from_ns;
  unsigned columns = text->style->columns - LABEL_CELLS - AXIS_CELLS - MARGIN_CELLS;
  chart.columns = columns < CHART_COLUMNS_MAX ? columns : CHART_COLUMNS_MAX;
  if (chart.span_ns == 0 || chart.columns < CHART_COLUMNS_MIN)
    return;
  fill_values(&chart, profile);
  if (chart.most == 0)
    return;
  if (text->image && text->counted == 1)
    hwi_evidence_silences(text->image->info, mark_silent, &chart);
  print_bars(text, &chart, LABEL_CELLS);
  print_axis(text, &chart, LABEL_CELLS);
  print_group(text, &chart, LABEL_CELLS);
  print_marks(text);
  hwi_text_blank(text);
}
