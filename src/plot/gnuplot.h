/* gnuplot.h - has gnuplot draw a script */
#ifndef HWI_PLOT_GNUPLOT_H
#define HWI_PLOT_GNUPLOT_H

#include <stddef.h>
#include <stdio.h>

#include "base/error.h"

/* Runs gnuplot, found in PATH, on the script; what it draws goes to `out`, which may be a pipe. 0, or a negative status: it is not
 * installed, or it failed, with what it said. The user's settings for gnuplot are not read. */
int hwi_gnuplot_draw(const char *script, size_t bytes, FILE *out, struct hwi_error *error);

#endif
