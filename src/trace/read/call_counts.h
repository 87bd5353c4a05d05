/* call_counts.h - how many calls there were, of a sample: the COUNTS records of its chunks */
#ifndef HWI_TRACE_READ_CALL_COUNTS_H
#define HWI_TRACE_READ_CALL_COUNTS_H

#include "trace/format.h"
#include "trace/numbering.h"

/* Of a chunk: of the calls of its thread. */
struct hwi_chunk_counts {
  uint32_t thread;
  uint64_t counts[HW_COUNTS];
};

/* All zero: no chunk is known. */
struct hwi_call_count_list {
  struct hwi_numbering chunks; /* by stream and sequence number */
  struct hwi_chunk_counts *items;
  size_t capacity;
};

void hwi_call_counts_release(struct hwi_call_count_list *list);

/* Takes the payload of a COUNTS record, which replaces an earlier one of its chunk. *more becomes what there is more than
 * before. Returns false if there is no memory; a payload of another length is ignored. */
bool hwi_call_counts_take(struct hwi_call_count_list *list, const uint8_t *payload, size_t bytes,
                          struct hwi_chunk_counts *more);

#endif
