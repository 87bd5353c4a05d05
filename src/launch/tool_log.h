/* tool_log.h - appends to the tool area of a raw trace: marks, pauses, RSS, the exit status */
#ifndef HWI_LAUNCH_TOOL_LOG_H
#define HWI_LAUNCH_TOOL_LOG_H

#include <stdint.h>

#include "base/error.h"
#include "trace/format.h"

struct hwi_tool_log {
  int fd;      /* of the trace, for reading and writing; the caller's */
  uint64_t at; /* records end here or later; 0: not read yet */
};

uint64_t hwi_monotonic_ns(void);

/* Returns the used part of the area in thousandths, as far as this log has read. */
uint32_t hwi_tool_log_fill(const struct hwi_tool_log *log);

/* Appends one record under a lock on the file. Returns 0; HW_ERR_LIMIT if the area is full (samples leave room for
 * marks); HW_ERR_BUSY if another tool holds the lock for long; HW_ERR_IO with errno set. */
int hwi_tool_log_append(struct hwi_tool_log *log, enum hw_tool_type type, uint64_t monotonic_ns, const void *payload,
                        uint32_t bytes);

#endif
