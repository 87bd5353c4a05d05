/* save.h - saves the present state of a run that is being recorded as a recording of its own */
#ifndef HWI_LAUNCH_SAVE_H
#define HWI_LAUNCH_SAVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct hwi_saved {
  uint32_t trace_count;
  uint64_t event_count, packed_bytes;
  uint64_t until_ns; /* since the start of the run: later events are left out */
  bool goes_on;      /* false: the run had ended, and all of it was copied */
};

/* Saves the run that the trace at `path` belongs to, packed, as `to` and `to`.children. Its programs are not touched. The
 * copy has all events up to one moment, at the beginning of the call, and none after it. This takes a fifth of a second
 * and the time to copy. An earlier trace at `to` is replaced when the copy is complete; any other file there, and a trace
 * of the run itself, is an error. SIGHUP, SIGINT and SIGTERM end it early. Returns 0 or a negative status; on failure
 * what was at `to` is unchanged. */
int hwi_save(const char *path, const char *to, struct hwi_saved *saved, struct hwi_error *error);

#endif
