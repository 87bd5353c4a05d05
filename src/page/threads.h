/* threads.h - the threads with their own rows in a document, all other threads as one row, and the figures of each in
 * the rows of another table, so that a page can show one thread
 *
 * row        one thread; the last row is the sum of all threads without their own row.
 * pair       a row of another table (of the stacks, or of the series of sizes), and a row of threads with an amount in
 *            it. Pairs of one row are adjacent, ordered by thread.
 */
#ifndef HWI_PAGE_THREADS_H
#define HWI_PAGE_THREADS_H

#include "page/row_series.h"
#include "profile/profile.h"

/* All members but the last are uint64_t, since they are columns of a table. */
struct hwi_page_thread {
  uint64_t tid, pid, policy, priority;
  uint64_t allocation_calls, free_calls, failed_calls, temporary_calls, allocated_bytes;
  uint64_t live_bytes, live_blocks, peak_bytes, own_peak_bytes;
  uint64_t foreign_frees, late_allocation_calls, late_free_calls;
  uint64_t cut; /* number of threads summed up here; 0: one thread */
  /* Of a sample; the first two are of the estimates in the series. Written from: */
  uint64_t calls_error, bytes_error, temporary_calls_error, live_bytes_error, live_blocks_error, peak_bytes_error;
  struct hwi_variance variance;
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

/* --- pairs --- */

/* All members are uint64_t, since they are columns of a table. */
struct hwi_page_pair {
  uint64_t row, thread;
  uint64_t calls, bytes, temporary_calls, live_bytes, live_blocks, peak_bytes, peak_blocks;
  uint64_t runtime_live_bytes, runtime_live_blocks;
  uint64_t lifetimes[HWI_LIFETIMES]; /* of ended blocks; filled when they are written */
};

/* The rows that a cell of the profile belongs to. */
struct hwi_page_places {
  uint32_t (*row_of)(const void *context, const struct hwi_profile_cell *cell);
  const void *context;
  const uint32_t *thread_rows; /* by thread */
  const bool *is_runtime;      /* by stack */
};

/* All zero means no pairs. */
struct hwi_page_pairs {
  struct hwi_page_pair *items;
  uint32_t count, row_count;
  uint32_t *start; /* by row: those of row r are items[start[r]] to items[start[r + 1] - 1] */
};

/* Returns false if there is no memory. Release `pairs` even after a failure. */
bool hwi_page_pairs_init(struct hwi_page_pairs *pairs, const struct hwi_profile *profile,
                         const struct hwi_page_places *places, uint32_t row_count);
void hwi_page_pairs_release(struct hwi_page_pairs *pairs);

/* Returns the index of a pair, which must exist. */
static inline uint32_t hwi_page_pairs_find(const struct hwi_page_pairs *pairs, uint32_t row, uint32_t thread)
{
  uint32_t low = pairs->start[row], high = pairs->start[row + 1];
  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    if (pairs->items[middle].thread <= thread)
      low = middle;
    else
      high = middle;
  }
  return low;
}

/* Returns whether the pair exists; the row and the thread's row must exist in their tables. */
static inline bool hwi_page_pairs_have(const struct hwi_page_pairs *pairs, uint32_t row, uint32_t thread)
{
  uint32_t found = hwi_page_pairs_find(pairs, row, thread);
  return found < pairs->start[row + 1] && pairs->items[found].thread == thread;
}

/* Write "stack_threads" and "size_threads" into the current object. In their series, a pair that is the only one of its
 * row has no entries: its series is the row's. */
void hwi_json_page_stack_threads(struct hwi_json *json, struct hwi_page_pairs *pairs,
                                 const struct hwi_page_series *series);
void hwi_json_page_size_threads(struct hwi_json *json, const struct hwi_page_pairs *pairs,
                                const struct hwi_page_series *series);

#endif
