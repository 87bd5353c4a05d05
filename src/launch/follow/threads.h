/* threads.h - notes the names and scheduling of a recorded process's threads in its trace
 *
 * Under a launcher the program itself does not ask for these, since its sandbox may kill it for that. A thread that
 * ends before it is looked at keeps the name that it set itself, if any.
 */
#ifndef HWI_LAUNCH_FOLLOW_THREADS_H
#define HWI_LAUNCH_FOLLOW_THREADS_H

#include <stddef.h>
#include <stdint.h>

#include "launch/follow/drain.h"

struct hwi_seen_thread;

struct hwi_threads {
  union hw_thread_hint hints[HW_THREAD_HINTS]; /* as last read */
  struct hwi_seen_thread *seen;                /* running threads */
  size_t count, capacity;
  uint32_t noted; /* number of records written */
};

/* Looks at new threads, and again at known ones: often while a thread is young, seldom later. May be called at any
 * rate. */
void hwi_threads_look(struct hwi_threads *threads, struct hwi_drain *drain, uint64_t now_ns);
void hwi_threads_release(struct hwi_threads *threads);

#endif
