/* plot.c - charts of a recording for paper: pages and output */
#include "plot/plot.h"

#include <stdlib.h>
#include <string.h>

#include "plot/chart.h"
#include "plot/gnuplot.h"
#include "report/content/evidence.h"
#include "report/words/memory_stream.h"

static void begin_script(const struct hwi_plot *plot, double width_cm, double height_cm)
{
  const struct hwi_canvas canvas = {plot->request->form, plot->request->script_path, width_cm, height_cm};
  hwi_gnuplot_begin(&canvas, plot->script);
}

/* --- figures --- */

/* Draws charts below each other on one page. */
static void draw_page(struct hwi_plot *plot, const enum hwi_chart *charts, uint32_t count, double height_cm)
{
  double below_cm = height_cm;
  fputs("set multiplot\n", plot->script);
  for (uint32_t i = 0; i < count; i++) {
    double chart_cm = hwi_chart_height_cm(plot, charts[i]);
    below_cm -= chart_cm;
    const struct hwi_box box = {0, below_cm / height_cm, 1, chart_cm / height_cm};
    hwi_chart_draw(plot, charts[i], &box);
  }
  fputs("unset multiplot\n", plot->script);
}

static void draw_figures(struct hwi_plot *plot, const enum hwi_chart *charts, uint32_t count)
{
  bool has_pages = plot->request->form == HWI_PLOT_PDF || plot->request->form == HWI_PLOT_SCRIPT;
  double sum_cm = 0, most_cm = 0;
  for (uint32_t i = 0; i < count; i++) {
    double chart_cm = hwi_chart_height_cm(plot, charts[i]);
    sum_cm += chart_cm;
    most_cm = chart_cm > most_cm ? chart_cm : most_cm;
  }
  begin_script(plot, HWI_FIGURE_CM, has_pages ? most_cm : sum_cm);
  for (uint32_t i = 0; i < count && has_pages; i++)
    draw_page(plot, &charts[i], 1, most_cm);
  if (!has_pages)
    draw_page(plot, charts, count, sum_cm);
}

/* --- the whole --- */

enum { SLOW_CALLS = 1000 }; /* number of points in the chart of durations */

static bool is_report(const struct hwi_plot_request *request)
{
  return request->chart_count == 0 && (request->form == HWI_PLOT_PDF || request->form == HWI_PLOT_SCRIPT);
}

/* Returns the default chart; a moment has no chart over time. */
static enum hwi_chart usual_chart(const struct hwi_profile *profile)
{
  return profile->span.kind == HWI_SPAN_MOMENT ? HWI_CHART_SIZES : HWI_CHART_LIVE;
}

static void draw(struct hwi_plot *plot)
{
  const struct hwi_plot_request *request = plot->request;
  const enum hwi_chart usual = usual_chart(plot->profile);
  if (is_report(request)) {
    begin_script(plot, HWI_PAGE_WIDTH_CM, HWI_PAGE_HEIGHT_CM);
    hwi_pages_draw(plot);
  } else if (request->chart_count > 0) {
    draw_figures(plot, request->charts, request->chart_count);
  } else {
    draw_figures(plot, &usual, 1);
  }
  fputs("\nunset output\n", plot->script);
}

static bool needs_series(const struct hwi_plot *plot)
{
  const struct hwi_plot_request *request = plot->request;
  bool needed = request->chart_count == 0;
  for (uint32_t i = 0; i < request->chart_count; i++)
    needed |= hwi_chart_is_along_time(request->charts[i]);
  return needed && plot->profile->span.kind != HWI_SPAN_MOMENT;
}

static bool is_asked_for(const struct hwi_plot *plot, enum hwi_chart chart)
{
  const struct hwi_plot_request *request = plot->request;
  bool is_asked = is_report(request) && hwi_chart_check(plot, chart, NULL) == HW_OK;
  for (uint32_t i = 0; i < request->chart_count; i++)
    is_asked |= request->charts[i] == chart;
  return is_asked;
}

/* Reads the recording again if a chart shows durations. */
static int gather_durations(struct hwi_plot *plot, struct hwi_error *error)
{
  const struct hwi_durations_wanted wanted = {SLOW_CALLS, is_asked_for(plot, HWI_CHART_DURATIONS_ALONG_TIME)};
  if (!wanted.along && !is_asked_for(plot, HWI_CHART_DURATIONS))
    return HW_OK;
  return hwi_report_durations_init(&plot->durations, &plot->report, &plot->selection.narrowing, wanted, error);
}

/* Collects the data for the charts. */
static int begin(struct hwi_plot *plot, const struct hwi_plot_request *request, struct hwi_error *error)
{
  uint32_t counted;
  plot->request = request;
  plot->profile = request->report.profile;
  plot->image = hwi_largest_image(plot->profile, &counted);
  if (counted != 1)
    plot->image = NULL;
  plot->report = request->report;
  hwi_page_rss_init(&plot->rss, plot->profile);
  if (plot->report.options.cost == HWI_COST_DEFAULT)
    plot->report.options.cost = HWI_COST_PEAK; /* also for an interval, since the charts show live bytes */
  int status = HW_OK;
  for (uint32_t i = 0; i < request->chart_count && status == HW_OK; i++)
    status = hwi_chart_check(plot, request->charts[i], error);
  if (status == HW_OK)
    status = hwi_named_frames_init(&plot->frames, &plot->report, error);
  if (status == HW_OK)
    status = hwi_selection_init(&plot->selection, &plot->report, NULL, error);
  if (status == HW_OK && needs_series(plot))
    status = hwi_series_init(&plot->series, request, &plot->selection, error);
  return status == HW_OK ? gather_durations(plot, error) : status;
}

static int write_script(struct hwi_plot *plot, struct hwi_memory_stream *script, struct hwi_error *error)
{
  plot->script = hwi_memory_stream_begin(script);
  if (!plot->script)
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory for the charts");
  draw(plot);
  bool is_whole = hwi_memory_stream_end(script, plot->script);
  if (plot->status < 0) {
    if (error)
      *error = plot->error;
    return plot->status;
  }
  return is_whole ? HW_OK : hwi_error_set(error, HW_ERR_MEMORY, "no memory for the charts");
}

int hwi_plot_write(struct hwi_plot_request *request, FILE *out, struct hwi_error *error)
{
  struct hwi_plot *plot = calloc(1, sizeof *plot);
  if (!plot)
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory for the charts");
  struct hwi_memory_stream script = {0};
  int status = begin(plot, request, error);
  if (status == HW_OK)
    hwi_selection_remark(&request->remarks, &plot->selection);
  if (status == HW_OK)
    status = write_script(plot, &script, error);
  if (status == HW_OK)
    status = hwi_gnuplot_draw(request->form, script.text, script.bytes, out, error);
  hwi_memory_stream_release(&script);
  hwi_report_durations_release(&plot->durations);
  hwi_series_release(&plot->series);
  hwi_selection_release(&plot->selection);
  hwi_named_frames_release(&plot->frames);
  free(plot);
  return status;
}
