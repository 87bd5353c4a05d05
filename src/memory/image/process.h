/* process.h - reads the memory of a running process */
#ifndef HWI_MEMORY_IMAGE_PROCESS_H
#define HWI_MEMORY_IMAGE_PROCESS_H

#include "memory/image/memory.h"

struct hwi_os_watched;

struct hwi_process_options {
  bool no_stop;        /* read while it runs: without registers, and what changes meanwhile is inconsistent */
  uint64_t most_bytes; /* to copy; 0: as much as the system has available */
  const struct hwi_os_watched *ending; /* it is not stopped, since it is about to end; NULL: it is not */
};

/* What reading did to the process, and what it cost. */
struct hwi_process_read {
  uint64_t stop_ns;   /* from before the first thread was stopped until after the last one went on; 0: not stopped */
  uint64_t moment_ns; /* of the monotonic clock, in the middle of the stop; 0: not stopped */
  uint64_t copied_bytes;
  uint64_t unreadable_bytes; /* of pages that exist: they are zero in the image */
};

/* Copies the memory of a process: pages that exist, without files' pages that it has not changed. All its threads are
 * stopped by ptrace meanwhile; nothing is written to it, and it goes on even if the caller is killed. *done (may be NULL) is
 * filled. Of a process that is ending, `pid` is the thread as which its memory can be read. Returns 0 or a negative status; HW_ERR_LIMIT: there is too much to copy. */
int hwi_process_open(struct hwi_memory *memory, uint32_t pid, const struct hwi_process_options *options,
                     struct hwi_process_read *done, struct hwi_error *error);

#endif
