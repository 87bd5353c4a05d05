/* gnuplot.h - the head of a script for gnuplot, and running gnuplot on it */
#ifndef HWI_PLOT_GNUPLOT_H
#define HWI_PLOT_GNUPLOT_H

#include "plot/plot.h"

#define HWI_FIGURE_CM 17.0 /* the width of the text on A4 */

struct hwi_canvas {
  enum hwi_plot_form form;
  const char *script_path; /* for SCRIPT: the path as the user named it; NULL: stdout */
  double width_cm, height_cm;
};

/* Writes the head of a script: the terminal and the output. */
void hwi_gnuplot_begin(const struct hwi_canvas *canvas, FILE *script);

/* Writes the script itself to `out`, or the picture that gnuplot, found in PATH, makes of it. `out` may be a pipe. The
 * user's settings for gnuplot are not read. Returns the same as hwi_plot_write; if gnuplot failed, the error has its
 * message. */
int hwi_gnuplot_draw(enum hwi_plot_form form, const char *script, size_t bytes, FILE *out, struct hwi_error *error);

/* The picture alone: of gnuplot_process.c. */
int hwi_gnuplot_run(const char *script, size_t bytes, FILE *out, struct hwi_error *error);

#endif
