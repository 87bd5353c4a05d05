/* alive.h - whether a trace is still being written */
#ifndef HWI_TRACE_ALIVE_H
#define HWI_TRACE_ALIVE_H

#include <stdbool.h>

#include "trace/format.h"

/* The number that the process of `header` has here: in a container it may have another one. 0: it is gone, or not to be seen. */
uint32_t hwi_trace_process(const struct hw_trace_header *header);

/* The process that made the raw trace open at `fd` runs and has it mapped (where its mappings cannot be read: it runs). */
bool hwi_trace_is_being_written(int fd, const struct hw_trace_header *header);

/* The same, where hwi_trace_process has told `pid` before. */
bool hwi_trace_is_written_by(uint32_t pid, int fd, const struct hw_trace_header *header);

#endif
