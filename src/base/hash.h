/* hash.h - hashes of bytes and of numbers: for tables and names; not safe against deliberate collisions */
#ifndef HWI_BASE_HASH_H
#define HWI_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* --- bytes: FNV-1a with 64 bits --- */

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

/* Mixes `count` bytes into `seed`. Its lower bits alone are a hash as well. */
static inline uint64_t hwi_hash_bytes(const void *bytes, size_t count, uint64_t seed)
{
  uint64_t hash = hwi_fnv(HWI_FNV_BASIS ^ seed, bytes, count);
  return hash ^ hash >> 32;
}

/* --- numbers --- */

static inline uint32_t hwi_hash_number(uint64_t number)
{
  number = (number ^ number >> 31) * UINT64_C(0x9e3779b97f4a7c15); /* 2^64 / golden ratio */
  return (uint32_t)(number ^ number >> 32);
}

static inline uint32_t hwi_hash_pair(uint64_t a, uint64_t b)
{
  return hwi_hash_number(a ^ (b << 29 | b >> 35));
}

#endif
