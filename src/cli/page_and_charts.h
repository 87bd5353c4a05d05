/* page_and_charts.h - the HTML page and the charts as answers of report and diff */
#ifndef HWI_CLI_PAGE_AND_CHARTS_H
#define HWI_CLI_PAGE_AND_CHARTS_H

#include "cli/answer.h"
#include "cli/ranking_options.h"
#include "cli/read_recording.h"
#include "page/page.h"
#include "plot/plot.h"

/* --- charts --- */

/* Part of a command's values. */
struct hwi_plotting {
  const char *words; /* "live,sizes"; NULL: not given */
  enum hwi_chart charts[HWI_CHARTS];
  uint32_t chart_count;
};

/* A row of the command's table of options, for `struct hwi_plotting field` in its `struct values`. */
/* clang-format off */
#define HWI_PLOTTING_OPTION(field)                                                                                     \
  {.name = "chart",                                                                                                    \
   HWI_VALUE(TEXT, field.words),                                                                                       \
   .value = "CHART,...",                                                                                               \
   .help = "charts to draw with -o FILE.pdf, .svg, .png or .gp: live, live-by-stack, live-by-size,\n"                  \
           "live-by-thread, sizes, lifetimes, threads, durations (default: in a PDF all, with\n"                       \
           "the top stacks; else live)"}
/* clang-format on */

/* Parses `words`. Returns 0, or an exit status if they are invalid or the answer is not a plot; the error is reported
 * on stderr. */
int hwi_plotting_check(struct hwi_plotting *plotting, const struct hwi_answer *answer);

enum hwi_plot_form hwi_plotting_form(const struct hwi_answer *answer); /* the answer must be a plot */

/* Returns a request for the chosen charts. The caller fills in the report and its replay. */
struct hwi_plot_request hwi_plotting_request(const struct hwi_plotting *plotting, const struct hwi_answer *answer);

/* --- the page --- */

/* Returns whether the format is the page or its data. Call it after hwi_answer_check. */
bool hwi_answer_is_page(const struct hwi_answer *answer);
enum hwi_page_form hwi_page_form_of(enum hwi_format format); /* of a page's format */

/* Returns an option of the ranking that was given but that a page (`is_plot`: a plot) cannot show, or NULL if there is
 * none. */
const char *hwi_ranking_not_in_picture(const struct hwi_ranking *ranking, bool is_plot);

/* Reports on stderr that `option` cannot be combined with a page, and returns the exit status. */
int hwi_page_refuse(const char *option);

/* --- other processes in the page --- */

/* The processes that allocated most. The list is empty if the user asked for one process. */
struct hwi_other_processes {
  const struct hwi_report *report; /* of the process that the page shows first, or of all together */
  uint32_t pids[HWI_PAGE_OTHERS_MAX], count;
  struct hwi_reading_source source; /* of the run */
  struct hwi_reading reading;       /* of the process being read */
  struct hwi_reading_source one;    /* likewise */
};

/* `report` and `source` must outlive `others`, which owns nothing. */
void hwi_other_processes_init(struct hwi_other_processes *others, const struct hwi_report *report,
                              const struct hwi_reading_source *source);
struct hwi_page_others hwi_other_processes_of_page(struct hwi_other_processes *others);

#endif
