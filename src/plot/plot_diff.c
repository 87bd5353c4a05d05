/* plot_diff.c - charts of two runs: the live bytes of both, and the changes */
#include <inttypes.h>

#include "compare/row_text.h"
#include "plot/chart.h"
#include "plot/gnuplot.h"
#include "report/words/memory_stream.h"
#include "report/words/style.h"

enum { ROWS_DEFAULT = 15, ROWS_MAX = 60 };
#define LIVE_CM 7.5
#define AXES_CM 2.2
#define ROW_CM 0.5

struct drawing {
  struct hwi_comparison *comparison;
  FILE *script;
  uint32_t rows;
  struct hwi_line names[ROWS_MAX]; /* of the rows */
  bool has_timelines;              /* only whole runs have timelines, narrowed ones have none */
};

static const struct hwi_profile *profile_of(const struct drawing *drawing, int side)
{
  return drawing->comparison->sides[side].report.profile;
}

/* --- both runs in one chart --- */

/* If both peaks are nearly equal, the text of the lower one is placed below it. */
static bool is_below_other(const struct drawing *drawing, int side, uint64_t span_ns)
{
  const double near = 0.2; /* of the axis */
  const struct hwi_totals *it = &profile_of(drawing, side)->totals, *other = &profile_of(drawing, !side)->totals;
  bool is_lower = it->peak_bytes < other->peak_bytes || (it->peak_bytes == other->peak_bytes && side == HWI_OLD);
  double apart = ((double)it->peak_time_ns - (double)other->peak_time_ns) / (double)span_ns;
  return is_lower && (double)it->peak_bytes > (1 - near) * (double)other->peak_bytes && apart < near && apart > -near;
}

static void write_peak(const struct drawing *drawing, int side, uint64_t span_ns, const struct hwi_scale *time,
                       const struct hwi_scale *bytes)
{
  static const char *const names[HWI_SIDES] = {"old", "new"}, *const colours[HWI_SIDES] = {"#d55e00", "#0072b2"};
  const double near = 0.12; /* distance to an end of the axis, as a part of its length: closer than that, the text is on
                             * the other side */
  const struct hwi_totals *totals = &profile_of(drawing, side)->totals;
  double at = (double)totals->peak_time_ns / (double)span_ns;
  fprintf(drawing->script,
          "set label '%s: %s' at %.9g, %.9g %s offset 0, %s front boxed font ',8' textcolor '%s' "
          "point pointtype 7 pointsize 0.7 linecolor '%s'\n",
          names[side], hwi_bytes_text(totals->peak_bytes).text, (double)totals->peak_time_ns / time->per,
          (double)totals->peak_bytes / bytes->per,
          at < near       ? "left"
          : at > 1 - near ? "right"
                          : "center",
          is_below_other(drawing, side, span_ns) ? "-0.9" : "0.8", colours[side], colours[side]);
}

static void draw_live(const struct drawing *drawing, const struct hwi_box *box)
{
  FILE *script = drawing->script;
  uint64_t most = 0, duration_ns = 1;
  hwi_chart_timeline(script, profile_of(drawing, HWI_OLD), "old");
  hwi_chart_timeline(script, profile_of(drawing, HWI_NEW), "new");
  for (int side = 0; side < HWI_SIDES; side++) {
    const struct hwi_profile *profile = profile_of(drawing, side);
    most = profile->totals.peak_bytes > most ? profile->totals.peak_bytes : most;
    duration_ns = profile->duration_ns > duration_ns ? profile->duration_ns : duration_ns;
  }
  struct hwi_scale time = hwi_scale_of_time(duration_ns), bytes = hwi_scale_of_bytes(most);
  hwi_script_begin_panel(script, box, "Live heap");
  fprintf(script, "t = %g # nanoseconds in %s\nb = %g # bytes in %s\n", time.per, time.unit, bytes.per, bytes.unit);
  fprintf(script, "set xrange [0 : %.9g]\nset xlabel 'time since each run began (%s)'\n",
          (double)duration_ns / time.per, time.unit);
  hwi_script_axis(script, "y", "memory", &bytes, most);
  for (int side = 0; side < HWI_SIDES; side++)
    write_peak(drawing, side, duration_ns, &time, &bytes);
  hwi_script_legend_above(script);
  fputs("plot $old using ($1/t):($5/b) with steps linewidth 1.2 linecolor '#d55e00' dashtype (8,3) title 'old', \\\n"
        "     $new using ($1/t):($5/b) with steps linewidth 1.2 linecolor '#0072b2' title 'new'\n",
        script);
}

/* --- what changed --- */

static const char *title_of(const struct hwi_comparison *comparison)
{
  static const char *const titles[] = {"What changed at the peak", "What changed at the end",
                                       "What changed in allocations", "What changed in bytes allocated",
                                       "What changed in blocks freed at once"};
  return titles[comparison->cost];
}

static int64_t change_of(const struct drawing *drawing, uint32_t row)
{
  return hwi_change(drawing->comparison->rows[row].amounts, drawing->comparison->cost);
}

/* Finds the largest decrease and increase; 0 if there is none. */
static void find_reach(const struct drawing *drawing, int64_t *fall, int64_t *rise)
{
  *fall = *rise = 0;
  for (uint32_t row = 0; row < drawing->rows; row++) {
    int64_t change = change_of(drawing, row);
    *fall = change < *fall ? change : *fall;
    *rise = change > *rise ? change : *rise;
  }
}

static void write_changes(const struct drawing *drawing)
{
  const struct hwi_comparison *comparison = drawing->comparison;
  fputs("$changes << EOD\n# old new change\n", drawing->script);
  for (uint32_t row = 0; row < drawing->rows; row++) {
    const struct hwi_amount *amounts = comparison->rows[row].amounts;
    fprintf(drawing->script, "%" PRIu64 " %" PRIu64 " %" PRId64 "\n",
            hwi_amount_cost(&amounts[HWI_OLD], comparison->cost), hwi_amount_cost(&amounts[HWI_NEW], comparison->cost),
            change_of(drawing, row));
  }
  fputs("EOD\n", drawing->script);
}

static void name_rows(struct drawing *drawing)
{
  enum { NAME_CELLS = 54 };
  const struct hwi_style style = {.utf8 = true};
  for (uint32_t row = 0; row < drawing->rows; row++)
    hwi_diff_row_name(&drawing->names[row], drawing->comparison, &drawing->comparison->rows[row], NAME_CELLS, &style);
}

/* Returns the part of the width for the names. */
static double names_width(const struct drawing *drawing)
{
  const double margin = 0.04, a_cell = 0.0092, least = 0.15;
  size_t longest = 0;
  for (uint32_t row = 0; row < drawing->rows; row++) {
    size_t cells = hwi_cells(hwi_line_text(&drawing->names[row]));
    longest = cells > longest ? cells : longest;
  }
  double width = margin + a_cell * (double)longest;
  return width > least ? width : least;
}

static void write_rows(const struct drawing *drawing, const struct hwi_scale *scale)
{
  const enum hwi_cost cost = drawing->comparison->cost;
  fputs("set ytics font ',8' (", drawing->script);
  for (uint32_t row = 0; row < drawing->rows; row++) {
    fputs(row > 0 ? ", " : "", drawing->script);
    hwi_script_tic(drawing->script, &drawing->names[row]);
    fprintf(drawing->script, " -%" PRIu32, row);
  }
  fputs(")\n", drawing->script);
  for (uint32_t row = 0; row < drawing->rows; row++) {
    int64_t change = change_of(drawing, row);
    fprintf(drawing->script, "set label '%s' at %.9g, -%" PRIu32 " %s offset %s, 0 font ',7.5'\n",
            hwi_change_text(change, cost).text, (double)change / scale->per, row, change < 0 ? "right" : "left",
            change < 0 ? "-0.5" : "0.5");
  }
}

static void draw_nothing(const struct drawing *drawing, const struct hwi_box *box)
{
  write_changes(drawing);
  hwi_script_begin_panel(drawing->script, box, title_of(drawing->comparison));
  fputs("unset border\nunset tics\nset xrange [0 : 1]\nset yrange [0 : 1]\n", drawing->script);
  hwi_script_note(drawing->script, "nothing");
  fputs("plot NaN notitle\n", drawing->script);
}

static void draw_changes(const struct drawing *drawing, const struct hwi_box *box)
{
  const double room = 0.3, edge = 0.03; /* parts of the range, for the figures next to the bars */
  FILE *script = drawing->script;
  int64_t fall, rise;
  find_reach(drawing, &fall, &rise);
  uint64_t most = -(uint64_t)fall > (uint64_t)rise ? -(uint64_t)fall : (uint64_t)rise;
  bool is_bytes = hwi_cost_is_bytes(drawing->comparison->cost);
  struct hwi_scale scale = is_bytes ? hwi_scale_of_bytes(most) : hwi_scale_of_counts(most);
  double range = ((double)rise - (double)fall) / scale.per;
  double from = (double)fall / scale.per - range * (fall < 0 ? room : edge);
  double to = (double)rise / scale.per + range * (rise > 0 ? room : edge);
  write_changes(drawing);
  hwi_script_begin_panel(script, box, title_of(drawing->comparison));
  fprintf(script, "n = %g\nset xrange [%.9g : %.9g]\nset lmargin at screen %.4f\n", scale.per, from, to,
          box->x + box->width * names_width(drawing));
  fprintf(script, *scale.unit != '\0' ? "set xlabel 'change (%s)'\n" : "set xlabel 'change'\n", scale.unit);
  hwi_script_no_legend(script);
  hwi_script_rows(script, drawing->rows);
  write_rows(drawing, &scale);
  fputs("set arrow from 0, graph 0 to 0, graph 1 nohead linecolor '#444444' linewidth 0.6\n", script);
  fputs("plot $changes using ($3/n):(-$0):($3<0 ? $3/n : 0):($3<0 ? 0 : $3/n):(-$0-0.32):(-$0+0.32):($3<0 ? 0x0072b2 : "
        "0xd55e00) with boxxyerror fillcolor rgb variable notitle\n",
        script);
}

/* --- the whole --- */

static void draw(const struct drawing *drawing, const struct hwi_canvas *canvas)
{
  const double live_cm = drawing->has_timelines ? LIVE_CM : 0;
  const struct hwi_box live = {0, 1 - live_cm / canvas->height_cm, 1, live_cm / canvas->height_cm};
  const struct hwi_box changes = {0, 0, 1, 1 - live.height};
  hwi_gnuplot_begin(canvas, drawing->script);
  fputs("\nset multiplot\n", drawing->script);
  if (drawing->has_timelines)
    draw_live(drawing, &live);
  if (drawing->rows > 0)
    draw_changes(drawing, &changes);
  else
    draw_nothing(drawing, &changes);
  fputs("unset multiplot\nunset output\n", drawing->script);
}

/* Returns the number of rows; the largest change comes first. A group whose own figure did not change is not shown. */
static uint32_t row_count(const struct hwi_comparison *comparison)
{
  uint64_t top = comparison->options->report.top;
  top = top == HWI_TOP_DEFAULT ? ROWS_DEFAULT : top == 0 || top > ROWS_MAX ? ROWS_MAX : top;
  uint32_t rows = (uint32_t)(comparison->changed_count < top ? comparison->changed_count : top);
  while (rows > 0 && hwi_change(comparison->rows[rows - 1].amounts, comparison->cost) == 0)
    rows--;
  return rows;
}

int hwi_plot_write_diff(struct hwi_comparison *comparison, enum hwi_plot_form form, const char *script_path, FILE *out,
                        struct hwi_error *error)
{
  struct hwi_memory_stream script = {0};
  struct drawing drawing = {
      .comparison = comparison, .script = hwi_memory_stream_begin(&script), .rows = row_count(comparison)};
  if (!drawing.script)
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory for the charts");
  drawing.has_timelines = !hwi_comparison_is_narrowed(comparison) &&
                          profile_of(&drawing, HWI_OLD)->timeline_count > 0 &&
                          profile_of(&drawing, HWI_NEW)->timeline_count > 0;
  const struct hwi_canvas canvas = {form, script_path, HWI_FIGURE_CM,
                                    (drawing.has_timelines ? LIVE_CM : 0) + AXES_CM + ROW_CM * (drawing.rows + 1)};
  name_rows(&drawing);
  draw(&drawing, &canvas);
  int status = hwi_memory_stream_end(&script, drawing.script)
                   ? hwi_gnuplot_draw(form, script.text, script.bytes, out, error)
                   : hwi_error_set(error, HW_ERR_MEMORY, "no memory for the charts");
  for (uint32_t row = 0; row < drawing.rows; row++)
    hwi_line_release(&drawing.names[row]);
  hwi_memory_stream_release(&script);
  return status;
}
