/* chart_durations.c - durations of calls: by entry point, and the slowest calls over time */
#include <inttypes.h>

#include "plot/chart.h"
#include "report/selection/entries.h"

#define AXES_CM 2.8
#define ROW_CM 0.55
#define SLOWEST_CM 7.0

double hwi_chart_durations_height_cm(const struct hwi_plot *plot)
{
  return AXES_CM + ROW_CM * (plot->durations.entry_count + 1) + SLOWEST_CM;
}

void hwi_chart_duration_axis(FILE *script, char axis, uint64_t least_ns, uint64_t most_ns)
{
  const double second = 1e9, edge = 1.6;
  least_ns = least_ns > 0 ? least_ns : 1;
  most_ns = most_ns > least_ns ? most_ns : least_ns;
  fprintf(script,
          "set logscale %c\nset format %c '%%.0s %%cs'\nset %crange [%.4g : %.4g]\nset %clabel 'duration of a call'\n",
          axis, axis, axis, (double)least_ns / second / edge, (double)most_ns / second * edge, axis);
}

/* --- by entry point --- */

static void write_entries(FILE *script, const struct hwi_report_durations *found)
{
  fputs("$durations << EOD\n# calls sum_ns p50_ns p99_ns p99_9_ns p99_99_ns max_ns\n", script);
  for (uint32_t row = 0; row < found->entry_count; row++) {
    const struct hwi_duration_tally *tally = &found->durations.entries[found->entries[row]];
    fprintf(script, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
            tally->calls, tally->sum_ns, hwi_duration_quantile(tally, HWI_DURATION_P50),
            hwi_duration_quantile(tally, HWI_DURATION_P99), hwi_duration_quantile(tally, HWI_DURATION_P99_9),
            hwi_duration_quantile(tally, HWI_DURATION_P99_99), tally->max_ns);
  }
  fputs("EOD\n", script);
}

static void write_names(FILE *script, const struct hwi_report_durations *found)
{
  fputs("set ytics (", script);
  for (uint32_t row = 0; row < found->entry_count; row++) {
    fputs(row > 0 ? ", " : "", script);
    hwi_script_text(script, hwi_entry_shown(found->entries[row]));
    fprintf(script, " -%" PRIu32, row);
  }
  fputs(found->entry_count > 0 ? ")\n" : "'' 0)\n", script);
}

/* Finds the smallest median and the slowest call. */
static void find_range(const struct hwi_report_durations *found, uint64_t *least_ns, uint64_t *most_ns)
{
  *least_ns = UINT64_MAX;
  *most_ns = 0;
  for (uint32_t row = 0; row < found->entry_count; row++) {
    const struct hwi_duration_tally *tally = &found->durations.entries[found->entries[row]];
    uint64_t half = hwi_duration_quantile(tally, HWI_DURATION_P50);
    *least_ns = tally->calls > 0 && half < *least_ns ? half : *least_ns;
    *most_ns = tally->max_ns > *most_ns ? tally->max_ns : *most_ns;
  }
  *least_ns = *least_ns == UINT64_MAX ? 1 : *least_ns;
}

static void draw_entries(const struct hwi_plot *plot, const struct hwi_box *box)
{
  const struct hwi_report_durations *found = &plot->durations;
  FILE *script = plot->script;
  uint64_t least_ns, most_ns;
  find_range(found, &least_ns, &most_ns);
  write_entries(script, found);
  hwi_script_begin_panel(script, box, "How long calls took");
  hwi_chart_duration_axis(script, 'x', least_ns, most_ns);
  hwi_script_rows(script, found->entry_count > 0 ? found->entry_count : 1);
  write_names(script, found);
  if (found->all.calls == 0) {
    hwi_script_note(script, "no call was timed");
    fputs("plot NaN notitle\n", script);
    return;
  }
  static const struct hwi_legend_name legend[] = {{"■", "median to 99 %", "#0072b2"},
                                                  {"■", "median to 99.99 %", "#8fbfdd"},
                                                  {"✚", "mean", HWI_MEAN_COLOUR},
                                                  {"●", "slowest", "#d55e00"}};
  for (uint32_t i = 0; i < sizeof legend / sizeof *legend; i++)
    hwi_script_legend_name(script, box, i, &legend[i]);
  fputs(
      "s = 1e9 # nanoseconds per second; a duration of 0 is drawn as 1 ns\n"
      "d(ns) = ns > 0 ? ns/s : 1/s\n"
      "plot $durations using (d($3)):(-$0):(d($3)):(d($6)):(-$0-0.08):(-$0+0.08) with boxxyerror fillcolor '#8fbfdd' "
      "notitle, \\\n"
      "     $durations using (d($3)):(-$0):(d($3)):(d($4)):(-$0-0.3):(-$0+0.3) with boxxyerror fillcolor '#0072b2' "
      "notitle, \\\n"
      "     $durations using (d($1 > 0 ? $2/$1 : 0)):(-$0) with points pointtype 1 pointsize 1.2 linewidth 2 linecolor '" HWI_MEAN_COLOUR
      "' notitle, \\\n"
      "     $durations using (d($7)):(-$0) with points pointtype 7 pointsize 0.9 linecolor '#d55e00' notitle\n",
      script);
}

/* --- the slowest --- */

static uint32_t row_of(const struct hwi_report_durations *found, uint8_t entry)
{
  uint32_t row = 0;
  while (row < found->entry_count && found->entries[row] != entry)
    row++;
  return row;
}

static void write_slowest(FILE *script, const struct hwi_report_durations *found)
{
  fputs("$slowest << EOD\n# time_ns took_ns row_of_durations\n", script);
  for (size_t i = 0; i < found->durations.slow_count; i++) {
    const struct hwi_slow_call *call = &found->durations.slowest[i];
    fprintf(script, "%" PRIu64 " %" PRIu64 " %" PRIu32 "\n", call->ns, call->took_ns, row_of(found, call->entry));
  }
  fputs("EOD\n", script);
}

/* Draws each entry point in its own colour, as long as there are colours. */
static void write_points(FILE *script, const struct hwi_report_durations *found, const struct hwi_box *box)
{
  enum { NAMED = HWI_COLOURS - 1 };
  uint32_t named = found->entry_count < NAMED ? found->entry_count : NAMED;
  for (uint32_t row = 0; row < found->entry_count && row <= named; row++)
    hwi_script_legend_name(script, box, row,
                           row < named
                               ? &(struct hwi_legend_name){"●", hwi_entry_shown(found->entries[row]), hwi_colours[row]}
                               : &(struct hwi_legend_name){"●", "others", HWI_COLOUR_REST});
  for (uint32_t row = 0; row < named; row++)
    fprintf(script,
            "%s$slowest using ($3 == %" PRIu32
            " ? $1/t : NaN):(d($2)) with points pointtype 7 pointsize 0.5 linecolor '%s' notitle",
            row > 0 ? ", \\\n     " : "plot ", row, hwi_colours[row]);
  if (found->entry_count > named)
    fprintf(script,
            ", \\\n     $slowest using ($3 >= %" PRIu32 " ? $1/t : NaN):(d($2)) with points pointtype 7 pointsize 0.5 "
            "linecolor '" HWI_COLOUR_REST "' notitle",
            named);
  fputs("\n", script);
}

static void draw_slowest(const struct hwi_plot *plot, const struct hwi_box *box)
{
  const struct hwi_durations *durations = &plot->durations.durations;
  FILE *script = plot->script;
  write_slowest(script, &plot->durations);
  hwi_script_begin_panel(script, box, "The slowest calls");
  hwi_script_time_axis(script, plot->profile);
  if (durations->slow_count == 0) {
    hwi_script_note(script, "no call was timed");
    fputs("set yrange [0 : 1]\nplot NaN notitle\n", script);
    return;
  }
  hwi_chart_duration_axis(script, 'y', durations->slowest[durations->slow_count - 1].took_ns,
                          durations->slowest[0].took_ns);
  fputs(HWI_SCRIPT_TWO_ROWS, script);
  write_points(script, &plot->durations, box);
}

void hwi_chart_durations(struct hwi_plot *plot, const struct hwi_box *box)
{
  double share = SLOWEST_CM / hwi_chart_durations_height_cm(plot);
  const struct hwi_box lower = {box->x, box->y, box->width, box->height * share};
  const struct hwi_box upper = {box->x, box->y + lower.height, box->width, box->height - lower.height};
  draw_entries(plot, &upper);
  draw_slowest(plot, &lower);
}
