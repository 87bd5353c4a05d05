/* trace_path.h - the path of an image's trace
 *
 * The trace of the first image of a run that allocates is NAME itself; those of later images are in NAME.children/.
 */
#ifndef HWI_RECORD_TRACE_PATH_H
#define HWI_RECORD_TRACE_PATH_H

#include <stdbool.h>

#include "trace/format.h"
#include "trace/writer.h"

/* Creates the trace of an image that began with an exec, and stores the run's NAME in hwi_session.name. Returns false
 * if this image must not be recorded, or if no trace can be written. `header` is complete except for the run ID, which
 * is filled in. */
bool hwi_trace_path_open_first(struct hwi_writer *writer, struct hw_trace_header *header);

/* Creates the trace of a forked child of the run hwi_session.name. */
bool hwi_trace_path_open_child(struct hwi_writer *writer, struct hw_trace_header *header);

/* Finds out whether a program that this process (*next) or its children (*children) execute would begin its trace in
 * the same run. It would not if each program has its own NAME, or is left out on purpose. To be called after
 * hwi_trace_path_open_first has read the options. */
void hwi_trace_path_followers(bool *next, bool *children);

/* Returns whether HEAPWRIGHT_ONLY_PROCESS selects this executable. */
bool hwi_trace_path_is_wanted(void);

#endif
