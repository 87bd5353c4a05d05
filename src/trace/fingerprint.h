/* fingerprint.h - whether a trace file is still what it was */
#ifndef HWI_TRACE_FINGERPRINT_H
#define HWI_TRACE_FINGERPRINT_H

#include "trace/run.h"

/* A number that changes when an image of the run, or which files belong to it, changes: made of each file's size, time of
 * modification and header, and of the chunk headers of raw ones, whose target may go on where nobody here sees it. False: a file
 * cannot be read, or is still being written. */
bool hwi_run_fingerprint(const struct hwi_run *run, uint64_t *fingerprint);

#endif
