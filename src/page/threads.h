/* threads.h - the threads with their own rows in a document, and all other threads as one row
 *
 * row        one thread; the last row is the sum of all threads without their own row.
 */
#ifndef HWI_PAGE_THREADS_H
#define HWI_PAGE_THREADS_H

#include "page/row_series.h"
#include "profile/profile.h"

/* All members are uint64_t, since they are columns of a table. */
struct hwi_page_thread {
  uint64_t tid, pid, policy, priority;
  uint64_t allocation_calls, free_calls, failed_calls, temporary_calls, allocated_bytes;
  uint64_t live_bytes, live_blocks, peak_bytes, own_peak_bytes;
  uint64_t foreign_frees, late_allocation_calls, late_free_calls;
  uint64_t cut; /* number of threads summed up here; 0: one thread */
};

struct hwi_page_threads {
  const struct hwi_profile *profile;
  struct hwi_page_thread *rows;
  uint32_t row_count;
  uint32_t *row_of;  /* by thread */
  uint32_t *threads; /* by row; UINT32_MAX: several threads */
};

/* Returns false if there is no memory. Release `threads` even after a failure. */
bool hwi_page_threads_init(struct hwi_page_threads *threads, const struct hwi_profile *profile);
void hwi_page_threads_release(struct hwi_page_threads *threads);

/* Writes "threads" into the current object. */
void hwi_json_page_threads(struct hwi_json *json, const struct hwi_page_threads *threads,
                           const struct hwi_page_series *series);

#endif
