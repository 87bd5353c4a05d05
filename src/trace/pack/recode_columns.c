/* recode_columns.c - the columns of a recoded section */
#include "trace/pack/recode_columns.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "trace/pack/pack.h"

enum { SIZES_BYTES = 2 * sizeof(uint32_t), WORTH_PACKING_BYTES = 24 };

/* --- writing --- */

void hwi_columns_out_clear(struct hwi_columns_out *out)
{
  for (int i = 0; i < HWI_COLUMN_COUNT; i++)
    out->columns[i].count = 0;
  out->failed = false;
}

void hwi_columns_out_release(struct hwi_columns_out *out)
{
  for (int i = 0; i < HWI_COLUMN_COUNT; i++)
    free(out->columns[i].bytes);
  *out = (struct hwi_columns_out){0};
}

bool hwi_columns_out_grow(struct hwi_columns_out *out, enum hwi_section_column column, size_t bytes)
{
  enum { FIRST_ROOM = 4096 };
  struct hwi_column_out *to = &out->columns[column];
  size_t room = 2 * to->room + bytes + FIRST_ROOM;
  uint8_t *made = realloc(to->bytes, room);
  if (!made) {
    out->failed = true;
    return false;
  }
  to->bytes = made;
  to->room = room;
  return true;
}

void hwi_columns_put_bytes(struct hwi_columns_out *out, enum hwi_section_column column, const void *bytes, size_t count)
{
  struct hwi_column_out *to = &out->columns[column];
  if (!count || (to->room - to->count < count && !hwi_columns_out_grow(out, column, count)))
    return;
  memcpy(to->bytes + to->count, bytes, count);
  to->count += count;
}

size_t hwi_columns_bound(const struct hwi_columns_out *out)
{
  size_t bytes = 0;
  for (int i = 0; i < HWI_COLUMN_COUNT; i++)
    bytes += SIZES_BYTES + ZSTD_compressBound(out->columns[i].count);
  return bytes;
}

static bool is_noise(int column)
{
  return column == HWI_COLUMN_TIMES || column == HWI_COLUMN_LONG_TIMES || column == HWI_COLUMN_REALLOC_TIMES ||
         column == HWI_COLUMN_ADDRESSES || column == HWI_COLUMN_DURATIONS;
}

size_t hwi_columns_pack(const struct hwi_columns_out *out, ZSTD_CCtx *zstd, const struct hwi_levels *levels,
                        uint8_t *to, size_t room)
{
  int count = hwi_columns_out_count(out);
  size_t at = (size_t)count * SIZES_BYTES;
  for (int i = 0; i < count; i++) {
    const struct hwi_column_out *column = &out->columns[i];
    size_t packed = column->count;
    int level = is_noise(i) ? levels->noise : levels->usual;
    if (column->count >= WORTH_PACKING_BYTES) {
      packed = ZSTD_compressCCtx(zstd, to + at, room - at, column->bytes, column->count, level);
      if (ZSTD_isError(packed))
        return 0;
    }
    if (packed >= column->count) {
      packed = column->count;
      if (packed)
        memcpy(to + at, column->bytes, packed);
    }
    uint32_t sizes[2] = {(uint32_t)column->count, (uint32_t)packed};
    memcpy(to + (size_t)i * SIZES_BYTES, sizes, sizeof sizes);
    at += packed;
  }
  return at;
}

/* --- reading --- */

/* Columns that are absent have sizes of 0 bytes. */
static int unpack_all(struct hwi_columns_in *in, const uint8_t *packed, const uint32_t (*sizes)[2])
{
  uint8_t *to = in->bytes;
  for (int i = 0; i < HWI_COLUMN_COUNT; i++) {
    if (sizes[i][0] == sizes[i][1]) {
      memcpy(to, packed, sizes[i][0]);
    } else {
      int status = hwi_unzstd(to, sizes[i][0], packed, sizes[i][1]);
      if (status < 0)
        return status;
    }
    in->columns[i] = (struct hwi_column_in){to, to + sizes[i][0]};
    to += sizes[i][0];
    packed += sizes[i][1];
  }
  return 0;
}

int hwi_columns_unpack(struct hwi_columns_in *in, const struct hwi_packed_columns *packed, size_t limit)
{
  uint32_t sizes[HWI_COLUMN_COUNT][2] = {{0}};
  size_t head_bytes = (size_t)packed->columns * sizeof *sizes;
  uint64_t plain_bytes = 0, packed_bytes = head_bytes;
  *in = (struct hwi_columns_in){0};
  if (packed->count < head_bytes)
    return HW_ERR_DAMAGED;
  memcpy(sizes, packed->bytes, head_bytes);
  for (int i = 0; i < packed->columns; i++) {
    plain_bytes += sizes[i][0];
    packed_bytes += sizes[i][1];
  }
  if (packed_bytes != packed->count || plain_bytes > limit)
    return HW_ERR_DAMAGED;
  in->bytes = malloc((size_t)plain_bytes + 1); /* never 0 bytes */
  if (!in->bytes)
    return HW_ERR_MEMORY;
  int status = unpack_all(in, packed->bytes + head_bytes, (const uint32_t(*)[2])sizes);
  if (status < 0)
    hwi_columns_in_release(in);
  return status;
}

void hwi_columns_in_release(struct hwi_columns_in *in)
{
  free(in->bytes);
  *in = (struct hwi_columns_in){0};
}

uint64_t hwi_columns_get_long(struct hwi_columns_in *in, enum hwi_section_column column)
{
  struct hwi_column_in *from = &in->columns[column];
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && from->at != from->end; shift += 7) {
    uint8_t byte = *from->at++;
    value |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80)
      return value;
  }
  in->failed = true;
  return 0;
}

const uint8_t *hwi_columns_get_bytes(struct hwi_columns_in *in, enum hwi_section_column column, size_t count)
{
  struct hwi_column_in *from = &in->columns[column];
  if (count > (size_t)(from->end - from->at)) {
    in->failed = true;
    return NULL;
  }
  const uint8_t *at = from->at;
  from->at += count;
  return at;
}
