/* tool_log.h - writes into a raw trace while its program runs: records of the tool area (marks, pauses, RSS, the exit
 * status), and the control word, which pauses and resumes its recording */
#ifndef HWI_LAUNCH_TOOL_LOG_H
#define HWI_LAUNCH_TOOL_LOG_H

#include <stdbool.h>
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

/* Sets the control word of the raw trace that `log` belongs to, and notes the time. *changed (may be NULL) is set to
 * whether the value was different before. Returns 0, or HW_ERR_IO, HW_ERR_BUSY or HW_ERR_LIMIT; on failure nothing is
 * changed. */
int hwi_control_word_set(struct hwi_tool_log *log, enum hw_control control, bool *changed);

/* Returns the current control word. */
enum hw_control hwi_control_word_get(const struct hwi_tool_log *log);

#endif
