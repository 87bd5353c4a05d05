/* plot.h - charts of a recording for paper, drawn by gnuplot
 *
 * chart      one question with its answer as a picture: what is live along time, which sizes, which threads, ...
 * script     what gnuplot reads: the data of every chart, word for word the figures of `report --json`, and how to draw them. It
 *            needs no other file, and no text in it can be taken for a command.
 * form       what comes out: the script itself, or what gnuplot makes of it.
 */
#ifndef HWI_PLOT_PLOT_H
#define HWI_PLOT_PLOT_H

#include "compare/compare.h"
#include "report/report.h"
#include "report/text/line.h"

enum hwi_chart {
  HWI_CHART_LIVE = 0, /* live bytes along time, with the resident set, the peak and marks */
  HWI_CHART_LIVE_BY_STACK,
  HWI_CHART_LIVE_BY_SIZE,
  HWI_CHART_LIVE_BY_THREAD,
  HWI_CHART_SIZES,
  HWI_CHART_LIFETIMES,
  HWI_CHART_THREADS,
  HWI_CHART_DURATIONS,            /* how long calls took; of what was recorded with --durations */
  HWI_CHART_DURATIONS_ALONG_TIME, /* the same, each call where it was; likewise */
  HWI_CHARTS
};

extern const char *const hwi_chart_names[]; /* the words of --chart, by enum hwi_chart; ended by NULL */

enum hwi_plot_form { HWI_PLOT_SCRIPT = 0, HWI_PLOT_PDF, HWI_PLOT_SVG, HWI_PLOT_PNG };

/* A PDF has each chart on a page of its own, the size of a figure; an SVG or PNG has them below each other. */
struct hwi_plot_request {
  struct hwi_report report; /* options.cost ranks the stacks of LIVE_BY_STACK. Its replayer is needed */
  enum hwi_plot_form form;
  const char *script_path; /* of a SCRIPT: as the user named it; what it draws is named after it. NULL: stdout */
  enum hwi_chart charts[HWI_CHARTS];
  uint32_t chart_count;    /* 0: a report on A4 pages, summary, charts and top stacks; as SVG or PNG the chart LIVE */
  struct hwi_line remarks; /* filled: lines that say what of the choice matched nothing. To be released by the caller */
};

/* 0, or a negative status with the reason: no memory; the recording has not what a chart needs; gnuplot is missing, or failed.
 * Whether all could be written is for the caller to ask of `out`. */
int hwi_plot_write(struct hwi_plot_request *request, FILE *out, struct hwi_error *error);

/* Two runs: what was live in both, over each other along time, and what changed, as far as the comparison shows it. As above;
 * of a run that has no timeline (a saved report) the first part is left out. */
int hwi_plot_write_diff(struct hwi_comparison *comparison, enum hwi_plot_form form, const char *script_path, FILE *out,
                        struct hwi_error *error);

#endif
