/* stream.c - reads the events of one stream in order, over all its pieces
 *
 * Only the piece that is being decoded is in memory. Chunks that come twice (raw and packed) are detected by their
 * sequence numbers and dropped; gaps in the sequence numbers are counted.
 */
#include "trace/read/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

void hwi_stream_init(struct hwi_stream *stream, const struct hwi_piece *pieces, size_t piece_count)
{
  *stream =
      (struct hwi_stream){.number = piece_count ? pieces->stream : 0, .pieces = pieces, .piece_count = piece_count};
}

static void unload(struct hwi_stream *stream)
{
  hwi_unpacked_release(&stream->loaded);
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

/* Returns the next piece that begins after the end of this one, or NULL. */
static const struct hwi_piece *piece_after(const struct hwi_stream *stream, const struct hwi_piece *piece)
{
  const struct hwi_piece *end = stream->pieces + stream->piece_count;
  for (const struct hwi_piece *next = piece + 1; next < end; next++)
    if (next->first_sequence > piece->last_sequence)
      return next;
  return NULL;
}

/* Times within a stream never decrease: a piece is older than the next one. */
void hwi_stream_skip(struct hwi_stream *stream, uint64_t tick)
{
  stream->from_tick = tick;
  for (; stream->next_piece < stream->piece_count; stream->next_piece++) {
    const struct hwi_piece *piece = &stream->pieces[stream->next_piece];
    const struct hwi_piece *after = piece_after(stream, piece);
    if (!after || after->first_tick >= tick)
      return;
    if (piece->last_sequence >= stream->next_sequence) {
      stream->next_sequence = (uint64_t)piece->last_sequence + 1;
      stream->may_begin_late = false;
    }
  }
}

/* Returns the next piece that has chunks that were not read yet, or NULL. */
static const struct hwi_piece *take_piece(struct hwi_stream *stream)
{
  while (stream->next_piece < stream->piece_count) {
    const struct hwi_piece *piece = &stream->pieces[stream->next_piece++];
    if (piece->last_sequence >= stream->next_sequence)
      return piece;
  }
  return NULL;
}

static bool contains(const struct hwi_piece *piece, uint32_t sequence)
{
  return piece->first_sequence <= sequence && sequence <= piece->last_sequence;
}

/* Finds the section with the chunk of a piece. */
static bool find_section(const struct hwi_stream *stream, const struct hwi_source *source,
                         const struct hwi_piece *piece, struct hwi_piece *section)
{
  for (size_t i = stream->next_piece; i < stream->piece_count; i++)
    if (stream->pieces[i].section && contains(&stream->pieces[i], piece->first_sequence)) {
      *section = stream->pieces[i];
      return true;
    }
  return hwi_index_find_late(source->index, source->fd, piece->stream, piece->first_sequence, section);
}

/* Loads a piece. A raw chunk that was packed and given back since it was found is in a section now, which then becomes
 * *piece. */
static int load_piece(struct hwi_stream *stream, const struct hwi_source *source, struct hwi_piece *piece)
{
  struct hwi_piece section;
  int status = hwi_piece_load(&stream->loaded, source->fd, source->header, piece);
  if (status == HW_ERR_BUSY && find_section(stream, source, piece, &section)) {
    *piece = section;
    status = hwi_piece_load(&stream->loaded, source->fd, source->header, piece);
  }
  return status;
}

/* Notes that the loaded piece is a raw chunk that may get more events. */
static void begin_open(struct hwi_stream *stream, const struct hwi_piece *piece)
{
  struct hw_chunk_header chunk;
  stream->open = (struct hwi_open_chunk){.piece = *piece, .floor = stream->last_tick};
  stream->tail = (struct hwi_stream_tail){0};
  if (!stream->loaded.bytes || stream->loaded.count < sizeof chunk || piece->section)
    return;
  memcpy(&chunk, stream->loaded.bytes, sizeof chunk);
  stream->open.is_open = chunk.state != HW_CHUNK_RETIRED;
  stream->open.piece.from = chunk.valid_bytes;
}

/* Loads a piece and reads its definitions. Returns false if it is damaged, or on failure (source->status). */
static bool load(struct hwi_stream *stream, struct hwi_source *source, struct hwi_piece piece)
{
  unload(stream);
  int status = load_piece(stream, source, &piece), definitions = 0;
  source->read_bytes += piece.bytes;
  stream->loaded_off = piece.off;
  stream->loaded_sequence = piece.first_sequence;
  if (status == 0 && stream->loaded.events)
    definitions = hwi_restore_definitions(stream->loaded.events, &source->definitions);
  if (definitions == HW_ERR_DAMAGED) /* the events are still valid */
    hwi_index_damage(source->index, piece.off);
  else if (definitions < 0)
    status = definitions;
  if (status == 0 && stream->grows)
    begin_open(stream, &piece);
  if (status == HW_ERR_IO || status == HW_ERR_MEMORY) {
    source->status = status;
    source->os_error = errno;
  } else if (status < 0) {
    hwi_index_damage(source->index, piece.off);
  }
  return status == 0;
}

/* Returns false if no piece is left, or on failure (source->status). */
static bool load_next_piece(struct hwi_stream *stream, struct hwi_source *source)
{
  unload(stream);
  for (const struct hwi_piece *piece = take_piece(stream); piece && !source->status; piece = take_piece(stream))
    if (load(stream, source, *piece))
      return true;
  return false;
}

/* Counts a chunk that is to be read. Returns false if it was read already. */
static bool take_chunk(struct hwi_stream *stream, struct hwi_source *source, uint64_t sequence, uint64_t bytes)
{
  if (sequence < stream->next_sequence)
    return false;
  if (!stream->may_begin_late)
    source->missing_chunks += sequence - stream->next_sequence;
  stream->may_begin_late = false;
  stream->next_sequence = sequence + 1;
  source->event_bytes += bytes;
  return true;
}

/* Sets the cursor to the next chunk of the loaded bytes that was not read yet. Returns false if there is none. */
static bool next_plain_chunk(struct hwi_stream *stream, struct hwi_source *source)
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
    if (!take_chunk(stream, source, chunk.sequence, chunk.valid_bytes))
      continue;
    if (hwi_cursor_init(&stream->cursor, &chunk, at + sizeof chunk, stream->last_tick))
      return true;
    hwi_index_damage(source->index, stream->loaded_off);
  }
  return false;
}

/* Begins the next chunk of the loaded events that was not read yet; skipped chunks are restored into `events`. Returns
 * false if there is none. */
static bool next_restored_chunk(struct hwi_stream *stream, struct hwi_source *source, struct hwi_event *events, int max)
{
  struct hwi_restored_chunk chunk;
  while (hwi_restore_chunk(stream->loaded.events, &chunk)) {
    if (take_chunk(stream, source, stream->loaded_sequence++, chunk.bytes)) {
      hwi_restore_not_before(stream->loaded.events, stream->last_tick);
      return true;
    }
    while (hwi_restore(stream->loaded.events, events, max) > 0)
      ;
  }
  return false;
}

/* Decodes events of the loaded bytes. Sets *more if another chunk was begun, so that a count of 0 is not the end. */
static int next_plain(struct hwi_stream *stream, struct hwi_source *source, struct hwi_event *events, int max,
                      bool *more)
{
  int count = hwi_decode(&stream->cursor, &source->definitions, events, max);
  if (stream->cursor.tick > stream->last_tick)
    stream->last_tick = stream->cursor.tick;
  if (stream->cursor.damaged) {
    hwi_index_damage(source->index, stream->loaded_off);
    stream->cursor.at = stream->cursor.end;
    stream->cursor.damaged = false;
    stream->open.is_open = false; /* what the chunk gets later cannot be read either */
  }
  *more = !count && next_plain_chunk(stream, source);
  return count;
}

static int next_restored(struct hwi_stream *stream, struct hwi_source *source, struct hwi_event *events, int max,
                         bool *more)
{
  struct hwi_restorer *restorer = stream->loaded.events;
  int count = hwi_restore(restorer, events, max);
  if (hwi_restore_tick(restorer) > stream->last_tick && count)
    stream->last_tick = hwi_restore_tick(restorer);
  *more = !count && next_restored_chunk(stream, source, events, max);
  if (!count && !*more && hwi_restore_is_damaged(restorer))
    hwi_index_damage(source->index, stream->loaded_off);
  return count;
}

/* Removes events before from_tick, and the first ones at that tick; returns how many are left. */
static int drop_older(struct hwi_stream *stream, struct hwi_event *events, int count)
{
  int older = 0;
  while (older < count && events[older].tick < stream->from_tick)
    older++;
  for (; older < count && stream->skipped && events[older].tick == stream->from_tick; stream->skipped--)
    older++;
  if (older)
    memmove(events, events + older, (size_t)(count - older) * sizeof *events);
  return count - older;
}

/* --- a stream that grows --- */

/* The open chunk was packed and given back: it is read again, from its section, without the events that were decoded.
 * Returns false on failure. */
static bool read_from_section(struct hwi_stream *stream, struct hwi_source *source)
{
  stream->next_sequence = stream->open.piece.first_sequence;
  stream->last_tick = stream->open.floor;
  if (stream->tail.tick > stream->from_tick)
    stream->from_tick = stream->tail.tick;
  stream->skipped = stream->tail.count;
  stream->open.is_open = false;
  stream->open.piece.from = 0;
  return load(stream, source, stream->open.piece);
}

void hwi_source_pass_counts(const struct hwi_source *source, uint64_t chunk_off, uint32_t chunk_sequence)
{
  const uint8_t head[] = {HW_OP_RECORD, HW_RECORD_COUNTS, HW_COUNTS_BYTES};
  uint8_t record[sizeof head + HW_COUNTS_BYTES], *payload = record + sizeof head;
  uint32_t sequence, thread;
  const off_t off = (off_t)(chunk_off + sizeof(struct hw_chunk_header));
  if (!(source->header->fields & HW_FIELD_SAMPLED) ||
      pread(source->fd, record, sizeof record, off) != (ssize_t)sizeof record || memcmp(record, head, sizeof head) != 0)
    return;
  memcpy(&sequence, payload + HW_COUNTS_SEQUENCE_OFF, sizeof sequence);
  if (sequence == chunk_sequence)
    source->definitions.add_record(source->definitions.context, HW_RECORD_COUNTS, payload, HW_COUNTS_BYTES, &thread);
}

/* Returns whether the open chunk has no events but those that were read, which is the usual case. */
static bool has_no_more(struct hwi_stream *stream, const struct hwi_source *source)
{
  struct hwi_open_chunk *open = &stream->open;
  struct hw_chunk_header chunk;
  if (!hwi_index_read_chunk(source->fd, source->header, open->piece.off, &chunk) ||
      chunk.sequence != open->piece.first_sequence || chunk.valid_bytes != open->piece.from)
    return false;
  open->is_open = chunk.state != HW_CHUNK_RETIRED;
  open->may_have_grown = false;
  hwi_source_pass_counts(source, open->piece.off, open->piece.first_sequence);
  return true;
}

/* Reads the events that the open chunk got since it was read. Returns whether there are any. */
static bool read_on(struct hwi_stream *stream, struct hwi_source *source)
{
  struct hwi_open_chunk *open = &stream->open;
  struct hw_chunk_header chunk;
  struct hwi_unpacked rest;
  if (!open->is_open || has_no_more(stream, source))
    return false;
  int status = hwi_piece_load(&rest, source->fd, source->header, &open->piece);
  if (status == HW_ERR_BUSY)
    return read_from_section(stream, source);
  if (status < 0) {
    source->status = status;
    source->os_error = errno;
    return false;
  }
  memcpy(&chunk, rest.bytes, sizeof chunk);
  const size_t count = rest.count - sizeof chunk;
  open->is_open = chunk.state != HW_CHUNK_RETIRED;
  hwi_source_pass_counts(source, open->piece.off, open->piece.first_sequence);
  if (!count) {
    open->may_have_grown = false;
    hwi_unpacked_release(&rest);
    return false;
  }
  free(stream->loaded.bytes);
  stream->loaded = rest;
  stream->chunk_at = rest.count;
  stream->cursor.at = rest.bytes + sizeof chunk;
  stream->cursor.end = rest.bytes + rest.count;
  open->piece.from += (uint32_t)count;
  source->read_bytes += count;
  source->event_bytes += count;
  return true;
}

/* Goes on with what was loaded last, or with the next piece. Returns false if there is nothing for now, or on failure
 * (source->status). Only the last piece of a stream can be open. */
static bool load_more(struct hwi_stream *stream, struct hwi_source *source)
{
  const bool is_last = stream->next_piece == stream->piece_count;
  if (read_on(stream, source))
    return true;
  return !source->status && !(is_last && stream->open.is_open) && load_next_piece(stream, source);
}

static void note_tail(struct hwi_stream *stream, const struct hwi_event *events, int count)
{
  const uint64_t tick = events[count - 1].tick;
  int same = 1;
  while (same < count && events[count - 1 - same].tick == tick)
    same++;
  const bool goes_on = same == count && tick == stream->tail.tick;
  stream->tail = (struct hwi_stream_tail){tick, (uint64_t)same + (goes_on ? stream->tail.count : 0)};
}

bool hwi_stream_look(struct hwi_stream *stream, struct hwi_source *source)
{
  const bool has_more = !hwi_stream_is_done(stream);
  stream->open.may_have_grown = stream->open.is_open;
  return has_more || read_on(stream, source);
}

/* --- events --- */

int hwi_stream_next(struct hwi_stream *stream, struct hwi_source *source, struct hwi_event *events, int max)
{
  for (;;) {
    bool more;
    int count = stream->loaded.events ? next_restored(stream, source, events, max, &more)
                                      : next_plain(stream, source, events, max, &more);
    if (count && stream->from_tick) {
      count = drop_older(stream, events, count);
      more = true;
    }
    if (count && stream->grows)
      note_tail(stream, events, count);
    if (count)
      return count;
    if (!more && (stream->followed || !load_more(stream, source)))
      return 0;
  }
}

void hwi_stream_define(struct hwi_stream *stream, struct hwi_source *source)
{
  enum { SKIPPED_EVENTS = 256 };
  struct hwi_event events[SKIPPED_EVENTS];
  while (load_next_piece(stream, source))
    for (bool more = !stream->loaded.events; more;)
      if (next_plain(stream, source, events, SKIPPED_EVENTS, &more) > 0)
        more = true;
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

/* Returns whether an event may be left in the loaded piece. */
static bool is_loaded(const struct hwi_stream *stream)
{
  if (stream->open.is_open && stream->open.may_have_grown)
    return true;
  if (stream->loaded.events)
    return !hwi_restore_is_done(stream->loaded.events);
  return stream->cursor.at != stream->cursor.end || stream->chunk_at < stream->loaded.count;
}

bool hwi_stream_is_done(const struct hwi_stream *stream)
{
  return stream->ready_at == stream->ready_count && !is_loaded(stream) && stream->next_piece == stream->piece_count;
}

uint64_t hwi_stream_bound(const struct hwi_stream *stream)
{
  if (stream->ready_at < stream->ready_count)
    return stream->ready[stream->ready_at].tick;
  uint64_t bound = stream->last_tick;
  if (!is_loaded(stream) && stream->next_piece < stream->piece_count &&
      stream->pieces[stream->next_piece].first_tick > bound)
    bound = stream->pieces[stream->next_piece].first_tick;
  return bound;
}
