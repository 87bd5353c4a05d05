/* stream.c - the events of one stream in its own order, over all its pieces
 *
 * Only the piece that is being decoded is in memory. Chunks that come twice (raw and packed) are dropped by their sequence
 * numbers, and gaps in these are counted.
 */
#include "trace/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

void hwi_stream_init(struct hwi_stream *stream, const struct hwi_piece *pieces, size_t piece_count)
{
  *stream = (struct hwi_stream){.pieces = pieces, .piece_count = piece_count};
}

static void unload(struct hwi_stream *stream)
{
  free(stream->loaded.bytes);
  stream->loaded = (struct hwi_loaded){0};
  stream->chunk_at = 0;
  stream->cursor = (struct hwi_cursor){0};
}

void hwi_stream_release(struct hwi_stream *stream)
{
  unload(stream);
  free(stream->ready);
  stream->ready = NULL;
  stream->ready_count = stream->ready_at = 0;
}

/* The next piece that has something new, or NULL. */
static const struct hwi_piece *take_piece(struct hwi_stream *stream)
{
  while (stream->next_piece < stream->piece_count) {
    const struct hwi_piece *piece = &stream->pieces[stream->next_piece++];
    if (piece->last_sequence >= stream->next_sequence)
      return piece;
  }
  return NULL;
}

/* False: no piece is left, or reading must stop. */
static bool load_next_piece(struct hwi_stream *stream, struct hwi_source *source)
{
  unload(stream);
  for (const struct hwi_piece *piece = take_piece(stream); piece; piece = take_piece(stream)) {
    struct hwi_piece late;
    int status = hwi_piece_load(&stream->loaded, source->fd, source->header, piece);
    if (status == HW_ERR_BUSY &&
        hwi_index_find_late(source->index, source->fd, piece->stream, piece->first_sequence, &late))
      status = hwi_piece_load(&stream->loaded, source->fd, source->header, &late);
    source->read_bytes += piece->bytes;
    stream->loaded_off = piece->off;
    if (status == 0)
      return true;
    if (status == HW_ERR_IO || status == HW_ERR_MEMORY) {
      source->status = status;
      source->os_error = errno;
      return false;
    }
    hwi_index_damage(source->index, piece->off);
  }
  return false;
}

/* Sets the cursor on the next chunk of the loaded piece that is new. False: there is none. */
static bool next_chunk(struct hwi_stream *stream, struct hwi_source *source)
{
  while (stream->chunk_at < stream->loaded.count) {
    struct hw_chunk_header chunk;
    size_t left = stream->loaded.count - stream->chunk_at;
    const uint8_t *at = stream->loaded.bytes + stream->chunk_at;
    if (left >= sizeof chunk)
      memcpy(&chunk, at, sizeof chunk);
    if (left < sizeof chunk || chunk.magic != HW_CHUNK_MAGIC || chunk.valid_bytes > left - sizeof chunk) {
      hwi_index_damage(source->index, stream->loaded_off);
      stream->chunk_at = stream->loaded.count;
      return false;
    }
    stream->chunk_at += sizeof chunk + chunk.valid_bytes;
    if (chunk.sequence < stream->next_sequence)
      continue;
    source->missing_chunks += chunk.sequence - stream->next_sequence;
    stream->next_sequence = (uint64_t)chunk.sequence + 1;
    source->event_bytes += chunk.valid_bytes;
    if (hwi_cursor_init(&stream->cursor, &chunk, at + sizeof chunk, stream->last_tick))
      return true;
    hwi_index_damage(source->index, stream->loaded_off);
  }
  return false;
}

int hwi_stream_next(struct hwi_stream *stream, struct hwi_source *source, struct hwi_event *events, int max)
{
  for (;;) {
    int count = hwi_decode(&stream->cursor, source->definitions, events, max);
    stream->last_tick = stream->cursor.tick > stream->last_tick ? stream->cursor.tick : stream->last_tick;
    if (stream->cursor.damaged) {
      hwi_index_damage(source->index, stream->loaded_off);
      stream->cursor.at = stream->cursor.end;
      stream->cursor.damaged = false;
    }
    if (count)
      return count;
    if (!next_chunk(stream, source) && !load_next_piece(stream, source))
      return 0;
  }
}

bool hwi_stream_fill(struct hwi_stream *stream, struct hwi_source *source)
{
  if (stream->ready_at < stream->ready_count)
    return true;
  if (!stream->ready) {
    stream->ready = malloc(HWI_STREAM_BATCH * sizeof *stream->ready);
    if (!stream->ready) {
      source->status = HW_ERR_MEMORY;
      return false;
    }
  }
  stream->ready_at = 0;
  stream->ready_count = hwi_stream_next(stream, source, stream->ready, HWI_STREAM_BATCH);
  return stream->ready_count > 0;
}

void hwi_stream_top_up(struct hwi_stream *stream, struct hwi_source *source)
{
  int left = stream->ready_count - stream->ready_at, room = HWI_STREAM_BATCH - left;
  memmove(stream->ready, stream->ready + stream->ready_at, (size_t)left * sizeof *stream->ready);
  stream->ready_at = 0;
  stream->ready_count = left;
  if (room >= HWI_DECODE_MIN_ROOM)
    stream->ready_count += hwi_stream_next(stream, source, stream->ready + left, room);
}

bool hwi_stream_is_done(const struct hwi_stream *stream)
{
  return stream->ready_at == stream->ready_count && stream->cursor.at == stream->cursor.end &&
         stream->chunk_at == stream->loaded.count && stream->next_piece == stream->piece_count;
}

uint64_t hwi_stream_bound(const struct hwi_stream *stream)
{
  if (stream->ready_at < stream->ready_count)
    return stream->ready[stream->ready_at].tick;
  uint64_t bound = stream->last_tick;
  bool loaded = stream->cursor.at != stream->cursor.end || stream->chunk_at < stream->loaded.count;
  if (!loaded && stream->next_piece < stream->piece_count && stream->pieces[stream->next_piece].first_tick > bound)
    bound = stream->pieces[stream->next_piece].first_tick;
  return bound;
}
