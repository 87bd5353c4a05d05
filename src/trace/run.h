/* run.h - the images of a run: NAME, and NAME.children/ with the images that came after it */
#ifndef HWI_TRACE_RUN_H
#define HWI_TRACE_RUN_H

#include <stddef.h>

#include "trace/reader.h"

struct hwi_run_image {
  char *path;
  struct hw_trace_header header;       /* as it was when the run was looked up */
  struct hwi_definitions *definitions; /* complete; NULL: not needed yet */
  uint64_t
      replaced_ns; /* since it began: an exec put the process's next image in its place; UINT64_MAX: none is known */
  struct hwi_missing_execs missing;
};

struct hwi_run {
  struct hwi_run_image *images; /* by the time they began */
  size_t count, capacity;
  struct hwi_run
      *relatives;    /* of a run that is one trace out of a folder: all that lie beside it. NULL: not looked up */
  size_t unreadable; /* files in NAME.children that are no traces, or none of this run */
};

/* Finds the images that belong to `path`: a NAME with its children, or a NAME.children folder. Of a trace inside such a folder
 * the run is that trace alone, unless `relatives` asks for all that lie beside it. */
int hwi_run_find(struct hwi_run *run, const char *path, bool relatives, struct hwi_error *error);
void hwi_run_release(struct hwi_run *run);

/* Opens image `number` of the run. Definitions that forked images inherit are read once and kept with the run. */
int hwi_run_open(struct hwi_run *run, size_t number, struct hwi_trace **trace, struct hwi_error *error);

#endif
