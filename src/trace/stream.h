/* stream.h - the events of one stream in its own order, over all its pieces */
#ifndef HWI_TRACE_STREAM_H
#define HWI_TRACE_STREAM_H

#include "trace/sections.h"

/* What all streams of a trace read from and report to. */
struct hwi_source {
  int fd;
  const struct hw_trace_header *header;
  struct hwi_index *index;
  struct hwi_definition_sink definitions;
  uint64_t missing_chunks;
  uint64_t read_bytes;  /* of pieces, as they lie in the file */
  uint64_t event_bytes; /* of chunks, as the target wrote them */
  int status;           /* 0, or why reading had to stop (HW_ERR_IO, HW_ERR_MEMORY) */
  int os_error;
};

/* Invariant: `ready_at <= ready_count`; events [ready_at, ready_count) are decoded and wait, in order. */
struct hwi_stream {
  uint32_t number;
  const struct hwi_piece *pieces;
  size_t piece_count, next_piece;
  uint64_t next_sequence;
  uint64_t last_tick; /* of the last event decoded */
  uint64_t from_tick; /* older events are not wanted */
  struct hwi_unpacked loaded;
  uint64_t loaded_off;      /* of the piece, in the file */
  uint64_t loaded_sequence; /* of the next chunk, where `loaded` has events */
  size_t chunk_at;          /* where the next chunk begins, where `loaded` has bytes */
  struct hwi_cursor cursor; /* in these */
  struct hwi_event *ready;
  int ready_count, ready_at;

  /* Of a stream that is still being written: whoever follows it puts what is new behind the cursor. */
  bool followed;
  bool waits;          /* it is in a merge */
  uint64_t not_before; /* what cannot be seen yet is not older than this, nor than the last event */
};

enum { HWI_STREAM_BATCH = 256 };

/* Takes the pieces of one stream, in the index's order. */
void hwi_stream_init(struct hwi_stream *stream, const struct hwi_piece *pieces, size_t piece_count);
void hwi_stream_release(struct hwi_stream *stream);

/* Before anything is read: events of before `tick` are not wanted, and pieces that have no others are not read. */
void hwi_stream_skip(struct hwi_stream *stream, uint64_t tick);

/* Decodes up to `max` (at least HWI_DECODE_MIN_ROOM) events. 0: none are left, or source->status says why. */
int hwi_stream_next(struct hwi_stream *stream, struct hwi_source *source, struct hwi_event *events, int max);

/* Reads on for the definitions alone, to the end or until source->status says why not. */
void hwi_stream_define(struct hwi_stream *stream, struct hwi_source *source);

/* Makes sure that an event is ready. False: the stream is at its end. */
bool hwi_stream_fill(struct hwi_stream *stream, struct hwi_source *source);

/* Decodes further behind what is ready already. */
void hwi_stream_top_up(struct hwi_stream *stream, struct hwi_source *source);

/* No event that is still to come is older than this. Needs no reading. */
uint64_t hwi_stream_bound(const struct hwi_stream *stream);

/* No event that cannot be seen yet is older than this. */
static inline uint64_t hwi_stream_horizon(const struct hwi_stream *stream)
{
  if (!stream->followed || stream->cursor.at != stream->cursor.end)
    return UINT64_MAX;
  return stream->not_before > stream->last_tick ? stream->not_before : stream->last_tick;
}

/* No event is left; needs no reading, so false may still turn out to be nothing. */
bool hwi_stream_is_done(const struct hwi_stream *stream);

#endif
