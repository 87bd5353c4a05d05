/* no_gnuplot.c - the tool for Windows writes scripts for gnuplot, but does not run it */
#include "plot/gnuplot.h"

int hwi_gnuplot_run(const char *script, size_t bytes, FILE *out, struct hwi_error *error)
{
  (void)script, (void)bytes, (void)out;
  return hwi_error_set(error, HW_ERR_USAGE,
                       "pictures are not drawn on Windows; write the script with -o FILE.gp, and draw it with "
                       "'gnuplot -d FILE.gp'");
}
