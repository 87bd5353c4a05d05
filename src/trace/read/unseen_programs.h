/* unseen_programs.h - programs that processes of a run executed, but that have no trace in the run */
#ifndef HWI_TRACE_READ_UNSEEN_PROGRAMS_H
#define HWI_TRACE_READ_UNSEEN_PROGRAMS_H

#include "trace/read/run.h"

/* For each image of a complete run, finds the programs noted in its header that have no trace. Returns 0 or
 * HW_ERR_MEMORY. */
int hwi_unseen_programs_find(struct hwi_run *run);

/* A program that left no trace. */
struct hwi_unseen_exec {
  const struct hw_exec *exec;
  uint32_t pid;
  bool is_child;   /* it ran in a child of the process whose image noted it; otherwise it replaced that image */
  bool is_counted; /* its process is already counted in children_unseen of that image's header */
};

/* Calls `each` for the unrecorded programs of an image. */
void hwi_unseen_programs_each(const struct hw_trace_header *header, const struct hwi_missing_execs *missing,
                              void (*each)(void *context, const struct hwi_unseen_exec *unrecorded), void *context);

#endif
