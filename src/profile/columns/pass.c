/* pass.c - writes numbers and columns into a summary's compressed stream, and reads them from it
 *
 * Numbers are varints, as in a trace, and are compressed by zstd. Level 1 is enough, because the columns have done most
 * of the work.
 */
#include "profile/columns/pass.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd_errors.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/varint.h"
#include "trace/table.h"

enum {
  PLAIN_BYTES = 1 << 17,
  PACKED_BYTES = 1 << 16,
  LEVEL = 1,
  WINDOW_LOG_MAX = 23, /* 8 MB: limits the memory for a forged frame, too */
  SPARE_ITEMS = 1 << 16,
  BITS_A_BYTE = 7,
};

void hwi_pass_fail(struct hwi_pass *pass, int status)
{
  if (pass->status == 0)
    pass->status = status;
}

/* --- to the file --- */

static void write_packed(struct hwi_pass *pass, size_t count)
{
  for (size_t done = 0; done < count && pass->status == 0;) {
    ssize_t written = write(pass->fd, pass->packed + done, count - done);
    if (written <= 0)
      hwi_pass_fail(pass, HW_ERR_IO);
    else
      done += (size_t)written;
  }
  pass->packed_bytes += count;
}

/* Compresses the bytes in `plain`. */
static void flush(struct hwi_pass *pass, ZSTD_EndDirective directive)
{
  ZSTD_inBuffer from = {pass->plain, pass->at, 0};
  for (bool more = pass->status == 0; more && pass->status == 0;) {
    ZSTD_outBuffer to = {pass->packed, PACKED_BYTES, 0};
    size_t left = ZSTD_compressStream2(pass->compressor, &to, &from, directive);
    if (ZSTD_isError(left))
      hwi_pass_fail(pass, HW_ERR_MEMORY);
    else
      write_packed(pass, to.pos);
    more = directive == ZSTD_e_end ? left > 0 : from.pos < from.size;
  }
  pass->plain_bytes += pass->at;
  pass->at = 0;
}

uint8_t *hwi_pass_room(struct hwi_pass *pass, size_t count)
{
  if (PLAIN_BYTES - pass->at < count)
    flush(pass, ZSTD_e_continue);
  pass->at += count;
  return pass->plain + pass->at - count;
}

static inline void put(struct hwi_pass *pass, uint64_t value)
{
  if (PLAIN_BYTES - pass->at < HWI_VARINT_MAX_BYTES)
    flush(pass, ZSTD_e_continue);
  pass->at = (size_t)(hwi_put_varint(pass->plain + pass->at, value) - pass->plain);
}

/* --- from the file --- */

static bool read_packed(struct hwi_pass *pass)
{
  size_t wanted = pass->packed_bytes < PACKED_BYTES ? (size_t)pass->packed_bytes : PACKED_BYTES;
  ssize_t got = wanted ? read(pass->fd, pass->packed, wanted) : 0;
  if (got <= 0) {
    hwi_pass_fail(pass, got < 0 ? HW_ERR_IO : HW_ERR_DAMAGED);
    return false;
  }
  pass->packed_bytes -= (uint64_t)got;
  pass->from = (ZSTD_inBuffer){pass->packed, (size_t)got, 0};
  return true;
}

/* Moves the unread bytes to the front, and decompresses more after them. */
static void refill(struct hwi_pass *pass)
{
  memmove(pass->plain, pass->plain + pass->at, pass->end - pass->at);
  pass->end -= pass->at;
  pass->at = 0;
  ZSTD_outBuffer to = {pass->plain, PLAIN_BYTES, pass->end};
  while (to.pos < to.size && pass->status == 0 && !pass->frame_ended) {
    size_t before = to.pos, left = ZSTD_decompressStream(pass->decompressor, &to, &pass->from);
    if (ZSTD_isError(left)) {
      bool memory = ZSTD_getErrorCode(left) == ZSTD_error_memory_allocation;
      hwi_pass_fail(pass, memory ? HW_ERR_MEMORY : HW_ERR_DAMAGED);
    }
    pass->frame_ended = left == 0;
    if (left > 0 && to.pos == before && pass->from.pos == pass->from.size && !read_packed(pass))
      break;
  }
  pass->end = to.pos;
}

/* Reads a varint that may be cut off: each byte is checked, and an incomplete varint is damage. */
static uint64_t get_slowly(struct hwi_pass *pass)
{
  uint64_t value = 0;
  for (unsigned shift = 0; shift < HWI_VARINT_MAX_BYTES * BITS_A_BYTE && pass->at < pass->end; shift += BITS_A_BYTE) {
    uint8_t byte = pass->plain[pass->at++];
    value |= (uint64_t)(byte & 0x7f) << shift;
    if (!(byte & 0x80))
      return value;
  }
  hwi_pass_fail(pass, HW_ERR_DAMAGED);
  return 0;
}

_Static_assert((int)HWI_PASS_ROOM_BYTES <= (int)PLAIN_BYTES, "the room is there");

const uint8_t *hwi_pass_take(struct hwi_pass *pass, size_t count)
{
  if (pass->end - pass->at < count && pass->status == 0)
    refill(pass);
  if (pass->status)
    return NULL;
  if (pass->end - pass->at < count) {
    hwi_pass_fail(pass, HW_ERR_DAMAGED);
    return NULL;
  }
  pass->at += count;
  return pass->plain + pass->at - count;
}

static inline uint64_t get(struct hwi_pass *pass)
{
  if (pass->end - pass->at < HWI_VARINT_MAX_BYTES && pass->status == 0)
    refill(pass);
  if (pass->status)
    return 0;
  if (pass->at < pass->end && !(pass->plain[pass->at] & 0x80))
    return pass->plain[pass->at++];
  return get_slowly(pass);
}

/* --- the beginning and the end --- */

static bool make_buffers(struct hwi_pass *pass)
{
  pass->plain = malloc(PLAIN_BYTES);
  pass->packed = malloc(PACKED_BYTES);
  return pass->plain && pass->packed;
}

void hwi_pass_begin_write(struct hwi_pass *pass, int fd)
{
  *pass = (struct hwi_pass){.writes = true, .fd = fd, .compressor = ZSTD_createCCtx()};
  if (!make_buffers(pass) || !pass->compressor ||
      ZSTD_isError(ZSTD_CCtx_setParameter(pass->compressor, ZSTD_c_compressionLevel, LEVEL)) ||
      ZSTD_isError(ZSTD_CCtx_setParameter(pass->compressor, ZSTD_c_checksumFlag, 1)))
    pass->status = HW_ERR_MEMORY;
}

void hwi_pass_begin_read(struct hwi_pass *pass, int fd, uint64_t packed_bytes)
{
  *pass = (struct hwi_pass){.fd = fd, .packed_bytes = packed_bytes, .decompressor = ZSTD_createDCtx()};
  pass->most_items = packed_bytes < UINT32_MAX - SPARE_ITEMS ? packed_bytes + SPARE_ITEMS : UINT32_MAX;
  if (!make_buffers(pass) || !pass->decompressor ||
      ZSTD_isError(ZSTD_DCtx_setParameter(pass->decompressor, ZSTD_d_windowLogMax, WINDOW_LOG_MAX)))
    pass->status = HW_ERR_MEMORY;
}

static void expect_end(struct hwi_pass *pass)
{
  if (pass->status == 0)
    refill(pass);
  if (pass->at != pass->end || !pass->frame_ended || pass->from.pos != pass->from.size || pass->packed_bytes)
    hwi_pass_fail(pass, HW_ERR_DAMAGED);
}

int hwi_pass_end(struct hwi_pass *pass)
{
  if (pass->writes && pass->status == 0)
    flush(pass, ZSTD_e_end);
  else if (!pass->writes)
    expect_end(pass);
  free(pass->plain);
  free(pass->packed);
  ZSTD_freeCCtx(pass->compressor);
  ZSTD_freeDCtx(pass->decompressor);
  return pass->status;
}

/* --- numbers --- */

void hwi_pass_number(struct hwi_pass *pass, uint64_t *number)
{
  if (!pass->writes)
    *number = get(pass);
  else if (pass->status == 0)
    put(pass, *number);
}

bool hwi_pass_count(struct hwi_pass *pass, uint64_t *count)
{
  hwi_pass_number(pass, count);
  if (!pass->writes && *count > pass->most_items) {
    hwi_pass_fail(pass, HW_ERR_DAMAGED);
    *count = 0;
  }
  return pass->status == 0;
}

/* --- lists --- */

/* Returns a hash of the struct's layout in this program. */
static uint64_t signature(const struct hwi_fields *fields)
{
  enum { BITS = 14 }; /* two bytes as a varint */
  uint64_t hash = fields->item_bytes;
  for (size_t f = 0; f < fields->count; f++) {
    const struct hwi_field *field = &fields->list[f];
    hash = (hash ^ field->off) * HWI_FNV_PRIME;
    hash = (hash ^ field->bytes ^ (uint64_t)field->order << 8 ^ (uint64_t)field->repeat << 16) * HWI_FNV_PRIME;
  }
  return (hash ^ hash >> 32) & ((UINT64_C(1) << BITS) - 1);
}

/* A list that was written by a program with another struct layout is not read. */
static void pass_signature(struct hwi_pass *pass, const struct hwi_fields *fields)
{
  uint64_t expected = signature(fields), found = expected;
  hwi_pass_number(pass, &found);
  if (found != expected)
    hwi_pass_fail(pass, HW_ERR_DAMAGED);
}

void hwi_pass_list(struct hwi_pass *pass, const struct hwi_fields *fields, void **items, size_t *count, size_t spare)
{
  uint64_t number = *count;
  pass_signature(pass, fields);
  bool counted = hwi_pass_count(pass, &number);
  if (!pass->writes) {
    *count = 0;
    *items = counted && number + spare ? hwi_table_calloc(number + spare, fields->item_bytes) : NULL;
    if (counted && number + spare && !*items)
      hwi_pass_fail(pass, HW_ERR_MEMORY);
    if (!*items)
      return;
    *count = (size_t)number;
  }
  hwi_pass_array(pass, fields, *items, *count);
}

void hwi_pass_table(struct hwi_pass *pass, const struct hwi_fields *fields, void **items, size_t *count,
                    size_t *capacity)
{
  uint64_t number = *count;
  pass_signature(pass, fields);
  if (!hwi_pass_count(pass, &number))
    return;
  if (!hwi_table_grow(items, capacity, (size_t)number, fields->item_bytes)) {
    hwi_pass_fail(pass, HW_ERR_MEMORY);
    return;
  }
  *count = (size_t)number;
  hwi_pass_array(pass, fields, *items, *count);
}
