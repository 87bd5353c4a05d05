/* alive.h - whether a trace is still being written */
#ifndef HWI_TRACE_ALIVE_H
#define HWI_TRACE_ALIVE_H

#include <stdbool.h>

#include "trace/format.h"

/* The number that the process of the trace open at `fd` has here: in a container it may have another one. 0: it is gone, or not
 * to be seen. */
uint32_t hwi_trace_process(int fd, const struct hw_trace_header *header);

/* The number here of the process that writes the raw trace: it runs and has the file mapped (where its mappings cannot be read: it
 * runs). 0: nobody. HWI_WRITER_UNSEEN: it has not said that it ends, and could not be seen from here. */
#define HWI_WRITER_UNSEEN UINT32_MAX
uint32_t hwi_trace_writer(int fd, const struct hw_trace_header *header);

/* Somebody who can be seen writes it. */
bool hwi_trace_is_being_written(int fd, const struct hw_trace_header *header);

/* The same, where hwi_trace_process has told `pid` before. */
bool hwi_trace_is_written_by(uint32_t pid, int fd, const struct hw_trace_header *header);

#endif
