/* pairs.h - what each thread did of each row of a table, so that a page can be of one thread
 *
 * row        of whatever table: of the stacks, or of the series of sizes.
 * pair       a row and a row of threads that has something in it. Pairs of one row come together, by thread.
 */
#ifndef HWI_PAGE_PAIRS_H
#define HWI_PAGE_PAIRS_H

#include "page/row_series.h"
#include "profile/profile.h"

/* uint64_t throughout, for they are columns of a table. */
struct hwi_page_pair {
  uint64_t row, thread;
  uint64_t calls, bytes, temporary_calls, live_bytes, live_blocks, peak_bytes, peak_blocks;
  uint64_t runtime_live_bytes, runtime_live_blocks;
  uint64_t lifetimes[HWI_LIFETIMES]; /* of blocks that ended: once they are written */
};

/* Where a cell of the profile belongs. */
struct hwi_page_places {
  uint32_t (*row_of)(const void *context, const struct hwi_profile_cell *cell);
  const void *context;
  const uint32_t *thread_rows; /* by thread */
  const bool *is_runtime;      /* by stack */
};

/* All zero: none. */
struct hwi_page_pairs {
  struct hwi_page_pair *items;
  uint32_t count, row_count;
  uint32_t *start; /* by row: those of row r are items[start[r]] to items[start[r + 1] - 1] */
};

/* False: no memory. To be released, even after a failure. */
bool hwi_page_pairs_init(struct hwi_page_pairs *pairs, const struct hwi_profile *profile,
                         const struct hwi_page_places *places, uint32_t row_count);
void hwi_page_pairs_release(struct hwi_page_pairs *pairs);

/* The index of a pair that there is. */
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

/* Whether there is such a pair, of a row and a thread's row that the tables have. */
static inline bool hwi_page_pairs_have(const struct hwi_page_pairs *pairs, uint32_t row, uint32_t thread)
{
  uint32_t found = hwi_page_pairs_find(pairs, row, thread);
  return found < pairs->start[row + 1] && pairs->items[found].thread == thread;
}

/* "stack_threads" and "size_threads" into the object begun last. In their series a pair has no entries where its row has no other
 * pair: its series is the row's. */
void hwi_json_page_stack_threads(struct hwi_json *json, struct hwi_page_pairs *pairs,
                                 const struct hwi_page_series *ledger);
void hwi_json_page_size_threads(struct hwi_json *json, const struct hwi_page_pairs *pairs,
                                const struct hwi_page_series *ledger);

#endif
