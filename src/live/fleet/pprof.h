/* pprof.h - the heap as profiles in pprof's format, under the paths of Go's net/http/pprof */
#ifndef HWI_LIVE_FLEET_PPROF_H
#define HWI_LIVE_FLEET_PPROF_H

#include "live/endpoint.h"

/* The profiles have the same values, and differ in the type that is shown at first: inuse_space or alloc_space. */
#define HWI_PPROF_FOLDER "/debug/pprof/"
#define HWI_PPROF_HEAP HWI_PPROF_FOLDER "heap"
#define HWI_PPROF_ALLOCS HWI_PPROF_FOLDER "allocs"
#define HWI_PPROF_TYPE "application/octet-stream"

/* Writes the heap at the end of the report's run, and all that was allocated, with gzip. Returns 0 or a negative status. */
int hwi_pprof_write(const struct hwi_report *report, bool is_of_allocs, FILE *out, struct hwi_error *error);

#endif
