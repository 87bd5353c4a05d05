/* new_chunks.c - the chunks of a raw trace, found while its program writes it */
#include "trace/read/new_chunks.h"

#include <stdlib.h>

#include "trace/grow.h"
#include "trace/read/index.h"

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

static bool add_gap(struct hwi_new_chunks *chunks, uint64_t start, uint64_t end)
{
  if (!hwi_grow((void **)&chunks->gaps, &chunks->gap_capacity, chunks->gap_count + 1, sizeof *chunks->gaps))
    return false;
  chunks->gaps[chunks->gap_count++] = (struct hwi_gap){start, end};
  return true;
}

/* Finds the chunks between `off` and `end`; ranges without a chunk become gaps. */
static bool walk(const struct look *look, uint64_t off, uint64_t end)
{
  struct hwi_new_chunks *chunks = look->chunks;
  uint64_t gap = off;
  while (off < end) {
    struct hw_chunk_header chunk;
    if (!hwi_index_read_chunk(look->fd, look->header, off, &chunk)) {
      const uint64_t data = hwi_index_next_data(look->fd, off + HW_CHUNK_MIN_BYTES, end);
      off = data < end ? data : end;
      continue;
    }
    if ((gap < off && !add_gap(chunks, gap, off)) || !look->sink->take(look->sink->context, &chunk))
      return false;
    off += chunk.bytes;
    gap = off;
  }
  if (off > chunks->walked_off)
    chunks->walked_off = off;
  return gap >= end || add_gap(chunks, gap, end);
}

bool hwi_new_chunks_find(struct hwi_new_chunks *chunks, int fd, const struct hw_trace_header *header,
                         const struct hwi_chunk_sink *sink)
{
  const struct look look = {chunks, fd, header, sink};
  if (!chunks->walked_off)
    chunks->walked_off = HW_CHUNKS_OFF;
  for (size_t i = chunks->gap_count; i-- > 0;) {
    const struct hwi_gap gap = chunks->gaps[i];
    chunks->gaps[i] = chunks->gaps[--chunks->gap_count];
    if (!walk(&look, gap.start, gap.end))
      return false;
  }
  uint64_t end = header->used_bytes & ~(uint64_t)(HW_CHUNK_MIN_BYTES - 1);
  if (end > header->window_bytes)
    end = header->window_bytes;
  return end <= chunks->walked_off || walk(&look, chunks->walked_off, end);
}
