/* pack.c - packs chunks and tool records into sections, and unpacks sections
 *
 * Memory is bounded before anything is decompressed: a section states the size of its plain bytes, which may be at most
 * HWI_UNPACK_MAX_BYTES, and decompression into a buffer of that size fails if the contents do not fit.
 */
#include "trace/pack/pack.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/error.h"
#include "trace/pack/cut.h"

enum {
  PLAIN_LEVEL = 3,
  COUNTED_EVENTS = 256,
  BUSY_BYTES = 16 << 20,
};

static const struct hwi_levels levels[] = {
    [HWI_EFFORT_SMALL] = {6, 6}, [HWI_EFFORT_QUICK] = {3, 1}, [HWI_EFFORT_FAST] = {1, 1}};

struct hwi_packer {
  ZSTD_CCtx *zstd;
  enum hwi_effort effort;
  uint8_t *packed;
  size_t packed_room;
  struct hwi_recoder *recoder; /* NULL: not needed yet */
  struct hwi_columns_out columns;
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
  hwi_recoder_destroy(packer->recoder);
  hwi_columns_out_release(&packer->columns);
  free(packer->packed);
  free(packer);
}

void hwi_packer_set_effort(struct hwi_packer *packer, enum hwi_effort effort)
{
  packer->effort = effort;
}

enum hwi_effort hwi_effort_for(uint64_t waiting_bytes)
{
  return waiting_bytes < BUSY_BYTES ? HWI_EFFORT_QUICK : HWI_EFFORT_FAST;
}

static bool skip_node(void *context, uint32_t number, const struct hwi_node *node)
{
  (void)context;
  (void)number;
  (void)node;
  return true;
}

static bool skip_record(void *context, uint8_t type, const uint8_t *payload, size_t bytes, uint32_t *thread)
{
  (void)context;
  (void)type;
  (void)payload;
  (void)bytes;
  (void)thread;
  return true;
}

/* Adds the events of one chunk to the section's count and last tick, up to the first event that cannot be decoded. */
static void count_events(const struct hw_chunk_header *chunk, const uint8_t *bytes, struct hw_section_header *section)
{
  static const struct hwi_definition_sink sink = {NULL, skip_node, skip_record};
  struct hwi_event events[COUNTED_EVENTS];
  struct hwi_cursor cursor;
  int count;
  if (!hwi_cursor_init(&cursor, chunk, bytes, section->last_tick))
    return;
  while ((count = hwi_decode(&cursor, &sink, events, COUNTED_EVENTS)) > 0)
    for (int i = 0; i < count; i++)
      section->event_count += !(events[i].moved && events[i].kind == HWI_EVENT_FREE);
  section->last_tick = cursor.tick;
}

static void count_all_events(const uint8_t *plain, size_t bytes, struct hw_section_header *section)
{
  struct hw_chunk_header chunk;
  section->event_count = 0;
  section->last_tick = section->first_tick;
  for (size_t at = 0; at < bytes; at += sizeof chunk + chunk.valid_bytes) {
    memcpy(&chunk, plain + at, sizeof chunk);
    count_events(&chunk, plain + at + sizeof chunk, section);
  }
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
  }
  return 0;
}

static bool make_room(struct hwi_packer *packer, size_t room)
{
  if (room <= packer->packed_room)
    return true;
  free(packer->packed);
  packer->packed = malloc(room);
  packer->packed_room = packer->packed ? room : 0;
  return packer->packed;
}

static int pack_plain(struct hwi_packer *packer, const uint8_t *plain, size_t bytes, struct hw_section_header *section)
{
  if (bytes > HWI_UNPACK_MAX_BYTES)
    return HW_ERR_LIMIT;
  if (!make_room(packer, ZSTD_compressBound(bytes)))
    return HW_ERR_MEMORY;
  size_t got = ZSTD_compressCCtx(packer->zstd, packer->packed, packer->packed_room, plain, bytes, PLAIN_LEVEL);
  if (ZSTD_isError(got))
    return HW_ERR_MEMORY; /* no other error is possible, since the room is sufficient */
  section->packed_bytes = got;
  section->plain_bytes = bytes;
  section->codec = HWI_CODEC_PLAIN;
  return 0;
}

int hwi_pack_columns(struct hwi_packer *packer, const struct hwi_columns_out *columns,
                     struct hw_section_header *section, const uint8_t **packed)
{
  if (!make_room(packer, hwi_columns_bound(columns)))
    return HW_ERR_MEMORY;
  size_t got = hwi_columns_pack(columns, packer->zstd, &levels[packer->effort], packer->packed, packer->packed_room);
  if (!got)
    return HW_ERR_MEMORY;
  *packed = packer->packed;
  section->packed_bytes = got;
  section->codec = hwi_columns_out_count(columns) == HWI_COLUMN_COUNT ? HWI_CODEC_TIMED : HWI_CODEC_COLUMNS;
  return 0;
}

static bool need_recoder(struct hwi_packer *packer)
{
  if (!packer->recoder)
    packer->recoder = hwi_recoder_create();
  return packer->recoder;
}

/* Returns HW_ERR_DAMAGED or HW_ERR_LIMIT if these events cannot be packed as columns. */
static int recode(struct hwi_packer *packer, const uint8_t *plain, size_t bytes, struct hw_section_header *section)
{
  if (bytes < HWI_RECODE_MIN_BYTES)
    return HW_ERR_LIMIT;
  if (!need_recoder(packer))
    return HW_ERR_MEMORY;
  section->plain_bytes = bytes;
  return hwi_recode(packer->recoder, plain, bytes, &packer->columns, section);
}

int hwi_pack_chunks(struct hwi_packer *packer, const uint8_t *plain, size_t bytes, struct hw_section_header *section,
                    const uint8_t **packed)
{
  *section = (struct hw_section_header){.magic = HW_SECTION_MAGIC, .type = HW_SECTION_EVENTS};
  int status = describe_chunks(plain, bytes, section);
  if (status < 0)
    return status;
  status = recode(packer, plain, bytes, section);
  if (status == 0)
    return hwi_pack_columns(packer, &packer->columns, section, packed);
  if (status == HW_ERR_LIMIT || status == HW_ERR_DAMAGED) { /* damaged chunks stay as they are: a part is readable */
    count_all_events(plain, bytes, section);
    status = pack_plain(packer, plain, bytes, section);
  }
  *packed = packer->packed;
  return status;
}

int hwi_pack_part(struct hwi_packer *packer, const struct hwi_unpacked *unpacked, const struct hwi_part *part,
                  struct hw_section_header *section, const uint8_t **packed)
{
  if (!need_recoder(packer))
    return HW_ERR_MEMORY;
  int status = 0;
  if (unpacked->bytes) {
    *section = (struct hw_section_header){
        .magic = HW_SECTION_MAGIC, .type = HW_SECTION_EVENTS, .plain_bytes = unpacked->count};
    status = describe_chunks(unpacked->bytes, unpacked->count, section);
  }
  if (status == 0)
    status = section->plain_bytes > HWI_RECODE_MAX_BYTES
                 ? HW_ERR_LIMIT
                 : hwi_recode_part(packer->recoder, unpacked, part, &packer->columns, section);
  return status < 0 ? status : hwi_pack_columns(packer, &packer->columns, section, packed);
}

int hwi_pack_bytes(struct hwi_packer *packer, enum hw_section_type type, const uint8_t *plain, size_t bytes,
                   struct hw_section_header *section, const uint8_t **packed)
{
  *section = (struct hw_section_header){.magic = HW_SECTION_MAGIC, .type = type};
  int status = pack_plain(packer, plain, bytes, section);
  *packed = packer->packed;
  return status;
}

/* --- unpacking --- */

int hwi_unzstd(void *to, size_t plain_bytes, const void *packed, size_t packed_bytes)
{
  size_t got = ZSTD_decompress(to, plain_bytes, packed, packed_bytes);
  if (got == plain_bytes)
    return 0;
  return ZSTD_getErrorCode(got) == ZSTD_error_memory_allocation ? HW_ERR_MEMORY : HW_ERR_DAMAGED;
}

/* Columns may have more bytes than the plain events, if the numbers are small, but not more than this. */
enum { COLUMN_BYTES_PER_PLAIN = 4, COLUMN_BYTES_SLACK = 4096 };

static int unpack_plain(const struct hw_section_header *section, const void *packed, struct hwi_unpacked *unpacked)
{
  size_t plain_bytes = (size_t)section->plain_bytes;
  uint8_t *to = malloc(plain_bytes + HWI_DECODE_PADDING);
  if (!to)
    return HW_ERR_MEMORY;
  int status = hwi_unzstd(to, plain_bytes, packed, (size_t)section->packed_bytes);
  if (status < 0) {
    free(to);
    return status;
  }
  memset(to + plain_bytes, 0, HWI_DECODE_PADDING);
  *unpacked = (struct hwi_unpacked){.bytes = to, .count = plain_bytes};
  return 0;
}

static int unpack_columns(const struct hw_section_header *section, const void *packed, struct hwi_unpacked *unpacked)
{
  struct hwi_columns_in in;
  size_t plain_bytes = (size_t)section->plain_bytes;
  if (plain_bytes > HWI_RECODE_MAX_BYTES)
    return HW_ERR_DAMAGED;
  const struct hwi_packed_columns columns = {packed, (size_t)section->packed_bytes,
                                             section->codec == HWI_CODEC_TIMED ? HWI_COLUMN_COUNT
                                                                               : HWI_COLUMN_COUNT_UNTIMED};
  int status = hwi_columns_unpack(&in, &columns, COLUMN_BYTES_PER_PLAIN * plain_bytes + COLUMN_BYTES_SLACK);
  if (status == 0)
    unpacked->events = hwi_restorer_create(&in, section->first_tick, &status);
  return status;
}

int hwi_unpack_section(const struct hw_section_header *section, const void *packed, struct hwi_unpacked *unpacked)
{
  *unpacked = (struct hwi_unpacked){0};
  bool is_columns = section->codec == HWI_CODEC_COLUMNS || section->codec == HWI_CODEC_TIMED;
  const bool is_events = section->type == HW_SECTION_EVENTS || section->type == HW_SECTION_LEFT;
  if (section->codec > HWI_CODEC_TIMED || (is_columns && !is_events))
    return HW_ERR_VERSION;
  if (section->plain_bytes > HWI_UNPACK_MAX_BYTES)
    return HW_ERR_DAMAGED;
  return is_columns ? unpack_columns(section, packed, unpacked) : unpack_plain(section, packed, unpacked);
}

void hwi_unpacked_release(struct hwi_unpacked *unpacked)
{
  free(unpacked->bytes);
  hwi_restorer_destroy(unpacked->events);
  *unpacked = (struct hwi_unpacked){0};
}
