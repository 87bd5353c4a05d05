/* backlog.c - the chunks of a raw trace that are not packed yet, found while its program writes it */
#include "launch/follow/backlog.h"

#include <stdlib.h>
#include <string.h>

#include "trace/grow.h"
#include "trace/read/index.h"

enum { PAGE_BYTES = 4096 };

struct trace {
  int fd;
  const struct hw_trace_header *header;
};

void hwi_backlog_init(struct hwi_backlog *backlog)
{
  *backlog = (struct hwi_backlog){.walked_off = HW_CHUNKS_OFF};
}

void hwi_backlog_release(struct hwi_backlog *backlog)
{
  free(backlog->chunks);
  free(backlog->gaps);
  hwi_backlog_init(backlog);
}

static bool add_chunk(struct hwi_backlog *backlog, const struct hw_chunk_header *chunk)
{
  if (!hwi_grow((void **)&backlog->chunks, &backlog->capacity, backlog->count + 1, sizeof *backlog->chunks))
    return false;
  backlog->chunks[backlog->count++] = (struct hwi_backlog_chunk){
      .off = chunk->off,
      .stream = chunk->stream,
      .sequence = chunk->sequence,
      .bytes = chunk->bytes,
      .valid_bytes = chunk->valid_bytes,
      .retired = chunk->state == HW_CHUNK_RETIRED,
  };
  if (chunk->stream >= backlog->streams && chunk->stream < UINT32_MAX)
    backlog->streams = chunk->stream + 1;
  return true;
}

static bool add_gap(struct hwi_backlog *backlog, uint64_t start, uint64_t end)
{
  if (!hwi_grow((void **)&backlog->gaps, &backlog->gap_capacity, backlog->gap_count + 1, sizeof *backlog->gaps))
    return false;
  backlog->gaps[backlog->gap_count++] = (struct hwi_gap){start, end};
  return true;
}

/* Finds the chunks between `off` and `end`; ranges without a chunk become gaps. */
static bool walk(struct hwi_backlog *backlog, const struct trace *trace, uint64_t off, uint64_t end)
{
  uint64_t gap = off;
  while (off < end) {
    struct hw_chunk_header chunk;
    if (!hwi_index_read_chunk(trace->fd, trace->header, off, &chunk)) {
      off += PAGE_BYTES;
      continue;
    }
    if ((gap < off && !add_gap(backlog, gap, off)) || !add_chunk(backlog, &chunk))
      return false;
    off += chunk.bytes;
    gap = off;
  }
  if (off > backlog->walked_off)
    backlog->walked_off = off;
  return gap >= end || add_gap(backlog, gap, end);
}

static bool find_chunks(struct hwi_backlog *backlog, const struct trace *trace)
{
  for (size_t i = backlog->gap_count; i-- > 0;) {
    struct hwi_gap gap = backlog->gaps[i];
    backlog->gaps[i] = backlog->gaps[--backlog->gap_count];
    if (!walk(backlog, trace, gap.start, gap.end))
      return false;
  }
  uint64_t end = trace->header->used_bytes & ~(uint64_t)(PAGE_BYTES - 1);
  if (end > trace->header->window_bytes)
    end = trace->header->window_bytes;
  return end <= backlog->walked_off || walk(backlog, trace, backlog->walked_off, end);
}

/* Open chunks may be retired by now. */
static void look_again(struct hwi_backlog *backlog, const struct trace *trace)
{
  for (size_t i = 0; i < backlog->count; i++) {
    struct hwi_backlog_chunk *known = &backlog->chunks[i];
    struct hw_chunk_header chunk;
    if (known->retired || !hwi_index_read_chunk(trace->fd, trace->header, known->off, &chunk) ||
        chunk.state != HW_CHUNK_RETIRED)
      continue;
    known->retired = true;
    known->valid_bytes = chunk.valid_bytes;
  }
}

static int compare_chunks(const void *left, const void *right)
{
  const struct hwi_backlog_chunk *a = left, *b = right;
  if (a->stream != b->stream)
    return a->stream < b->stream ? -1 : 1;
  return a->sequence < b->sequence ? -1 : a->sequence > b->sequence;
}

bool hwi_backlog_look(struct hwi_backlog *backlog, int fd, const struct hw_trace_header *header)
{
  const struct trace trace = {fd, header};
  if (!find_chunks(backlog, &trace))
    return false;
  look_again(backlog, &trace);
  if (backlog->count > 1)
    qsort(backlog->chunks, backlog->count, sizeof *backlog->chunks, compare_chunks);
  return true;
}

void hwi_backlog_drop_first(struct hwi_backlog *backlog, size_t count)
{
  backlog->count -= count;
  memmove(backlog->chunks, backlog->chunks + count, backlog->count * sizeof *backlog->chunks);
}

uint64_t hwi_backlog_waiting_bytes(const struct hwi_backlog *backlog)
{
  uint64_t bytes = 0;
  for (size_t i = 0; i < backlog->count; i++)
    bytes += backlog->chunks[i].retired ? backlog->chunks[i].valid_bytes : 0;
  return bytes;
}
