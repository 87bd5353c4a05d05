/* chart_live.c - live bytes over time: requested bytes, usable sizes, the resident set, the peak, marks, and gaps in
 * the recording */
#include <inttypes.h>

#include "plot/chart.h"
#include "report/content/evidence.h"

enum { MARKS_MAX = 12 };
#define HEAP_COLOUR "#0072b2"
#define USABLE_COLOUR "#e69f00"
#define RSS_COLOUR "#444444"

/* The ranges of the axes, and which curves exist. */
struct range {
  uint64_t from_ns, to_ns, most, most_rss;
  uint32_t rss_count; /* samples */
  bool has_usable, rss_is_apart;
};

/* A resident set more than this many times the heap would flatten the heap's curve, so it gets its own axis. */
enum { RSS_TIMES_MOST = 3 };

static bool is_narrowed(const struct hwi_plot *plot)
{
  return plot->selection.narrowing.rule_count > 0;
}

static bool is_within(const struct range *range, uint64_t ns)
{
  return ns >= range->from_ns && ns <= range->to_ns;
}

static void raise_to(struct range *range, uint64_t bytes)
{
  range->most = bytes > range->most ? bytes : range->most;
}

static struct range find_range(const struct hwi_plot *plot)
{
  struct range range = {.from_ns = plot->series.from_ns, .to_ns = plot->series.to_ns};
  for (uint32_t i = 0; i < plot->series.moment_count; i++) {
    raise_to(&range, plot->series.moments[i].kept.bytes);
    raise_to(&range, plot->series.moments[i].kept.usable);
    range.has_usable |= plot->series.moments[i].kept.usable > 0;
  }
  for (uint32_t i = 0; i < plot->profile->timeline_count && !is_narrowed(plot); i++) {
    raise_to(&range, plot->profile->timeline[i].max_bytes);
    raise_to(&range, plot->series.slice_usable[i]);
  }
  for (uint32_t i = 0; i < plot->rss.count && !is_narrowed(plot); i++) { /* the resident set is known for whole
                                                                          * processes only */
    const struct hwi_page_rss_point *point = &plot->rss.points[i];
    if (!is_within(&range, point->time_ns))
      continue;
    range.most_rss = point->rss_bytes > range.most_rss ? point->rss_bytes : range.most_rss;
    range.rss_count++;
  }
  range.rss_is_apart = range.most_rss / RSS_TIMES_MOST > range.most;
  if (!range.rss_is_apart)
    raise_to(&range, range.most_rss);
  return range;
}

/* --- data --- */

/* Writes each slice from its begin, and the end of the last one, up to which the steps go. */
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
  if (slice)
    fprintf(script, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", from_ns, from_ns,
            slice->live_bytes, slice->live_blocks, slice->max_bytes);
  fputs("EOD\n", script);
}

/* For a narrowed report, which has no timeline. */
static void write_moments(FILE *script, const struct hwi_series *series)
{
  fputs("$live << EOD\n# time_ns live_bytes usable_bytes\n", script);
  for (uint32_t i = 0; i < series->moment_count; i++)
    fprintf(script, "%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", series->moments[i].ns, series->moments[i].kept.bytes,
            series->moments[i].kept.usable);
  fputs("EOD\n", script);
}

static void write_usable(FILE *script, const struct hwi_series *series)
{
  const struct hwi_profile *profile = series->profile;
  uint64_t from_ns = profile->span.from_ns;
  uint32_t last = profile->timeline_count - 1;
  fputs("$usable << EOD\n# from_ns max_usable_bytes\n", script);
  for (uint32_t i = 0; i <= last; i++) {
    fprintf(script, "%" PRIu64 " %" PRIu64 "\n", from_ns, series->slice_usable[i]);
    from_ns = profile->timeline[i].ns;
  }
  fprintf(script, "%" PRIu64 " %" PRIu64 "\nEOD\n", from_ns, series->slice_usable[last]);
}

static void write_rss(FILE *script, const struct hwi_page_rss *rss)
{
  fputs("$rss << EOD\n# time_ns rss_bytes\n", script);
  for (uint32_t i = 0; i < rss->count; i++)
    fprintf(script, "%" PRIu64 " %" PRIu64 "\n", rss->points[i].time_ns, rss->points[i].rss_bytes);
  fputs("EOD\n", script);
}

/* --- marks, gaps and labels --- */

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
  const double right_part = 0.7; /* of the width; after it, the text is to the left of the point */
  double from = (double)axes->range.from_ns, span = (double)axes->range.to_ns - from;
  bool right = span > 0 && ((double)totals->peak_time_ns - from) / span > right_part;
  char words[sizeof "peak  at " + 2 * sizeof(struct hwi_number)];
  snprintf(words, sizeof words, "peak %s at %s", hwi_bytes_text(totals->peak_bytes).text,
           hwi_time_text(totals->peak_time_ns).text);
  fputs("set label ", axes->script);
  hwi_script_text(axes->script, words);
  fprintf(
      axes->script,
      " at %.9g, %.9g %s offset %s, 0.7 front boxed textcolor '#222222' point pointtype 7 pointsize 0.7 linecolor '#222222'\n",
      (double)totals->peak_time_ns / axes->time.per, (double)totals->peak_bytes / axes->bytes.per,
      right ? "right" : "left", right ? "0.6" : "-0.6");
}

/* --- the chart --- */

static void write_legend(const struct hwi_plot *plot, const struct range *range, const struct hwi_box *box)
{
  const struct hwi_legend_name names[] = {
      {"━", is_narrowed(plot) ? "requested (narrowed)" : "requested", HEAP_COLOUR},
      {"╍", "usable sizes", USABLE_COLOUR},
      {"┈", range->rss_is_apart ? "resident set (RSS), on the right" : "resident set (RSS)", RSS_COLOUR}};
  const bool has[] = {true, range->has_usable, range->rss_count > 0};
  for (uint32_t i = 0, place = 0; i < sizeof names / sizeof *names; i++) {
    if (has[i])
      hwi_script_legend_name(plot->script, box, place++, &names[i]);
  }
}

static void write_curves(const struct hwi_plot *plot, const struct range *range)
{
  FILE *script = plot->script;
  bool narrowed = is_narrowed(plot);
  fputs(narrowed ? "plot $live using ($1/t):($2/b) with filledcurves y1=0"
                 : "plot $live using ($1/t):($5/b) with fillsteps",
        script);
  fputs(" fillcolor '#c6dcec' notitle", script);
  if (range->has_usable)
    fprintf(script, ", \\\n     %s linewidth 1 linecolor '" USABLE_COLOUR "' dashtype (8,4) notitle",
            narrowed ? "$live using ($1/t):($3/b) with lines" : "$usable using ($1/t):($2/b) with steps");
  fprintf(script, ", \\\n     $live using %s linewidth 1.2 linecolor '" HEAP_COLOUR "' notitle",
          narrowed ? "($1/t):($2/b) with lines" : "($1/t):($5/b) with steps");
  if (range->rss_count > 0)
    fprintf(script, ", \\\n     $rss using ($1/t):($2/%s with %s linecolor '" RSS_COLOUR "' notitle",
            range->rss_is_apart ? "r) axes x1y2" : "b)",
            range->rss_count > 1 ? "lines linewidth 1 dashtype (2,3)" : "points pointtype 6 pointsize 0.7");
  fputs("\n", script);
}

/* Writes the resident set's own axis on the right. */
static void write_rss_axis(FILE *script, const struct range *range)
{
  struct hwi_scale bytes = hwi_scale_of_bytes(range->most_rss);
  fprintf(script, "r = %g # bytes of the resident set in %s\nset border 11\nset rmargin 9\n", bytes.per, bytes.unit);
  hwi_script_axis(script, "y2", "resident set", &bytes, range->most_rss);
}

void hwi_chart_live(struct hwi_plot *plot, const struct hwi_box *box)
{
  const struct hwi_profile *profile = plot->profile;
  FILE *script = plot->script;
  struct axes axes = {.script = script, .range = find_range(plot)};
  if (is_narrowed(plot)) {
    write_moments(script, &plot->series);
  } else {
    hwi_chart_timeline(script, profile, "live");
    if (axes.range.has_usable)
      write_usable(script, &plot->series);
    if (axes.range.rss_count > 0)
      write_rss(script, &plot->rss);
  }
  hwi_script_begin_panel(script, box, hwi_chart_title(plot, "Live heap").text);
  axes.time = hwi_script_time_axis(script, profile);
  axes.bytes = hwi_scale_of_bytes(axes.range.most);
  fprintf(script, HWI_SCRIPT_BYTES_MARGIN "b = %g # bytes in %s\n", axes.bytes.per, axes.bytes.unit);
  hwi_script_axis(script, "y", axes.range.rss_is_apart ? "heap" : "memory", &axes.bytes, axes.range.most);
  if (axes.range.rss_is_apart)
    write_rss_axis(script, &axes.range);
  if (plot->image) {
    hwi_evidence_silences(plot->image->info, write_silence, &axes);
    write_marks(&axes, plot->image->info);
  }
  if (!is_narrowed(plot) && profile->totals.peak_bytes > 0)
    write_peak(&axes, &profile->totals);
  if (axes.range.most == 0)
    hwi_script_note(script, "nothing was live");
  write_legend(plot, &axes.range, box);
  write_curves(plot, &axes.range);
}
