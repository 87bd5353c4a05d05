/* call_counts.h - how many calls there were, of a sample: the COUNTS records of its chunks */
#ifndef HWI_TRACE_READ_CALL_COUNTS_H
#define HWI_TRACE_READ_CALL_COUNTS_H

#include "trace/format.h"
#include "trace/numbering.h"

/* The calls of a thread while a chunk was the latest of its stream; or of a base, those of all chunks of the stream up to
 * that one. */
struct hwi_chunk_counts {
  uint32_t thread, stream, sequence;
  bool is_sum;
  uint64_t counts[HW_COUNTS];
};

/* All zero: no chunk is known. */
struct hwi_call_count_list {
  struct hwi_numbering chunks; /* by stream and sequence number; sums: by stream and thread */
  struct hwi_chunk_counts *items;
  size_t capacity;
  struct hwi_numbering summed; /* streams with sums */
  uint32_t *summed_until;      /* by their numbers, less 1: the last chunk that is in one */
  size_t summed_capacity;
};

void hwi_call_counts_release(struct hwi_call_count_list *list);

/* Takes the payload of a COUNTS record, which replaces an earlier one of its chunk. *more becomes what there is more than
 * before. Returns false if there is no memory; a payload of another form is ignored. */
bool hwi_call_counts_take(struct hwi_call_count_list *list, const uint8_t *payload, size_t bytes,
                          struct hwi_chunk_counts *more);

/* Returns how many items there are. Those of chunks that are in a sum are zeros. */
size_t hwi_call_counts_settle(struct hwi_call_count_list *list);

#endif
