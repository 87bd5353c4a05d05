/* alive.h - whether a trace is still being written */
#ifndef HWI_TRACE_READ_ALIVE_H
#define HWI_TRACE_READ_ALIVE_H

#include <stdbool.h>

#include "trace/format.h"

/* Returns the pid, in the caller's pid namespace, of the process of the trace open at `fd`; in a container the process
 * may have another pid. Returns 0 if the process is gone or not visible. */
uint32_t hwi_trace_process(int fd, const struct hw_trace_header *header);

/* Returns the pid, in the caller's pid namespace, of the process that writes the raw trace: it runs and has the file
 * mapped (if its mappings cannot be read, it is enough that it runs). Returns 0 if no process writes it, or
 * HWI_WRITER_UNSEEN if the header does not say that the process ended, but the process is not visible from here. */
#define HWI_WRITER_UNSEEN UINT32_MAX
uint32_t hwi_trace_writer(int fd, const struct hw_trace_header *header);

/* Returns whether the trace's process runs, also if another program has replaced its image. */
bool hwi_trace_process_runs(int fd, const struct hw_trace_header *header);

/* Returns whether a visible process writes the trace. */
bool hwi_trace_is_being_written(int fd, const struct hw_trace_header *header);

/* The same, for a `pid` that hwi_trace_process has returned. */
bool hwi_trace_is_written_by(uint32_t pid, int fd, const struct hw_trace_header *header);

#endif
