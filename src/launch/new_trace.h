/* new_trace.h - makes a trace that is complete or not there */
#ifndef HWI_LAUNCH_NEW_TRACE_H
#define HWI_LAUNCH_NEW_TRACE_H

#include "base/error.h"

/* Makes a trace at `to` from what `write` writes to an empty file. An earlier trace at `to` is replaced; any other file is
 * refused. Returns 0, a negative status that is described in `error`, or the negative status of `write` (errno is kept);
 * then `error` is unchanged. */
int hwi_new_trace_make(const char *to, int (*write)(void *context, int fd), void *context, struct hwi_error *error);

#endif
