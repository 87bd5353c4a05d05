/* unrecorded.h - programs that the processes of a run executed, and that left no trace in it */
#ifndef HWI_TRACE_UNRECORDED_H
#define HWI_TRACE_UNRECORDED_H

#include "trace/run.h"

/* Finds out for each image of a run that is all there which of the programs noted in its header have no trace. HW_ERR_MEMORY or 0. */
int hwi_unrecorded_find(struct hwi_run *run);

/* A program that left no trace. */
struct hwi_unrecorded {
  const struct hw_exec *exec;
  uint32_t pid;
  bool is_child;   /* of the process whose image noted it; else it took that image's place */
  bool is_counted; /* among children_unseen of that image's header, as what its process was before */
};

/* Calls `each` for those of an image. */
void hwi_unrecorded_each(const struct hw_trace_header *header, const struct hwi_missing_execs *missing,
                         void (*each)(void *context, const struct hwi_unrecorded *unrecorded), void *context);

#endif
