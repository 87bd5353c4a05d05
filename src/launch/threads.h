/* threads.h - notes the names and scheduling of a recorded process' threads in its trace
 *
 * The program itself asks for neither under a launcher, since a sandbox of its own may kill it for that. A thread that is gone
 * before it is looked at keeps the name that it gave itself, if any.
 */
#ifndef HWI_LAUNCH_THREADS_H
#define HWI_LAUNCH_THREADS_H

#include <stddef.h>
#include <stdint.h>

#include "launch/drain.h"

struct hwi_seen_thread;

struct hwi_threads {
  union hw_thread_hint hints[HW_THREAD_HINTS]; /* as they were last read */
  struct hwi_seen_thread *seen;                /* that run */
  size_t count, capacity;
  uint32_t noted; /* records written */
};

/* Looks at threads that are new, at young ones often and at others seldom, however often it is called. */
void hwi_threads_look(struct hwi_threads *threads, struct hwi_drain *drain, uint64_t now_ns);
void hwi_threads_release(struct hwi_threads *threads);

#endif
