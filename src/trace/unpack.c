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

int hwi_unpack_section(const struct hw_section_header *section, const void *packed, size_t padding, uint8_t **plain,
                       size_t *bytes)
{
  *plain = NULL;
  *bytes = 0;
  if (section->codec != 0)
    return HW_ERR_VERSION;
  if (section->plain_bytes > HWI_UNPACK_MAX_BYTES)
    return HW_ERR_DAMAGED;
  size_t plain_bytes = (size_t)section->plain_bytes;
  uint8_t *to = malloc(plain_bytes + padding + 1); /* never of 0 bytes */
  if (!to)
    return HW_ERR_MEMORY;
  size_t got = ZSTD_decompress(to, plain_bytes, packed, (size_t)section->packed_bytes);
  if (ZSTD_isError(got) || got != plain_bytes) {
    free(to);
    return HW_ERR_DAMAGED;
  }
  memset(to + plain_bytes, 0, padding);
  *plain = to;
  *bytes = plain_bytes;
  return 0;
}
