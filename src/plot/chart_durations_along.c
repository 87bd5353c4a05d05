/* chart_durations_along.c - every call by its time and its duration, with the mean: a panel for each entry point
 *
 * Since millions of calls would be one black cloud, the panel is divided into cells: a cell with calls has one dot,
 * which is darker for more calls.
 */
#include <inttypes.h>

#include "plot/chart.h"
#include "report/selection/entries.h"

enum { PANELS_MAX = 6, TITLE_BYTES = 128 };
#define PANEL_CM 4.2
#define AXIS_CM 0.9 /* height of the axis below the last panel */

/* Returns the number of panels; they show the entry points with the most total time. */
static uint32_t count_panels(const struct hwi_report_durations *found)
{
  uint32_t count = 0;
  while (count < found->entry_count && count < PANELS_MAX && found->durations.entries[found->entries[count]].calls > 0)
    count++;
  return count;
}

double hwi_chart_durations_along_height_cm(const struct hwi_plot *plot)
{
  uint32_t panels = count_panels(&plot->durations);
  return PANEL_CM * (panels > 0 ? panels : 1) + AXIS_CM;
}

/* --- data --- */

/* The common range of all panels, so that they can be compared. */
struct range {
  uint64_t least_ns, most_ns;
};

static uint64_t middle_of(uint32_t band)
{
  uint64_t from = hwi_log_bucket_from(band, HWI_ALONG_BAND_BITS), to = hwi_log_bucket_to(band, HWI_ALONG_BAND_BITS);
  return from + (to - from) / 2;
}

static void write_cells(FILE *script, const struct hwi_durations_along *along, uint8_t entry, struct range *range)
{
  for (uint32_t slice = 0; slice < HWI_ALONG_SLICES; slice++) {
    for (uint32_t band = 0; band < HWI_ALONG_BANDS; band++) {
      uint64_t calls = hwi_durations_along_cell(along, entry, slice, band), took_ns = middle_of(band);
      if (calls == 0)
        continue;
      fprintf(script, "%" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
              along->from_ns + along->slice_ns * slice + along->slice_ns / 2, took_ns, calls);
      range->least_ns = took_ns < range->least_ns ? took_ns : range->least_ns;
      range->most_ns = took_ns > range->most_ns ? took_ns : range->most_ns;
    }
  }
}

/* Writes a data block for each panel: $along0, $along1, ... */
static struct range write_data(FILE *script, const struct hwi_report_durations *found, uint32_t panels)
{
  struct range range = {UINT64_MAX, 0};
  for (uint32_t i = 0; i < panels; i++) {
    fprintf(script, "$along%" PRIu32 " << EOD\n# time_ns took_ns calls\n", i);
    write_cells(script, &found->along, found->entries[i], &range);
    fputs("EOD\n", script);
  }
  return range;
}

/* --- drawing --- */

static const struct {
  uint64_t most; /* calls in a cell */
  const char *name, *colour;
} shades[] = {{1, "one call", "#8fbfdd"}, {9, "up to 9", "#3d8fc4"}, {UINT64_MAX, "10 or more", "#0a3d66"}};
enum { SHADES = sizeof shades / sizeof *shades };

static void write_legend(FILE *script, const struct hwi_box *box)
{
  uint32_t i = 0;
  for (; i < SHADES; i++)
    hwi_script_legend_name(script, box, i, &(struct hwi_legend_name){"●", shades[i].name, shades[i].colour});
  hwi_script_legend_name(script, box, i, &(struct hwi_legend_name){"╍╍", " mean", HWI_MEAN_COLOUR});
}

/* Darker shades are drawn over lighter ones. */
static void write_plot(FILE *script, uint32_t panel, double mean_ns)
{
  uint64_t above = 0;
  for (uint32_t i = 0; i < SHADES; i++) {
    fprintf(script,
            "%s$along%" PRIu32 " using ($3 > %" PRIu64 " && $3 <= %" PRIu64
            " ? $1/t : NaN):($2 > 0 ? $2/1e9 : 1e-9) with points pointtype 7 pointsize 0.25 linecolor '%s' notitle",
            i > 0 ? ", \\\n     " : "plot ", panel, above, shades[i].most, shades[i].colour);
    above = shades[i].most;
  }
  fprintf(script, ", \\\n     %.4g with lines dashtype 2 linewidth 1.6 linecolor '" HWI_MEAN_COLOUR "' notitle\n",
          mean_ns / 1e9);
}

static void draw_panel(const struct hwi_plot *plot, const struct hwi_box *box, uint32_t panel, struct range range)
{
  const struct hwi_report_durations *found = &plot->durations;
  const struct hwi_duration_tally *tally = &found->durations.entries[found->entries[panel]];
  const double mean_ns = (double)tally->sum_ns / (double)tally->calls;
  FILE *script = plot->script;
  char title[TITLE_BYTES];
  snprintf(title, sizeof title, "%s: %s calls, mean %.4g ns", hwi_entry_shown(found->entries[panel]),
           hwi_count_text(tally->calls).text, mean_ns);
  hwi_script_begin_panel(script, box, title);
  hwi_script_time_axis(script, plot->profile);
  hwi_chart_duration_axis(script, 'y', range.least_ns, range.most_ns);
  bool is_last = panel + 1 == count_panels(found);
  fprintf(script, "set lmargin 9\nset bmargin %s\n%s", is_last ? "4" : "2.2", is_last ? "" : "unset xlabel\n");
  if (panel == 0)
    write_legend(script, box);
  else
    hwi_script_no_legend(script);
  write_plot(script, panel, mean_ns);
}

static void draw_nothing(const struct hwi_plot *plot, const struct hwi_box *box)
{
  hwi_script_begin_panel(plot->script, box, "Durations of calls over time");
  hwi_script_time_axis(plot->script, plot->profile);
  hwi_script_note(plot->script, "no call was timed");
  fputs("set yrange [0 : 1]\nplot NaN notitle\n", plot->script);
}

void hwi_chart_durations_along(struct hwi_plot *plot, const struct hwi_box *box)
{
  uint32_t panels = count_panels(&plot->durations);
  if (panels == 0) {
    draw_nothing(plot, box);
    return;
  }
  const double height_cm = hwi_chart_durations_along_height_cm(plot);
  struct range range = write_data(plot->script, &plot->durations, panels);
  double top = box->y + box->height;
  for (uint32_t i = 0; i < panels; i++) {
    double share = (PANEL_CM + (i + 1 == panels ? AXIS_CM : 0)) / height_cm;
    top -= box->height * share;
    const struct hwi_box part = {box->x, top, box->width, box->height * share};
    draw_panel(plot, &part, i, range);
  }
}
