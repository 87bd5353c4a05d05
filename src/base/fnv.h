/* fnv.h - FNV-1a with 64 bits: for tables and names; not safe against deliberate collisions */
#ifndef HWI_BASE_FNV_H
#define HWI_BASE_FNV_H

#include <stddef.h>
#include <stdint.h>

#define HWI_FNV_BASIS UINT64_C(0xcbf29ce484222325) /* the hash of no bytes */
#define HWI_FNV_PRIME UINT64_C(0x100000001b3)

/* Continues `hash` with `count` more bytes. */
static inline uint64_t hwi_fnv(uint64_t hash, const void *bytes, size_t count)
{
  const uint8_t *at = bytes;
  for (size_t i = 0; i < count; i++)
    hash = (hash ^ at[i]) * HWI_FNV_PRIME;
  return hash;
}

static inline uint64_t hwi_fnv_text(const char *text)
{
  uint64_t hash = HWI_FNV_BASIS;
  for (; *text; text++)
    hash = (hash ^ (uint8_t)*text) * HWI_FNV_PRIME;
  return hash;
}

#endif
