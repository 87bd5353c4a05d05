/* pprof_difference.h - what changed from one profile.proto to a later one of the same run */
#ifndef HWI_EXPORT_PPROF_PPROF_DIFFERENCE_H
#define HWI_EXPORT_PPROF_PPROF_DIFFERENCE_H

#include <stdio.h>

#include "base/error.h"

/* Writes the later profile less the earlier one, sample by sample, with gzip. Both are as write_pprof of pprof.c makes them, and not
 * compressed. Samples without a change are left out. Returns 0 or a negative status. */
int hwi_pprof_difference(FILE *earlier, FILE *later, FILE *out, struct hwi_error *error);

#endif
