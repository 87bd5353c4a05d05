/* handovers.h - blocks that one thread allocates and another one frees, by rows of threads
 *
 * followed   a pair whose blocks are counted by slice: one of the largest pairs.
 */
#ifndef HWI_PAGE_HANDOVERS_H
#define HWI_PAGE_HANDOVERS_H

#include "page/row_series.h"
#include "page/threads.h"

/* All members are uint64_t, since they are columns of a table. */
struct hwi_page_handover {
  uint64_t owner, freer; /* rows of threads */
  uint64_t blocks, bytes;
};

struct hwi_page_handovers {
  struct hwi_page_handover *items;
  uint32_t count;       /* by owner, then freer */
  uint32_t *row_of;     /* by owner and freer: UINT32_MAX if the pair is not followed */
  uint32_t thread_rows; /* number of rows, for owners and for freers */
};

/* Returns false if there is no memory. Release `handovers` even after a failure. */
bool hwi_page_handovers_init(struct hwi_page_handovers *handovers, const struct hwi_page_threads *threads);
void hwi_page_handovers_release(struct hwi_page_handovers *handovers);

/* Returns the pair's index in the items, or UINT32_MAX if it is not followed. */
static inline uint32_t hwi_page_handovers_row(const struct hwi_page_handovers *handovers, uint32_t owner,
                                              uint32_t freer)
{
  return handovers->row_of[(size_t)owner * handovers->thread_rows + freer];
}

/* Writes "handovers" into the current object; without the figures over time if the series is NULL. */
void hwi_json_page_handovers(struct hwi_json *json, const struct hwi_page_handovers *handovers,
                             const struct hwi_page_series *series);

#endif
