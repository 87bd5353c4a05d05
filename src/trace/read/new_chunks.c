/* new_chunks.c - the chunks of a raw trace, found while its program writes it */
#include "trace/read/new_chunks.h"

#include <stdlib.h>

#include "trace/grow.h"
#include "trace/read/index.h"

enum { YOUNG_LOOKS = 16 }; /* a thread usually prepares its chunk faster */

/* What one call looks at. */
struct look {
  struct hwi_new_chunks *chunks;
  int fd;
  const struct hw_trace_header *header;
  const struct hwi_chunk_sink *sink;
};

void hwi_new_chunks_release(struct hwi_new_chunks *chunks)
{
  free(chunks->gaps);
  *chunks = (struct hwi_new_chunks){0};
}

static bool add_gap(struct hwi_new_chunks *chunks, struct hwi_gap gap)
{
  if (!hwi_grow((void **)&chunks->gaps, &chunks->gap_capacity, chunks->gap_count + 1, sizeof *chunks->gaps))
    return false;
  chunks->gaps[chunks->gap_count++] = gap;
  return true;
}

/* Finds the chunks in a range; parts without a chunk become gaps. */
static bool walk(const struct look *look, struct hwi_gap range)
{
  struct hwi_new_chunks *chunks = look->chunks;
  const uint64_t end = range.end;
  const uint32_t looks = range.looks + 1;
  uint64_t off = range.start, gap = off;
  while (off < end) {
    struct hw_chunk_header chunk;
    if (!hwi_index_read_chunk(look->fd, look->header, off, &chunk)) {
      const uint64_t data = hwi_index_next_data(look->fd, off + HW_CHUNK_MIN_BYTES, end);
      off = data < end ? data : end;
      continue;
    }
    if ((gap < off && !add_gap(chunks, (struct hwi_gap){gap, off, looks})) ||
        !look->sink->take(look->sink->context, &chunk))
      return false;
    off += chunk.bytes;
    gap = off;
  }
  if (off > chunks->walked_off)
    chunks->walked_off = off;
  return gap >= end || add_gap(chunks, (struct hwi_gap){gap, end, looks});
}

bool hwi_new_chunks_find(struct hwi_new_chunks *chunks, int fd, const struct hw_trace_header *header,
                         const struct hwi_chunk_sink *sink)
{
  const struct look look = {chunks, fd, header, sink};
  if (!chunks->walked_off)
    chunks->walked_off = HW_CHUNKS_OFF;
  for (size_t i = chunks->gap_count; i-- > 0;) {
    const struct hwi_gap gap = chunks->gaps[i];
    if (gap.looks >= YOUNG_LOOKS && chunks->skips_old_gaps)
      continue;
    chunks->gaps[i] = chunks->gaps[--chunks->gap_count];
    if (!walk(&look, gap))
      return false;
  }
  uint64_t end = header->used_bytes & ~(uint64_t)(HW_CHUNK_MIN_BYTES - 1);
  if (end > header->window_bytes)
    end = header->window_bytes;
  return end <= chunks->walked_off || walk(&look, (struct hwi_gap){.start = chunks->walked_off, .end = end});
}
