/* executed.h - notes in the trace which programs the process and its children are about to execute
 *
 * A program that begins a trace in the same run need not be noted. The others (static programs, those whose environment
 * lacks the recorder, or that cannot write a trace) leave no other sign. A child of vfork, and one of fork that has
 * recorded no event, note it in their parent's header, which they have mapped. All of it is async-signal-safe, and a
 * few stores.
 */
#ifndef HWI_RECORD_RUNTIME_EXECUTED_H
#define HWI_RECORD_RUNTIME_EXECUTED_H

#include <stdint.h>

#include "trace/format.h"

struct hwi_executed {
  struct hw_exec *noted; /* NULL: not noted */
  uint32_t pid;          /* as noted there */
};

/* The calling process is about to execute `path`, which may be any address. */
struct hwi_executed hwi_executed_begin(const char *path);

/* The execution failed. */
void hwi_executed_fail(struct hwi_executed executed);

/* The child `pid` has executed `path`. */
void hwi_executed_child(uint32_t pid, const char *path);

#endif
