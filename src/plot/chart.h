/* chart.h - the charts: each writes its data and its drawing commands (private to plot/)
 *
 * A chart writes its data as a separate block, and then the commands that draw it into a box of the page.
 */
#ifndef HWI_PLOT_CHART_H
#define HWI_PLOT_CHART_H

#include "page/rss.h"
#include "plot/script.h"
#include "plot/series.h"
#include "report/content/durations.h"
#include "report/names/named_frames.h"

/* The data for all charts of a request. */
struct hwi_plot {
  const struct hwi_plot_request *request;
  struct hwi_report report; /* the request's report, with its cost determined */
  const struct hwi_profile *profile;
  const struct hwi_image *image; /* the only image that is counted; NULL: there are several, or none */
  FILE *script;
  struct hwi_named_frames frames;
  struct hwi_selection selection;
  struct hwi_series series; /* set if a chart is over time */
  struct hwi_page_rss rss;
  struct hwi_report_durations durations; /* set if a chart shows durations */
  struct hwi_error error;
  int status; /* of the drawing so far; a chart that fails describes it in `error` */
};

bool hwi_chart_is_along_time(enum hwi_chart chart);

/* Returns the title of a chart; of a sampled recording, it says that the figures are estimates. */
struct hwi_chart_title {
  char text[80];
};
struct hwi_chart_title hwi_chart_title(const struct hwi_plot *plot, const char *title);

/* Returns 0, or a negative status with the reason why this report has no such chart. */
int hwi_chart_check(const struct hwi_plot *plot, enum hwi_chart chart, struct hwi_error *error);

double hwi_chart_height_cm(const struct hwi_plot *plot, enum hwi_chart chart);

void hwi_chart_draw(struct hwi_plot *plot, enum hwi_chart chart, const struct hwi_box *box);

/* A report on paper: summary, charts and top stacks on a few pages of A4. */
#define HWI_PAGE_WIDTH_CM 21.0
#define HWI_PAGE_HEIGHT_CM 29.7
void hwi_pages_draw(struct hwi_plot *plot);

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

/* Writes an axis of durations ('x' or 'y') for values from `least_ns` to `most_ns`, in powers of ten. */
void hwi_chart_duration_axis(FILE *script, char axis, uint64_t least_ns, uint64_t most_ns);
#define HWI_MEAN_COLOUR "#e69f00"

/* Writes the timeline as the data block $name. */
void hwi_chart_timeline(FILE *script, const struct hwi_profile *profile, const char *name);

/* Returns the height of a chart of parts. */
double hwi_chart_parts_height_cm(const struct hwi_plot *plot, enum hwi_division division);

/* Returns "16", "1 KiB", ...: classes of block sizes end at powers of two. */
struct hwi_number hwi_chart_class_name(unsigned class);

uint32_t hwi_chart_thread_rows(const struct hwi_plot *plot); /* number of bars, including the one of all others */

/* Adds "worker", "worker (4711)" if another thread has that name, or "thread 4711". */
void hwi_chart_thread_name(struct hwi_line *line, const struct hwi_profile *profile, uint32_t thread);

/* Return "the peak" and "the end", or the time of the moment that the report is about. */
struct hwi_number hwi_chart_peak_name(const struct hwi_profile *profile);
struct hwi_number hwi_chart_end_name(const struct hwi_profile *profile);

#endif
