/* unpack.c - unpacks sections to chunks or events
 *
 * Memory is bounded before anything is decompressed: a section states the size of its plain bytes, which may be at most
 * HWI_UNPACK_MAX_BYTES, and decompression into a buffer of that size fails if the contents do not fit.
 */
#include "trace/pack/unpack.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "trace/pack/recode.h"
#include "trace/pack/unzstd.h"

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
  if (section->codec > HWI_CODEC_TIMED || (is_columns && section->type != HW_SECTION_EVENTS))
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
