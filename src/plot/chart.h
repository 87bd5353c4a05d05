/* chart.h - the charts, each with its data and how it is drawn (private to plot/)
 *
 * A chart writes its data as a block of its own, and then the commands that draw it into a box of the page.
 */
#ifndef HWI_PLOT_CHART_H
#define HWI_PLOT_CHART_H

#include "page/rss.h"
#include "plot/script.h"
#include "plot/series.h"
#include "report/durations.h"
#include "report/names/named_frames.h"

/* What all charts of a request are drawn from. */
struct hwi_plot {
  const struct hwi_plot_request *request;
  struct hwi_report report; /* the request's, with its cost settled */
  const struct hwi_profile *profile;
  const struct hwi_image *image; /* the only one that is counted; NULL: there are several, or none */
  FILE *script;
  struct hwi_named_frames frames;
  struct hwi_selection selection;
  struct hwi_series series; /* where a chart is along time */
  struct hwi_page_rss rss;
  struct hwi_report_durations durations; /* where a chart is of them */
  struct hwi_error error;
  int status; /* of the drawing so far; a chart that fails words it in `error` */
};

bool hwi_chart_is_along_time(enum hwi_chart chart);

/* 0, or why there is no such chart of this report, worded. */
int hwi_chart_check(const struct hwi_plot *plot, enum hwi_chart chart, struct hwi_error *error);

double hwi_chart_height_cm(const struct hwi_plot *plot, enum hwi_chart chart);

void hwi_chart_draw(struct hwi_plot *plot, enum hwi_chart chart, const struct hwi_box *box);

/* --- each of them --- */

void hwi_chart_live(struct hwi_plot *plot, const struct hwi_box *box);
void hwi_chart_parts(struct hwi_plot *plot, const struct hwi_box *box, enum hwi_division division);
void hwi_chart_sizes(struct hwi_plot *plot, const struct hwi_box *box);
void hwi_chart_lifetimes(struct hwi_plot *plot, const struct hwi_box *box);
void hwi_chart_threads(struct hwi_plot *plot, const struct hwi_box *box);
void hwi_chart_durations(struct hwi_plot *plot, const struct hwi_box *box);
double hwi_chart_durations_height_cm(const struct hwi_plot *plot);
void hwi_chart_durations_along(struct hwi_plot *plot, const struct hwi_box *box);
double hwi_chart_durations_along_height_cm(const struct hwi_plot *plot);

/* An axis of durations ('x' or 'y') from the least to the most that it has to show, in powers of ten. */
void hwi_chart_duration_axis(FILE *script, char axis, uint64_t least_ns, uint64_t most_ns);
#define HWI_MEAN_COLOUR "#e69f00"

/* The timeline as the data block $name. */
void hwi_chart_timeline(FILE *script, const struct hwi_profile *profile, const char *name);

/* Of a chart of parts. */
double hwi_chart_parts_height_cm(const struct hwi_plot *plot, enum hwi_division division);

/* "16", "1 KiB": classes of block sizes end at powers of two. */
struct hwi_number hwi_chart_class_name(unsigned class);

uint32_t hwi_chart_thread_rows(const struct hwi_plot *plot); /* bars, the one of all others included */

/* "worker", "worker (4711)" where another one has that name, or "thread 4711". */
void hwi_chart_thread_name(struct hwi_line *line, const struct hwi_profile *profile, uint32_t thread);

/* "the peak", or the time of the moment that the report is about; "the end", likewise. */
struct hwi_number hwi_chart_peak_name(const struct hwi_profile *profile);
struct hwi_number hwi_chart_end_name(const struct hwi_profile *profile);

#endif
