/* varint.h - writes the variable-length integers of the trace format; the caller has checked the space */
#ifndef HWI_BASE_VARINT_H
#define HWI_BASE_VARINT_H

#include <stdint.h>

enum { HWI_VARINT_MAX_BYTES = 10 };

static inline uint8_t *hwi_put_varint(uint8_t *at, uint64_t value)
{
  while (value >= 0x80) {
    *at++ = (uint8_t)(value | 0x80);
    value >>= 7;
  }
  *at++ = (uint8_t)value;
  return at;
}

static inline uint64_t hwi_zigzag(int64_t value)
{
  return ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
}

#endif
