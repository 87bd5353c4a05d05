/* plotting.h - the option that chooses charts */
#ifndef HWI_CLI_PLOTTING_H
#define HWI_CLI_PLOTTING_H

#include "cli/answer.h"
#include "plot/plot.h"

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

#endif
