/* unpack.c - packed sections back to what the target wrote
 *
 * Memory is bounded before anything is decompressed: a section says how large its plain bytes are, no more than
 * HWI_UNPACK_MAX_BYTES is believed, and decompression into a buffer of that size fails where the contents do not fit.
 */
#include "trace/unpack.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/error.h"
#include "trace/recode.h"

/* Columns of small numbers may hold more bytes than what they stand for, never that many more. */
enum { COLUMN_BYTES_PER_PLAIN = 4, COLUMN_BYTES_SLACK = 4096 };

static int unpack_plain(const struct hw_section_header *section, const void *packed, uint8_t *to)
{
  size_t plain_bytes = (size_t)section->plain_bytes;
  size_t got = ZSTD_decompress(to, plain_bytes, packed, (size_t)section->packed_bytes);
  return ZSTD_isError(got) || got != plain_bytes ? HW_ERR_DAMAGED : 0;
}

static int unpack_columns(const struct hw_section_header *section, const void *packed, uint8_t *to)
{
  struct hwi_columns_in in;
  size_t plain_bytes = (size_t)section->plain_bytes;
  if (plain_bytes > HWI_RECODE_MAX_BYTES)
    return HW_ERR_DAMAGED;
  int status = hwi_columns_unpack(&in, packed, (size_t)section->packed_bytes,
                                  COLUMN_BYTES_PER_PLAIN * plain_bytes + COLUMN_BYTES_SLACK);
  if (status == 0)
    status = hwi_restore(&in, to, plain_bytes);
  hwi_columns_in_release(&in);
  return status;
}

int hwi_unpack_section(const struct hw_section_header *section, const void *packed, size_t padding, uint8_t **plain,
                       size_t *bytes)
{
  *plain = NULL;
  *bytes = 0;
  if (section->codec > HWI_CODEC_COLUMNS || (section->codec == HWI_CODEC_COLUMNS && section->type != HW_SECTION_EVENTS))
    return HW_ERR_VERSION;
  if (section->plain_bytes > HWI_UNPACK_MAX_BYTES)
    return HW_ERR_DAMAGED;
  size_t plain_bytes = (size_t)section->plain_bytes;
  size_t slack = padding > HWI_RESTORE_SLACK ? padding : HWI_RESTORE_SLACK;
  uint8_t *to = malloc(plain_bytes + slack);
  if (!to)
    return HW_ERR_MEMORY;
  int status =
      section->codec == HWI_CODEC_COLUMNS ? unpack_columns(section, packed, to) : unpack_plain(section, packed, to);
  if (status < 0) {
    free(to);
    return status;
  }
  memset(to + plain_bytes, 0, slack);
  *plain = to;
  *bytes = plain_bytes;
  return 0;
}
