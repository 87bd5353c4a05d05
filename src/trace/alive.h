/* alive.h - whether a trace is still being written */
#ifndef HWI_TRACE_ALIVE_H
#define HWI_TRACE_ALIVE_H

#include <stdbool.h>

#include "trace/format.h"

/* The process that made the raw trace open at `fd` runs and has it mapped (where its mappings cannot be read: it runs). */
bool hwi_trace_is_being_written(int fd, const struct hw_trace_header *header);

#endif
