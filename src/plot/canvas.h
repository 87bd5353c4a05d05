/* canvas.h - the output of a script, and running it */
#ifndef HWI_PLOT_CANVAS_H
#define HWI_PLOT_CANVAS_H

#include "plot/plot.h"

#define HWI_FIGURE_CM 17.0 /* the width of the text on A4 */

struct hwi_canvas {
  enum hwi_plot_form form;
  const char *script_path; /* for SCRIPT: the path as the user named it; NULL: stdout */
  double width_cm, height_cm;
};

/* Writes the head of a script. */
void hwi_canvas_begin(const struct hwi_canvas *canvas, FILE *script);

/* Writes the script itself, or gnuplot's output for it. Returns the same as hwi_plot_write. */
int hwi_canvas_draw(enum hwi_plot_form form, const char *script, size_t bytes, FILE *out, struct hwi_error *error);

#endif
