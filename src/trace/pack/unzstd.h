/* unzstd.h - decompresses a zstd frame of a stated size */
#ifndef HWI_TRACE_PACK_UNZSTD_H
#define HWI_TRACE_PACK_UNZSTD_H

#include <stddef.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/error.h"

/* Decompresses exactly `plain_bytes` into `to`; the frame may be hostile. Returns 0, HW_ERR_DAMAGED or
 * HW_ERR_MEMORY. */
static inline int hwi_unzstd(void *to, size_t plain_bytes, const void *packed, size_t packed_bytes)
{
  size_t got = ZSTD_decompress(to, plain_bytes, packed, packed_bytes);
  if (got == plain_bytes)
    return 0;
  return ZSTD_getErrorCode(got) == ZSTD_error_memory_allocation ? HW_ERR_MEMORY : HW_ERR_DAMAGED;
}

#endif
