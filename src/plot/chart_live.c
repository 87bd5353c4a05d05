/* chart_live.c - live bytes along time: the heap, what the allocator gave for it, the resident set, the peak, marks, silences */
#include <inttypes.h>

#include "plot/chart.h"
#include "report/evidence.h"

enum { MARKS_MAX = 12 };

/* What the axes have to hold, and what there is to show. */
struct range {
  uint64_t from_ns, to_ns, most;
  bool has_usable, has_rss;
};

static bool is_narrowed(const struct hwi_plot *plot)
{
  return plot->selection.narrowing.rule_count > 0;
}

static uint64_t sum_of(const struct hwi_series_moment *moment)
{
  uint64_t sum = 0;
  for (int part = 0; part <= HWI_PARTS_REST; part++)
    sum += moment->live[HWI_DIVISION_STACK][part];
  return sum;
}

static bool is_within(const struct range *range, uint64_t ns)
{
  return ns >= range->from_ns && ns <= range->to_ns;
}

static void raise(struct range *range, uint64_t bytes)
{
  range->most = bytes > range->most ? bytes : range->most;
}

static struct range find_range(const struct hwi_plot *plot)
{
  struct range range = {.from_ns = plot->series.from_ns, .to_ns = plot->series.to_ns};
  for (uint32_t i = 0; i < plot->series.moment_count; i++) {
    raise(&range, sum_of(&plot->series.moments[i]));
    raise(&range, plot->series.moments[i].usable);
    range.has_usable |= plot->series.moments[i].usable > 0;
  }
  for (uint32_t i = 0; i < plot->profile->timeline_count && !is_narrowed(plot); i++)
    raise(&range, plot->profile->timeline[i].max_bytes);
  for (uint32_t i = 0; i < plot->rss.count && !is_narrowed(plot); i++) { /* it is of whole processes */
    if (!is_within(&range, plot->rss.points[i].time_ns))
      continue;
    raise(&range, plot->rss.points[i].rss_bytes);
    range.has_rss = true;
  }
  return range;
}

/* --- data --- */

/* Each slice from its begin, and the last one's end, up to which the steps go. */
void hwi_chart_timeline(FILE *script, const struct hwi_profile *profile, const char *name)
{
  uint64_t from_ns = profile->span.from_ns;
  const struct hwi_time_point *slice = NULL;
  fprintf(script, "$%s << EOD\n# from_ns time_ns live_bytes live_blocks max_bytes\n", name);
  for (uint32_t i = 0; i < profile->timeline_count; i++) {
    slice = &profile->timeline[i];
    fprintf(script, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", from_ns, slice->ns,
            slice->live_bytes, slice->live_blocks, slice->max_bytes);
    from_ns = slice->ns;
  }
  if (slice != NULL)
    fprintf(script, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", from_ns, from_ns,
            slice->live_bytes, slice->live_blocks, slice->max_bytes);
  fputs("EOD\n", script);
}

static void write_moments(FILE *script, const struct hwi_series *series, const char *name)
{
  fprintf(script, "$%s << EOD\n# time_ns live_bytes usable_bytes\n", name);
  for (uint32_t i = 0; i < series->moment_count; i++)
    fprintf(script, "%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", series->moments[i].ns, sum_of(&series->moments[i]),
            series->moments[i].usable);
  fputs("EOD\n", script);
}

static void write_rss(FILE *script, const struct hwi_page_rss *rss)
{
  fputs("$rss << EOD\n# time_ns rss_bytes\n", script);
  for (uint32_t i = 0; i < rss->count; i++)
    fprintf(script, "%" PRIu64 " %" PRIu64 "\n", rss->points[i].time_ns, rss->points[i].rss_bytes);
  fputs("EOD\n", script);
}

/* --- what stands beside the curves --- */

struct axes {
  FILE *script;
  struct hwi_scale time, bytes;
  struct range range;
};

static void write_silence(void *context, const struct hwi_silence *silence)
{
  const struct axes *axes = context;
  if (silence->from_ns >= axes->range.to_ns || silence->to_ns <= axes->range.from_ns)
    return;
  uint64_t from_ns = silence->from_ns > axes->range.from_ns ? silence->from_ns : axes->range.from_ns;
  uint64_t to_ns = silence->to_ns < axes->range.to_ns ? silence->to_ns : axes->range.to_ns;
  fprintf(axes->script,
          "set object rectangle from first %.9g, graph 0 to first %.9g, graph 1 behind fillcolor '#e4e4e4' "
          "fillstyle solid noborder # nothing was recorded\n",
          (double)from_ns / axes->time.per, (double)to_ns / axes->time.per);
}

static void write_marks(const struct axes *axes, const struct hwi_trace_info *info)
{
  uint32_t shown = 0;
  for (uint32_t i = 0; i < info->mark_count && shown < MARKS_MAX; i++) {
    if (info->marks[i].type != HW_TOOL_MARK || !is_within(&axes->range, info->marks[i].ns))
      continue;
    struct hwi_line name = {0};
    enum { MARK_CELLS = 24 };
    double at = (double)info->marks[i].ns / axes->time.per;
    hwi_line_replace_invalid(&name, info->marks[i].text);
    struct hwi_line label = {0};
    hwi_line_shorten(&label, hwi_line_text(&name), MARK_CELLS, "…");
    fprintf(
        axes->script,
        "set arrow from first %.9g, graph 0 to first %.9g, graph 1 nohead linecolor '#777777' linewidth 0.7 dashtype '--'\n"
        "set label ",
        at, at);
    hwi_line_release_part(&label, &name);
    hwi_script_line(axes->script, &label);
    fprintf(axes->script, " at first %.9g, graph 0.98 right rotate by 90 offset 0.6, 0 textcolor '#555555' font ',7'\n",
            at);
    hwi_line_release(&label);
    shown++;
  }
}

static void write_peak(const struct axes *axes, const struct hwi_totals *totals)
{
  const double behind = 0.7; /* of the width: there the words stand before the point */
  double from = (double)axes->range.from_ns, span = (double)axes->range.to_ns - from;
  bool right = span > 0 && ((double)totals->peak_time_ns - from) / span > behind;
  char words[sizeof "peak  at " + 2 * sizeof(struct hwi_number)];
  snprintf(words, sizeof words, "peak %s at %s", hwi_bytes_text(totals->peak_bytes).text,
           hwi_time_text(totals->peak_time_ns).text);
  fputs("set label ", axes->script);
  hwi_script_text(axes->script, words);
  fprintf(
      axes->script,
      " at %.9g, %.9g %s offset %s, 0.7 front textcolor '#222222' point pointtype 7 pointsize 0.7 linecolor '#222222'\n",
      (double)totals->peak_time_ns / axes->time.per, (double)totals->peak_bytes / axes->bytes.per,
      right ? "right" : "left", right ? "0.6" : "-0.6");
}

/* --- the chart --- */

static void write_curves(const struct hwi_plot *plot, const struct range *range)
{
  FILE *script = plot->script;
  hwi_script_legend_above(script);
  if (is_narrowed(plot))
    fputs(
        "plot $live using ($1/t):($2/b) with filledcurves y1=0 fillcolor '#c6dcec' notitle, \\\n"
        "     $live using ($1/t):($2/b) with lines linewidth 1.2 linecolor '#0072b2' title 'asked for, of what is shown'",
        script);
  else
    fputs("plot $live using ($1/t):($5/b) with fillsteps fillcolor '#c6dcec' notitle, \\\n"
          "     $live using ($1/t):($5/b) with steps linewidth 1.2 linecolor '#0072b2' title 'asked for'",
          script);
  const char *usable = is_narrowed(plot) ? "$live" : "$usable";
  if (range->has_usable)
    fprintf(
        script,
        ", \\\n     %s using ($1/t):($3/b) with lines linewidth 1 linecolor '#e69f00' dashtype (8,4) title 'usable sizes'",
        usable);
  if (range->has_rss)
    fputs(
        ", \\\n     $rss using ($1/t):($2/b) with lines linewidth 1 linecolor '#444444' dashtype (2,3) title 'resident "
        "set (RSS)'",
        script);
  fputs("\n", script);
}

void hwi_chart_live(struct hwi_plot *plot, const struct hwi_box *box)
{
  const struct hwi_profile *profile = plot->profile;
  FILE *script = plot->script;
  struct axes axes = {.script = script, .range = find_range(plot)};
  if (is_narrowed(plot)) {
    write_moments(script, &plot->series, "live");
  } else {
    hwi_chart_timeline(script, profile, "live");
    if (axes.range.has_usable)
      write_moments(script, &plot->series, "usable");
    if (axes.range.has_rss)
      write_rss(script, &plot->rss);
  }
  hwi_script_begin_panel(script, box, "Live heap");
  axes.time = hwi_script_time_axis(script, profile);
  axes.bytes = hwi_scale_of_bytes(axes.range.most);
  fprintf(script, "b = %g # bytes in %s\n", axes.bytes.per, axes.bytes.unit);
  hwi_script_axis(script, 'y', "memory", &axes.bytes, axes.range.most);
  if (plot->image != NULL) {
    hwi_evidence_silences(plot->image->info, write_silence, &axes);
    write_marks(&axes, plot->image->info);
  }
  if (!is_narrowed(plot) && profile->totals.peak_bytes > 0)
    write_peak(&axes, &profile->totals);
  write_curves(plot, &axes.range);
}
