/* follower.c - counts a trace while its program writes it */
#include "launch/follow/follower.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launch/follow/single_stream.h"
#include "trace/decode.h"
#include "trace/grow.h"
#include "trace/read/merge.h"

enum {
  BATCH_EVENTS = 512,
  STREAMS_MAX = 4096, /* each takes some 20 KB while it has events */
};

/* A stream, and the position in the chunk that is being read. */
struct followed {
  struct hwi_stream stream;
  bool has_chunk; /* false: the next chunk is not known yet, or not begun */
  bool is_known;  /* the next chunk is known but not begun */
  bool is_retired;
  uint64_t off;
  uint32_t sequence;   /* of the chunk, or of the next one */
  uint32_t read_bytes; /* bytes of its events that were read */
  uint8_t *bytes;      /* the bytes that were read last */
};

struct hwi_follower {
  int fd;
  struct hw_trace_header header; /* as first read: the fields needed here never change */
  bool failed;
  struct followed **streams; /* indexed by number; NULL: not seen */
  size_t stream_count, stream_capacity;
  struct hwi_index index; /* empty; damage is noted here */
  struct hwi_source source;
  struct hwi_merge merge;
  struct hwi_counter counter;
  struct followed *only; /* the only stream so far; NULL: there is none yet, or there are several */
  struct hwi_single_stream single;
  struct hwi_event events[BATCH_EVENTS];
  uint64_t busy_tick, silent_tick; /* see hwi_follower_begin */
  uint64_t last_tick;              /* of the last event counted */
  bool has_counted;
  uint32_t section_bytes; /* plain bytes that make a section */
};

/* --- definitions do not count --- */

static bool skip_node(void *context, uint32_t number, const struct hwi_node *node)
{
  (void)context;
  (void)number;
  (void)node;
  return true;
}

static bool take_record(void *context, uint8_t type, const uint8_t *payload, size_t bytes, uint32_t *thread)
{
  struct hwi_follower *follower = context;
  struct hwi_thread ignored;
  if (type == HW_RECORD_COUNTS && !hwi_counter_take_calls(&follower->counter, payload, bytes))
    follower->failed = true;
  return type != HW_RECORD_THREAD || hwi_payload_thread(payload, bytes, thread, &ignored);
}

/* --- the whole --- */

struct hwi_follower *hwi_follower_create(int fd, const struct hw_trace_header *header, uint32_t section_bytes)
{
  struct hwi_follower *follower = calloc(1, sizeof *follower);
  if (!follower)
    return NULL;
  follower->fd = fd;
  follower->header = *header;
  follower->section_bytes = section_bytes;
  follower->source = (struct hwi_source){.fd = fd,
                                         .header = &follower->header,
                                         .index = &follower->index,
                                         .definitions = {follower, skip_node, take_record}};
  if (!hwi_counter_init(&follower->counter, &follower->header)) {
    hwi_follower_destroy(follower);
    return NULL;
  }
  follower->merge.liveness = (struct hwi_liveness){hwi_counter_is_live, &follower->counter};
  return follower;
}

static void release_streams(struct hwi_follower *follower)
{
  for (size_t i = 0; i < follower->stream_count; i++) {
    struct followed *followed = follower->streams[i];
    if (!followed)
      continue;
    hwi_stream_release(&followed->stream);
    free(followed->bytes);
    free(followed);
  }
  free(follower->streams);
  follower->streams = NULL;
  follower->stream_count = follower->stream_capacity = 0;
}

void hwi_follower_give_up(struct hwi_follower *follower)
{
  follower->failed = true;
  release_streams(follower);
  follower->only = NULL;
  hwi_single_stream_release(&follower->single);
  hwi_merge_release(&follower->merge);
  hwi_counter_release(&follower->counter);
}

void hwi_follower_destroy(struct hwi_follower *follower)
{
  if (!follower)
    return;
  hwi_follower_give_up(follower);
  free(follower);
}

bool hwi_follower_failed(const struct hwi_follower *follower)
{
  return follower->failed;
}

uint64_t hwi_follower_event_count(const struct hwi_follower *follower)
{
  const struct hwi_counts *counts = &follower->counter.counts;
  if (follower->header.sample_bytes)
    return counts->sampled_events;
  return counts->allocation_calls + counts->free_calls + counts->failed_calls - counts->realloc_calls;
}

const struct hwi_counts *hwi_follower_counts(const struct hwi_follower *follower)
{
  return &follower->counter.counts;
}

/* --- chunks --- */

/* A second stream has appeared: from here on streams are merged. The drain packs the chunks of the unfinished section
 * itself. */
static bool leave_single(struct hwi_follower *follower)
{
  struct hwi_stream *stream = &follower->only->stream;
  const struct hwi_recoded_batch *batch = &follower->single.batch;
  int waiting = hwi_single_stream_waiting(&follower->single);
  if (waiting) {
    stream->ready = malloc(HWI_STREAM_BATCH * sizeof *stream->ready);
    if (!stream->ready)
      return false;
    memcpy(stream->ready, batch->events + follower->single.counted, (size_t)waiting * sizeof *stream->ready);
    stream->ready_count = waiting;
  }
  follower->only = NULL;
  hwi_merge_resume(&follower->merge, stream);
  return hwi_single_stream_leave(&follower->single, &follower->counter);
}

static bool add_stream(struct hwi_follower *follower, uint32_t number)
{
  bool is_first = !follower->stream_count;
  if (number >= STREAMS_MAX ||
      !hwi_grow((void **)&follower->streams, &follower->stream_capacity, (size_t)number + 1, sizeof *follower->streams))
    return false;
  if (number >= follower->stream_count)
    follower->stream_count = (size_t)number + 1;
  struct followed *made = calloc(1, sizeof *made);
  follower->streams[number] = made;
  if (!made)
    return false;
  made->stream.number = number;
  made->stream.followed = true;
  if (hwi_merge_make_room(&follower->merge, follower->stream_count) < 0)
    return false;
  /* A section is not made while the counts of its open chunk still grow. */
  if (is_first && !(follower->header.fields & HW_FIELD_SAMPLED))
    follower->only = made;
  return !follower->only || is_first || leave_single(follower);
}

void hwi_follower_chunk(struct hwi_follower *follower, const struct hwi_seen_chunk *chunk)
{
  if (follower->failed)
    return;
  bool is_new = chunk->stream >= follower->stream_count || !follower->streams[chunk->stream];
  if (is_new && !add_stream(follower, chunk->stream)) {
    hwi_follower_give_up(follower);
    return;
  }
  struct followed *followed = follower->streams[chunk->stream];
  if (followed->has_chunk || followed->is_known || chunk->sequence != followed->sequence)
    return;
  followed->is_known = true;
  followed->off = chunk->off;
}

bool hwi_follower_is_single(const struct hwi_follower *follower)
{
  return follower->only;
}

bool hwi_follower_has_read(const struct hwi_follower *follower, uint32_t stream, uint32_t sequence)
{
  const struct followed *followed = stream < follower->stream_count ? follower->streams[stream] : NULL;
  return followed && sequence < followed->sequence;
}

/* --- reading --- */

/* Reads new events if the cursor is at its end. Returns false on failure. */
static bool read_on(struct hwi_follower *follower, struct followed *followed)
{
  struct hw_chunk_header chunk;
  struct hwi_cursor *cursor = &followed->stream.cursor;
  if (!hwi_index_read_chunk(follower->fd, &follower->header, followed->off, &chunk) ||
      chunk.stream != followed->stream.number || chunk.sequence != followed->sequence ||
      chunk.valid_bytes < followed->read_bytes)
    return false;
  if (!followed->has_chunk && (!hwi_cursor_init(cursor, &chunk, NULL, followed->stream.last_tick) ||
                               (follower->only && !hwi_single_stream_begin_chunk(&follower->single, &chunk))))
    return false;
  followed->has_chunk = true;
  followed->is_known = false;
  if (followed->read_bytes) /* else they are read with the events */
    hwi_source_pass_counts(&follower->source, followed->off, followed->sequence);
  size_t wanted = chunk.valid_bytes - followed->read_bytes;
  followed->is_retired = chunk.state == HW_CHUNK_RETIRED;
  free(followed->bytes);
  followed->bytes = NULL;
  cursor->at = cursor->end = NULL;
  if (!wanted)
    return true;
  followed->bytes = calloc(wanted + HWI_DECODE_PADDING, 1);
  if (!followed->bytes || pread(follower->fd, followed->bytes, wanted,
                                (off_t)(followed->off + sizeof chunk + followed->read_bytes)) != (ssize_t)wanted)
    return false;
  followed->read_bytes += (uint32_t)wanted;
  cursor->at = followed->bytes;
  cursor->end = followed->bytes + wanted;
  return true;
}

/* The chunk was read to its end; continues with the next one. */
static void end_chunk(struct hwi_follower *follower, struct followed *followed)
{
  if (follower->only)
    hwi_single_stream_end_chunk(&follower->single, followed->sequence, followed->read_bytes);
  free(followed->bytes);
  followed->bytes = NULL;
  followed->stream.cursor.at = followed->stream.cursor.end = NULL;
  followed->has_chunk = followed->is_retired = false;
  followed->sequence++;
  followed->read_bytes = 0;
}

/* Reads more of a stream if everything read before is decoded. Sets *more if there was something. */
static bool look_at(struct hwi_follower *follower, struct followed *followed, bool *more)
{
  struct hwi_stream *stream = &followed->stream;
  if (stream->cursor.at != stream->cursor.end || hwi_single_stream_waiting(&follower->single) ||
      (!followed->has_chunk && hwi_single_stream_bytes(&follower->single) >= follower->section_bytes))
    return true;
  if (followed->has_chunk && followed->is_retired) {
    end_chunk(follower, followed);
    stream->not_before = 0; /* the caller may already know the next chunk */
    *more = true;
    return true;
  }
  if (!followed->has_chunk && !followed->is_known) {
    stream->not_before = follower->silent_tick;
    return true;
  }
  if (!read_on(follower, followed))
    return false;
  /* A retired chunk is followed by another one; an open chunk only by events that are written from now on. */
  stream->not_before = followed->is_retired ? 0 : follower->silent_tick;
  *more |= followed->is_retired || followed->bytes;
  if (!follower->only)
    hwi_merge_resume(&follower->merge, stream);
  return true;
}

/* --- counting --- */

/* Sets *more if it counted something: then more of a stream can perhaps be read. */
static bool count_certain(struct hwi_follower *follower, bool *more)
{
  bool is_late = follower->has_counted; /* the first event must not be older than those counted */
  int count;
  while ((count = hwi_merge_next(&follower->merge, &follower->source, follower->events, BATCH_EVENTS)) > 0) {
    if (is_late && follower->events[0].tick <= follower->last_tick)
      return false;
    is_late = false;
    if (!hwi_counter_add(&follower->counter, follower->events, count))
      return false;
    follower->has_counted = *more = true;
    follower->last_tick = follower->events[count - 1].tick;
  }
  return !follower->source.status && !follower->index.damaged;
}

/* The same for the only stream, whose events are in order. */
static bool count_single(struct hwi_follower *follower, bool *more)
{
  struct hwi_stream *stream = &follower->only->stream;
  struct hwi_single_stream *single = &follower->single;
  for (;;) {
    int before = single->counted;
    if (!hwi_single_stream_count(single, &follower->counter, follower->busy_tick))
      return false;
    if (single->counted > before) {
      follower->has_counted = *more = true;
      follower->last_tick = single->batch.events[single->counted - 1].tick;
    }
    if (hwi_single_stream_waiting(single) || stream->cursor.at == stream->cursor.end)
      return true;
    if (!hwi_single_stream_read(single, &stream->cursor))
      return false;
    stream->last_tick = stream->cursor.tick;
  }
}

void hwi_follower_begin(struct hwi_follower *follower, uint64_t busy_tick, uint64_t silent_tick)
{
  follower->busy_tick = busy_tick;
  follower->silent_tick = silent_tick;
}

static bool work(struct hwi_follower *follower, bool *more)
{
  follower->merge.until = follower->busy_tick;
  for (size_t i = 0; i < follower->stream_count; i++) {
    struct followed *followed = follower->streams[i];
    if (!followed)
      continue;
    if (!look_at(follower, followed, more))
      return false;
    uint64_t horizon = hwi_stream_horizon(&followed->stream);
    if (horizon < follower->merge.until)
      follower->merge.until = horizon;
  }
  return follower->only ? count_single(follower, more) : count_certain(follower, more);
}

bool hwi_follower_work(struct hwi_follower *follower)
{
  bool more = false;
  if (!follower->failed && !work(follower, &more))
    hwi_follower_give_up(follower);
  return more && !follower->failed;
}

/* --- sections of the only stream --- */

bool hwi_follower_has_section(const struct hwi_follower *follower)
{
  return follower->only && !follower->only->has_chunk &&
         hwi_single_stream_bytes(&follower->single) >= follower->section_bytes;
}

bool hwi_follower_end(struct hwi_follower *follower)
{
  struct followed *only = follower->only;
  if (!only)
    return false;
  bool is_read = only->stream.cursor.at == only->stream.cursor.end && !hwi_single_stream_waiting(&follower->single);
  if (only->has_chunk && is_read)
    end_chunk(follower, only);
  return !only->has_chunk && hwi_single_stream_bytes(&follower->single) >= HWI_RECODE_MIN_BYTES;
}

int hwi_follower_pack(struct hwi_follower *follower, struct hwi_packer *packer, struct hw_section_header *section,
                      const uint8_t **packed)
{
  int status = hwi_single_stream_end_section(&follower->single, &follower->counter, packer, section, packed);
  if (status < 0)
    hwi_follower_give_up(follower);
  return status;
}
