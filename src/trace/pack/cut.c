/* cut.c - packs a part of a piece again: without chunks that are known already, and without events after a moment
 *
 * Definitions that come after the moment are kept. A thread may use a node that another thread has just defined, with an
 * event whose time is before that of the event with which the node was defined.
 */
#include "trace/pack/cut.h"

#include <string.h>

#include "base/error.h"

struct cutting {
  struct hwi_recoder *recoder;
  struct hwi_columns_out *out;
  const struct hwi_part *part;
  struct hw_section_header *section;
  struct hwi_definition_sink all; /* of the recoder */
  bool has_begun;
  uint16_t fields;
  uint64_t tick;
};

/* --- definitions --- */

static bool put_node(void *context, uint32_t number, const struct hwi_node *node)
{
  const struct cutting *cutting = context;
  return cutting->all.add_node(cutting->all.context, number, node);
}

/* Only what events before the moment may name is wanted of a piece that begins later. */
static bool is_wanted(const struct cutting *cutting, uint8_t type)
{
  switch (type) {
  case HW_RECORD_MODULE:
  case HW_RECORD_NAME:
  case HW_RECORD_TEXT:
    return true;
  case HW_RECORD_EXIT:
    return !cutting->part->goes_on;
  default:
    return cutting->section->first_tick < cutting->part->until;
  }
}

static bool put_record(void *context, uint8_t type, const uint8_t *payload, size_t bytes, uint32_t *thread)
{
  const struct cutting *cutting = context;
  return !is_wanted(cutting, type) || cutting->all.add_record(cutting->all.context, type, payload, bytes, thread);
}

/* --- events --- */

/* Returns how many of the events are before the moment. If a realloc is not complete then, its old block has ended. */
static int count_before(struct hwi_event *events, int count, uint64_t until)
{
  while (count > 0 && events[count - 1].tick >= until)
    count--;
  if (count > 0 && events[count - 1].kind == HWI_EVENT_FREE)
    events[count - 1].moved = false;
  return count;
}

static int put(const struct cutting *cutting, int count)
{
  struct hwi_event *events = hwi_recoder_room(cutting->recoder);
  return hwi_recoder_put(cutting->recoder, count_before(events, count, cutting->part->until));
}

/* Begins the section with its first chunk. Returns whether it has these fields, and there is memory. */
static int begin_chunk(struct cutting *cutting, const struct hw_chunk_header *chunk)
{
  if (cutting->has_begun)
    return chunk->fields == cutting->fields ? 0 : HW_ERR_LIMIT;
  cutting->has_begun = true;
  cutting->fields = chunk->fields;
  cutting->tick = chunk->base_tick;
  cutting->section->first_sequence = chunk->sequence;
  cutting->section->first_tick = chunk->base_tick;
  return hwi_recoder_begin(cutting->recoder, cutting->out, chunk) ? 0 : HW_ERR_MEMORY;
}

static int cut_chunk(struct cutting *cutting, const struct hw_chunk_header *chunk, const uint8_t *bytes)
{
  const struct hwi_definition_sink sink = {cutting, put_node, put_record};
  struct hwi_event *events = hwi_recoder_room(cutting->recoder);
  struct hwi_cursor cursor;
  int count = 1;
  int status = begin_chunk(cutting, chunk);
  if (status == 0 && !hwi_cursor_init(&cursor, chunk, bytes, cutting->tick))
    status = HW_ERR_DAMAGED;
  while (status == 0 && count > 0) {
    count = hwi_decode(&cursor, &sink, events, HWI_RECODER_ROOM);
    status = cursor.damaged ? HW_ERR_DAMAGED : put(cutting, count);
  }
  if (status == 0) {
    cutting->tick = cursor.tick;
    hwi_recoder_end_chunk(cutting->recoder, chunk->valid_bytes);
  }
  return status;
}

static int cut_plain(struct cutting *cutting, const struct hwi_unpacked *loaded)
{
  int status = 0;
  struct hw_chunk_header chunk;
  for (size_t at = 0; at < loaded->count && status == 0; at += sizeof chunk + chunk.valid_bytes) {
    if (loaded->count - at < sizeof chunk)
      return HW_ERR_DAMAGED;
    memcpy(&chunk, loaded->bytes + at, sizeof chunk);
    if (chunk.valid_bytes > loaded->count - at - sizeof chunk)
      return HW_ERR_DAMAGED;
    if (chunk.sequence >= cutting->part->from_sequence)
      status = cut_chunk(cutting, &chunk, loaded->bytes + at + sizeof chunk);
  }
  return status;
}

static int cut_restored_chunk(struct cutting *cutting, struct hwi_restorer *restorer, bool is_known)
{
  struct hwi_event *events = hwi_recoder_room(cutting->recoder);
  int status = 0, count = 1;
  while (status == 0 && count > 0) {
    count = hwi_restore(restorer, events, HWI_RECODER_ROOM);
    if (!is_known)
      status = put(cutting, count);
  }
  return status < 0 ? status : hwi_restore_is_damaged(restorer) ? HW_ERR_DAMAGED : 0;
}

static int cut_restored(struct cutting *cutting, struct hwi_restorer *restorer)
{
  const struct hwi_definition_sink sink = {cutting, put_node, put_record};
  struct hw_chunk_header chunk = {.sequence = cutting->section->first_sequence, .fields = hwi_restore_fields(restorer)};
  struct hwi_restored_chunk restored;
  int status = 0;
  for (; status == 0 && hwi_restore_chunk(restorer, &restored); chunk.sequence++) {
    const bool is_known = chunk.sequence < cutting->part->from_sequence, is_first = !is_known && !cutting->has_begun;
    chunk.base_tick = hwi_restore_tick(restorer);
    if (!is_known)
      status = begin_chunk(cutting, &chunk);
    if (status == 0 && is_first)
      status = hwi_restore_definitions(restorer, &sink);
    if (status == 0)
      status = cut_restored_chunk(cutting, restorer, is_known);
    if (status == 0 && !is_known)
      hwi_recoder_end_chunk(cutting->recoder, (uint32_t)restored.bytes);
  }
  return status < 0 ? status : hwi_restore_is_damaged(restorer) ? HW_ERR_DAMAGED : 0;
}

int hwi_recode_part(struct hwi_recoder *recoder, const struct hwi_unpacked *loaded, const struct hwi_part *part,
                    struct hwi_columns_out *out, struct hw_section_header *section)
{
  struct cutting cutting = {
      .recoder = recoder, .out = out, .part = part, .section = section, .all = hwi_recoder_sink(recoder)};
  int status = loaded->events ? cut_restored(&cutting, loaded->events) : cut_plain(&cutting, loaded);
  if (status == 0 && !cutting.has_begun)
    status = HW_ERR_DAMAGED;
  return status < 0 ? status : hwi_recoder_end(recoder, section);
}
