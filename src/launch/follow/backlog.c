/* backlog.c - the chunks of a raw trace that are not packed yet, found while its program writes it */
#include "launch/follow/backlog.h"

#include <stdlib.h>
#include <string.h>

#include "trace/grow.h"
#include "trace/read/index.h"

void hwi_backlog_release(struct hwi_backlog *backlog)
{
  free(backlog->chunks);
  hwi_new_chunks_release(&backlog->begun);
  *backlog = (struct hwi_backlog){0};
}

static bool add_chunk(void *context, const struct hw_chunk_header *chunk)
{
  struct hwi_backlog *backlog = context;
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

/* Open chunks may be retired by now. */
static void look_again(struct hwi_backlog *backlog, int fd, const struct hw_trace_header *header)
{
  for (size_t i = 0; i < backlog->count; i++) {
    struct hwi_backlog_chunk *known = &backlog->chunks[i];
    struct hw_chunk_header chunk;
    if (known->retired || !hwi_index_read_chunk(fd, header, known->off, &chunk) || chunk.state != HW_CHUNK_RETIRED)
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
  const struct hwi_chunk_sink sink = {add_chunk, backlog};
  if (!hwi_new_chunks_find(&backlog->begun, fd, header, &sink))
    return false;
  look_again(backlog, fd, header);
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
