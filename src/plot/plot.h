/* plot.h - charts of a recording for paper, drawn by gnuplot
 *
 * chart      a picture that answers one question: live bytes over time, by size, by thread, ...
 * script     gnuplot's input: the data of every chart, with exactly the figures of `report --json`, and the commands
 *            that draw them. It needs no other file, and no text in it can be taken for a command.
 * form       the kind of output: the script itself, or a picture by gnuplot.
 */
#ifndef HWI_PLOT_PLOT_H
#define HWI_PLOT_PLOT_H

#include "compare/compare.h"
#include "report/report.h"
#include "report/words/line.h"

enum hwi_chart {
  HWI_CHART_LIVE = 0, /* live bytes over time, with the resident set, the peak and marks */
  HWI_CHART_LIVE_BY_STACK,
  HWI_CHART_LIVE_BY_SIZE,
  HWI_CHART_LIVE_BY_THREAD,
  HWI_CHART_SIZES,
  HWI_CHART_LIFETIMES,
  HWI_CHART_THREADS,
  HWI_CHART_DURATIONS,            /* durations of calls; needs a recording with --durations */
  HWI_CHART_DURATIONS_ALONG_TIME, /* the same, with each call at its time; needs --durations, too */
  HWI_CHARTS
};

extern const char *const hwi_chart_names[]; /* the words of --chart, by enum hwi_chart; ended by NULL */

enum hwi_plot_form { HWI_PLOT_SCRIPT = 0, HWI_PLOT_PDF, HWI_PLOT_SVG, HWI_PLOT_PNG };

/* A PDF has each chart on its own page, with the size of a figure; an SVG or PNG has them below each other. */
struct hwi_plot_request {
  struct hwi_report report; /* options.cost ranks the stacks of LIVE_BY_STACK. It needs a replayer */
  enum hwi_plot_form form;
  const char *script_path; /* for SCRIPT: the path as the user named it, from which the picture's name is made; NULL:
                            * stdout */
  enum hwi_chart charts[HWI_CHARTS];
  uint32_t chart_count;    /* 0: a report on A4 pages with summary, charts and top stacks; for SVG or PNG the chart
                            * LIVE */
  struct hwi_line remarks; /* output: lines about parts of the choice that matched nothing. The caller releases it */
};

/* Returns 0, or a negative status with the reason: no memory, the recording lacks data that a chart needs, or gnuplot
 * is missing or failed. The caller checks `out` for write errors. */
int hwi_plot_write(struct hwi_plot_request *request, FILE *out, struct hwi_error *error);

/* Draws two runs: the live bytes of both over time in one chart, and the changes that the comparison shows. Returns the
 * same as above. If a run has no timeline (a saved report), the first part is left out. */
int hwi_plot_write_diff(struct hwi_comparison *comparison, enum hwi_plot_form form, const char *script_path, FILE *out,
                        struct hwi_error *error);

#endif
