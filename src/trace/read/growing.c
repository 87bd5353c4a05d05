/* growing.c - the streams of a raw trace that is read while its program writes it, and while it is packed */
#include "trace/read/growing.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "trace/grow.h"

struct hwi_growing_stream {
  struct hwi_stream stream;
  struct hwi_piece *pieces; /* the stream's; those before its next_piece were read */
  size_t capacity;
};

void hwi_growing_release(struct hwi_growing_streams *growing)
{
  hwi_new_chunks_release(&growing->chunks);
  hwi_numbering_release(&growing->numbers);
  for (size_t i = 0; i < growing->stream_count; i++) {
    hwi_stream_release(&growing->streams[i]->stream);
    free(growing->streams[i]->pieces);
    free(growing->streams[i]);
  }
  free(growing->streams);
  *growing = (struct hwi_growing_streams){0};
}

/* Returns NULL if there is no memory. */
static struct hwi_growing_stream *find_stream(struct hwi_growing_streams *growing, uint32_t stream)
{
  const uint32_t number = hwi_numbering_of(&growing->numbers, stream, 0);
  if (!number || number <= growing->stream_count)
    return number ? growing->streams[number - 1] : NULL;
  if (!hwi_grow((void **)&growing->streams, &growing->stream_capacity, number, sizeof(void *)))
    return NULL;
  struct hwi_growing_stream *made = calloc(1, sizeof *made);
  if (!made)
    return NULL;
  made->stream.number = stream;
  made->stream.grows = true;
  made->stream.may_begin_late = growing->from_tick != 0;
  made->stream.from_tick = stream == HW_BASE_STREAM ? 0 : growing->from_tick;
  growing->streams[growing->stream_count++] = made;
  return made;
}

static void forget_read_pieces(struct hwi_growing_stream *of)
{
  struct hwi_stream *stream = &of->stream;
  stream->piece_count -= stream->next_piece;
  if (stream->piece_count)
    memmove(of->pieces, of->pieces + stream->next_piece, stream->piece_count * sizeof *of->pieces);
  stream->next_piece = 0;
}

/* Adds a piece, in the order of pieces. Returns false if there is no memory. */
static bool add_piece(struct hwi_growing_streams *growing, const struct hwi_piece *piece)
{
  struct hwi_growing_stream *of = find_stream(growing, piece->stream);
  if (!of)
    return false;
  struct hwi_stream *stream = &of->stream;
  const uint64_t wanted = stream->open.is_open ? stream->open.piece.first_sequence : stream->next_sequence;
  if (piece->last_sequence < wanted)
    return true;
  growing->new_nodes += hwi_piece_most_nodes(piece);
  if (stream->piece_count == of->capacity)
    forget_read_pieces(of);
  if (!hwi_grow((void **)&of->pieces, &of->capacity, stream->piece_count + 1, sizeof *of->pieces))
    return false;
  stream->pieces = of->pieces;
  size_t at = stream->piece_count++;
  for (; at > stream->next_piece && hwi_piece_compare(&of->pieces[at - 1], piece) > 0; at--)
    of->pieces[at] = of->pieces[at - 1];
  of->pieces[at] = *piece;
  return true;
}

bool hwi_growing_take_sections(struct hwi_growing_streams *growing, struct hwi_index *index)
{
  bool done = true;
  growing->from_tick = index->from_tick;
  for (size_t i = 0; done && i < index->count; i++)
    done = !index->pieces[i].section || add_piece(growing, &index->pieces[i]);
  index->count = 0;
  return done;
}

/* --- looking --- */

/* The piece has room for all events that the chunk may get. */
static bool take_chunk(void *context, const struct hw_chunk_header *chunk)
{
  const struct hwi_piece piece = {
      .off = chunk->off,
      .bytes = chunk->bytes,
      .first_tick = chunk->base_tick,
      .stream = chunk->stream,
      .first_sequence = chunk->sequence,
      .last_sequence = chunk->sequence,
  };
  return add_piece(context, &piece);
}

static int wake_streams(struct hwi_growing_streams *growing, struct hwi_source *source, struct hwi_merge *merge)
{
  if (hwi_merge_make_room(merge, growing->stream_count) < 0)
    return HW_ERR_MEMORY;
  for (size_t i = 0; i < growing->stream_count && !source->status; i++) {
    struct hwi_stream *stream = &growing->streams[i]->stream;
    if (hwi_stream_look(stream, source))
      hwi_merge_resume(merge, stream);
  }
  return source->status;
}

int hwi_growing_look(struct hwi_growing_streams *growing, struct hwi_source *source, struct hwi_merge *merge)
{
  const struct hwi_chunk_sink sink = {take_chunk, growing};
  /* Chunks first: a chunk that is packed and given back meanwhile is then found among the sections. */
  if (!hwi_new_chunks_find(&growing->chunks, source->fd, source->header, &sink) ||
      hwi_index_add_sections(source->index, source->fd) < 0 || !hwi_growing_take_sections(growing, source->index))
    return HW_ERR_MEMORY;
  return wake_streams(growing, source, merge);
}
