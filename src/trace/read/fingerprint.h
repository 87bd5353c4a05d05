/* fingerprint.h - whether the files of a run have changed */
#ifndef HWI_TRACE_READ_FINGERPRINT_H
#define HWI_TRACE_READ_FINGERPRINT_H

#include "trace/read/run.h"

/* Computes a number that changes when an image of the run changes, or when the set of its files changes. It is made of
 * each file's size, time of modification and header. For raw files it includes the chunk headers, since a target that
 * is not visible from here may still write. Returns false if a file cannot be read or is still being written. */
bool hwi_run_fingerprint(const struct hwi_run *run, uint64_t *fingerprint);

#endif
