/* stream.h - reads the events of one stream in order, over all its pieces */
#ifndef HWI_TRACE_READ_STREAM_H
#define HWI_TRACE_READ_STREAM_H

#include "trace/read/index.h"

/* The file that all streams of a trace read, and their common results. */
struct hwi_source {
  int fd;
  const struct hw_trace_header *header;
  struct hwi_index *index;
  struct hwi_definition_sink definitions;
  uint64_t missing_chunks;
  uint64_t read_bytes;  /* of pieces, as stored in the file */
  uint64_t event_bytes; /* of chunks, as the target wrote them */
  int status;           /* 0, or why reading had to stop (HW_ERR_IO, HW_ERR_MEMORY) */
  int os_error;
};

/* Passes on the counts of a sample's chunk, which grow without events while it is open. To be called after its header was
 * read: those of a retired chunk are final. */
void hwi_source_pass_counts(const struct hwi_source *source, uint64_t chunk_off, uint32_t chunk_sequence);

/* A raw chunk that a growing stream loaded last: it may get more events. */
struct hwi_open_chunk {
  bool is_open;
  bool may_have_grown;    /* it was not read to its end since the last look */
  struct hwi_piece piece; /* from: what was not read yet */
  uint64_t floor;         /* last tick of the chunks before */
};

/* The latest event that was decoded, and how many have the same tick. */
struct hwi_stream_tail {
  uint64_t tick, count;
};

/* Invariant: `ready_at <= ready_count`; events [ready_at, ready_count) are decoded and pending, in order. */
struct hwi_stream {
  uint32_t number;
  const struct hwi_piece *pieces;
  size_t piece_count, next_piece;
  uint64_t next_sequence;
  uint64_t last_tick; /* of the last event decoded */
  uint64_t from_tick; /* older events are dropped */
  uint64_t skipped;   /* ... and so many at that tick */
  struct hwi_unpacked loaded;
  uint64_t loaded_off;      /* of the piece, in the file */
  uint64_t loaded_sequence; /* of the next chunk, where `loaded` has events */
  size_t chunk_at;          /* where the next chunk begins in loaded.bytes, where there are any */
  struct hwi_cursor cursor; /* in the current chunk of loaded.bytes */
  struct hwi_event *ready;
  int ready_count, ready_at;

  bool is_in_heap;     /* of the merge */
  bool may_begin_late; /* its first chunks were dropped, so that they are not missing */

  /* Of a stream that is still being written: its follower makes new events readable at the cursor. */
  bool followed;
  uint64_t not_before; /* later events are not older than this, nor than the last event */

  /* Of a stream that is still being written, in pieces that are added meanwhile (growing.h). */
  bool grows;
  struct hwi_open_chunk open;
  struct hwi_stream_tail tail;
};

enum { HWI_STREAM_BATCH = 256 };

/* Takes the pieces of one stream, in the index's order. */
void hwi_stream_init(struct hwi_stream *stream, const struct hwi_piece *pieces, size_t piece_count);
void hwi_stream_release(struct hwi_stream *stream);

/* To be called before the first read: drops events before `tick`. Pieces that contain only such events are not read. */
void hwi_stream_skip(struct hwi_stream *stream, uint64_t tick);

/* Decodes up to `max` (at least HWI_DECODE_MIN_ROOM) events. Returns their number, or 0 if none are left or on failure
 * (source->status). */
int hwi_stream_next(struct hwi_stream *stream, struct hwi_source *source, struct hwi_event *events, int max);

/* Reads only the definitions of the rest of the stream, to its end or until a failure (source->status). */
void hwi_stream_define(struct hwi_stream *stream, struct hwi_source *source);

/* Makes sure that an event is ready. Returns false if the stream is at its end. */
bool hwi_stream_fill(struct hwi_stream *stream, struct hwi_source *source);

/* Decodes more events and appends them to those that are ready. */
void hwi_stream_top_up(struct hwi_stream *stream, struct hwi_source *source);

/* Returns a tick such that no later event of the stream is older. Does not read the file. */
uint64_t hwi_stream_bound(const struct hwi_stream *stream);

/* Returns a tick such that no event that is not yet written is older. */
static inline uint64_t hwi_stream_horizon(const struct hwi_stream *stream)
{
  if (!stream->followed || stream->cursor.at != stream->cursor.end)
    return UINT64_MAX;
  return stream->not_before > stream->last_tick ? stream->not_before : stream->last_tick;
}

/* Looks whether a growing stream has new events. Returns false if there are none, or on failure (source->status). */
bool hwi_stream_look(struct hwi_stream *stream, struct hwi_source *source);

/* Returns whether no event is left. Does not read the file, so the result may be false although there is no further
 * event. */
bool hwi_stream_is_done(const struct hwi_stream *stream);

#endif
