/* pack.c - chunks and tool records to sections */
#include "trace/pack.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/error.h"
#include "trace/pack_event.h"
#include "trace/unpack.h"

enum { LEVEL = 3 };

struct hwi_packer {
  ZSTD_CCtx *zstd;
  uint8_t *packed;
  size_t packed_room;
};

struct hwi_packer *hwi_packer_create(void)
{
  struct hwi_packer *packer = calloc(1, sizeof *packer);
  if (!packer)
    return NULL;
  packer->zstd = ZSTD_createCCtx();
  if (!packer->zstd) {
    free(packer);
    return NULL;
  }
  return packer;
}

void hwi_packer_destroy(struct hwi_packer *packer)
{
  if (!packer)
    return;
  ZSTD_freeCCtx(packer->zstd);
  free(packer->packed);
  free(packer);
}

/* Adds the events of one chunk to the section's figures. What cannot be parsed ends them. */
static void count_events(const struct hw_chunk_header *chunk, const uint8_t *events, struct hw_section_header *section)
{
  const uint8_t *at = events, *end = events + chunk->valid_bytes;
  uint64_t tick = chunk->base_tick;
  struct hwi_raw_event event = {0};
  while (at && at < end && (at = hwi_raw_event_parse(at, end, chunk->fields & HW_FIELD_USABLE, &event))) {
    tick += event.dt;
    if (event.op == HW_OP_REALLOC)
      tick += event.ticks;
    section->event_count += event.op != HW_OP_NODE && event.op != HW_OP_RECORD;
  }
  if (tick > section->last_tick)
    section->last_tick = tick;
}

static int describe_chunks(const uint8_t *plain, size_t bytes, struct hw_section_header *section)
{
  struct hw_chunk_header chunk;
  for (size_t at = 0; at < bytes; at += sizeof chunk + chunk.valid_bytes) {
    if (bytes - at < sizeof chunk)
      return HW_ERR_DAMAGED;
    memcpy(&chunk, plain + at, sizeof chunk);
    if (chunk.magic != HW_CHUNK_MAGIC || chunk.valid_bytes > bytes - at - sizeof chunk)
      return HW_ERR_DAMAGED;
    if (at == 0) {
      section->stream = chunk.stream;
      section->first_sequence = chunk.sequence;
      section->first_tick = chunk.base_tick;
    } else if (chunk.stream != section->stream || chunk.sequence != section->last_sequence + 1) {
      return HW_ERR_DAMAGED;
    }
    section->last_sequence = chunk.sequence;
    count_events(&chunk, plain + at + sizeof chunk, section);
  }
  return 0;
}

static int compress(struct hwi_packer *packer, const uint8_t *plain, size_t bytes, struct hw_section_header *section,
                    const uint8_t **packed)
{
  if (bytes > HWI_UNPACK_MAX_BYTES)
    return HW_ERR_LIMIT;
  size_t room = ZSTD_compressBound(bytes);
  if (room > packer->packed_room) {
    free(packer->packed);
    packer->packed = malloc(room);
    packer->packed_room = packer->packed ? room : 0;
    if (!packer->packed)
      return HW_ERR_MEMORY;
  }
  size_t got = ZSTD_compressCCtx(packer->zstd, packer->packed, packer->packed_room, plain, bytes, LEVEL);
  if (ZSTD_isError(got))
    return HW_ERR_MEMORY; /* the room is enough for all else */
  section->packed_bytes = got;
  section->plain_bytes = bytes;
  *packed = packer->packed;
  return 0;
}

int hwi_pack_chunks(struct hwi_packer *packer, const uint8_t *plain, size_t bytes, struct hw_section_header *section,
                    const uint8_t **packed)
{
  *section = (struct hw_section_header){.magic = HW_SECTION_MAGIC, .type = HW_SECTION_EVENTS};
  int status = describe_chunks(plain, bytes, section);
  return status < 0 ? status : compress(packer, plain, bytes, section, packed);
}

int hwi_pack_tool_records(struct hwi_packer *packer, const uint8_t *records, size_t bytes,
                          struct hw_section_header *section, const uint8_t **packed)
{
  *section = (struct hw_section_header){.magic = HW_SECTION_MAGIC, .type = HW_SECTION_TOOL};
  return compress(packer, records, bytes, section, packed);
}
