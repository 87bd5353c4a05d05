/* gnuplot.h - runs gnuplot on a script */
#ifndef HWI_PLOT_GNUPLOT_H
#define HWI_PLOT_GNUPLOT_H

#include <stddef.h>
#include <stdio.h>

#include "base/error.h"

/* Runs gnuplot, found in PATH, on the script, and writes its picture to `out`, which may be a pipe. Returns 0, or a
 * negative status if gnuplot is not installed or failed; the error has gnuplot's message. The user's settings for
 * gnuplot are not read. */
int hwi_gnuplot_draw(const char *script, size_t bytes, FILE *out, struct hwi_error *error);

#endif
