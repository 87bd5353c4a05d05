/* new_chunks.h - the chunks of a raw trace, found while its program writes it
 *
 * gap        a range of the window in which no chunk has a valid header yet: a thread is preparing its chunk, or the
 *            chunks there were packed and given back, or what is there is damaged.
 */
#ifndef HWI_TRACE_READ_NEW_CHUNKS_H
#define HWI_TRACE_READ_NEW_CHUNKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/format.h"

struct hwi_gap {
  uint64_t start, end;
  uint32_t looks; /* in which no chunk was found there */
};

/* All zero: the trace has not been looked at. */
struct hwi_new_chunks {
  struct hwi_gap *gaps;
  size_t gap_count, gap_capacity;
  uint64_t walked_off; /* chunks below are known or in a gap */
  bool skips_old_gaps; /* set by the caller: does not look into gaps that have stayed for long */
};

/* Takes a chunk that was found. Returns false if there is no memory. */
struct hwi_chunk_sink {
  bool (*take)(void *context, const struct hw_chunk_header *chunk);
  void *context;
};

void hwi_new_chunks_release(struct hwi_new_chunks *chunks);

/* Finds the chunks that the program began since the last call. `header` is the trace's current header. Returns false if
 * there is no memory. */
bool hwi_new_chunks_find(struct hwi_new_chunks *chunks, int fd, const struct hw_trace_header *header,
                         const struct hwi_chunk_sink *sink);

#endif
