/* chart_parts.c - live bytes over time, stacked by call stack, class of sizes or thread */
#include <inttypes.h>

#include "plot/chart.h"
#include "report/names/stack_label.h"
#include "report/selection/selection.h"

static const struct {
  const char *title, *data, *noun;
} divisions[HWI_DIVISIONS] = {
    [HWI_DIVISION_STACK] = {"Live heap by call stack", "by_stack", "other stack"},
    [HWI_DIVISION_SIZE] = {"Live heap by block size", "by_size", "other size"},
    [HWI_DIVISION_THREAD] = {"Live heap by the thread that allocated", "by_thread", "other thread"},
};

/* --- names of the parts --- */

struct names {
  struct hwi_line lines[HWI_PARTS_MAX + 1];
  bool has_rest; /* there are bytes in the rest, which has the last name */
};

static void name_stacks(struct hwi_plot *plot, const struct hwi_parts *parts, struct names *names)
{
  enum { NAME_CELLS = 92 };
  const struct hwi_stack_label_words words = {&plot->frames, "…"};
  struct hwi_stack_label labels[HWI_PARTS_MAX];
  for (uint32_t i = 0; i < parts->count; i++)
    labels[i] = (struct hwi_stack_label){.stack = parts->items[i], .cells = NAME_CELLS};
  if (!hwi_stack_labels_distinguish(&words, labels, parts->count))
    plot->status = hwi_error_set(&plot->error, HW_ERR_MEMORY, "no memory for the charts");
  for (uint32_t i = 0; i < parts->count; i++)
    hwi_stack_label_add(&names->lines[i], &words, &labels[i]);
}

static void name_class(struct hwi_line *line, uint32_t class)
{
  const uint64_t kib = 1024;
  if (class == 0)
    hwi_line_printf(line, "up to %s bytes", hwi_chart_class_name(class).text);
  else
    hwi_line_printf(line, "%s to %s%s", hwi_chart_class_name(class - 1).text, hwi_chart_class_name(class).text,
                    hwi_size_class_most(class) < kib ? " bytes" : "");
}

static void name_parts(struct hwi_plot *plot, enum hwi_division division, struct names *names)
{
  const struct hwi_parts *parts = &plot->series.parts[division];
  if (division == HWI_DIVISION_STACK)
    name_stacks(plot, parts, names);
  for (uint32_t i = 0; i < parts->count && division == HWI_DIVISION_SIZE; i++)
    name_class(&names->lines[i], parts->items[i]);
  for (uint32_t i = 0; i < parts->count && division == HWI_DIVISION_THREAD; i++)
    hwi_chart_thread_name(&names->lines[i], plot->profile, parts->items[i]);
  hwi_line_printf(&names->lines[parts->count], "%ss", divisions[division].noun);
}

/* --- size of the chart --- */

static double legend_cm(const struct hwi_plot *plot, enum hwi_division division)
{
  const double row_cm = 0.42, below_cm = 0.1;
  const uint32_t columns = division == HWI_DIVISION_STACK ? 1 : 3;
  return below_cm + row_cm * ((plot->series.parts[division].count + columns) / columns);
}

double hwi_chart_parts_height_cm(const struct hwi_plot *plot, enum hwi_division division)
{
  return 7.2 + legend_cm(plot, division);
}

/* --- the chart --- */

static bool has_rest(const struct hwi_series *series, enum hwi_division division)
{
  for (uint32_t i = 0; i < series->moment_count; i++) {
    if (series->moments[i].live_bytes[division][HWI_PARTS_REST] > 0)
      return true;
  }
  return false;
}

/* Writes a column for each part, the rest last. Returns the maximum of the sum. */
static uint64_t write_data(const struct hwi_plot *plot, enum hwi_division division)
{
  const struct hwi_series *series = &plot->series;
  uint64_t most = 0;
  fprintf(plot->script, "$%s << EOD\n# time_ns, live_bytes of each part in the order of the legend, of the rest\n",
          divisions[division].data);
  for (uint32_t i = 0; i < series->moment_count; i++) {
    const struct hwi_series_moment *moment = &series->moments[i];
    most = moment->kept.bytes > most ? moment->kept.bytes : most;
    fprintf(plot->script, "%" PRIu64, moment->ns);
    for (uint32_t part = 0; part < series->parts[division].count; part++)
      fprintf(plot->script, " %" PRIu64, moment->live_bytes[division][part]);
    fprintf(plot->script, " %" PRIu64 "\n", moment->live_bytes[division][HWI_PARTS_REST]);
  }
  fputs("EOD\n", plot->script);
  return most;
}

static const char *colour_of(uint32_t part, uint32_t part_count)
{
  return part < part_count ? hwi_colours[part] : HWI_COLOUR_REST;
}

/* Every other part is hatched, so that neighbours can be distinguished without colours. */
static const char *style_of(uint32_t part, uint32_t part_count)
{
  static const char *const hatched[] = {"pattern 4", "pattern 5", "pattern 1", "pattern 2"};
  return part < part_count && part % 2 == 1 ? hatched[part / 2 % (sizeof hatched / sizeof *hatched)] : "solid";
}

/* Draws the whole first, then the sum without the last part, and so on: each area covers the previous one except for
 * one part. */
static void write_areas(FILE *script, enum hwi_division division, uint32_t part_count, const struct names *names)
{
  uint32_t count = part_count + names->has_rest;
  fputs("plot \\\n", script);
  for (uint32_t part = count; part-- > 0;)
    fprintf(script,
            "  $%s using ($1/t):((sum [i=2:%" PRIu32
            "] column(i))/b) with filledcurves y1=0 fillstyle %s fillcolor '%s' notitle, \\\n",
            divisions[division].data, part + 2, style_of(part, part_count), colour_of(part, part_count));
  for (uint32_t part = 0; part < count; part++) {
    fprintf(script, "  keyentry with boxes fillstyle %s fillcolor '%s' title ", style_of(part, part_count),
            colour_of(part, part_count));
    hwi_script_line(script, &names->lines[part]);
    fputs(", \\\n", script);
  }
  fputs("  NaN notitle\n", script);
}

/* Writes the legend below the panel, where the chart's height includes space for it. */
static void write_legend(const struct hwi_plot *plot, const struct hwi_box *box, enum hwi_division division)
{
  const double axis_cm = 1.4, indent = 0.02, a_cm = box->height / hwi_chart_parts_height_cm(plot, division);
  double legend = box->y + legend_cm(plot, division) * a_cm;
  fprintf(plot->script,
          "set bmargin at screen %.4f\nset key at screen %.4f, screen %.4f left top Left reverse samplen 1 "
          "width 1 font ',8' %s\n",
          legend + axis_cm * a_cm, box->x + indent * box->width, legend,
          division == HWI_DIVISION_STACK ? "vertical maxcols 1" : "horizontal maxcols 3");
}

void hwi_chart_parts(struct hwi_plot *plot, const struct hwi_box *box, enum hwi_division division)
{
  FILE *script = plot->script;
  struct names names = {0};
  uint64_t most = write_data(plot, division);
  struct hwi_scale bytes = hwi_scale_of_bytes(most);
  name_parts(plot, division, &names);
  hwi_script_begin_panel(script, box, hwi_chart_title(plot, divisions[division].title).text);
  hwi_script_time_axis(script, plot->profile);
  fprintf(script, HWI_SCRIPT_BYTES_MARGIN "b = %g # bytes in %s\n", bytes.per, bytes.unit);
  hwi_script_axis(script, "y", "live", &bytes, most);
  hwi_script_no_legend(script); /* it is below the panel */
  write_legend(plot, box, division);
  if (most == 0)
    hwi_script_note(script, "nothing was live");
  names.has_rest = has_rest(&plot->series, division);
  write_areas(script, division, plot->series.parts[division].count, &names);
  for (int i = 0; i <= HWI_PARTS_MAX; i++)
    hwi_line_release(&names.lines[i]);
}
