/* raw.h - memory from files of raw bytes, as debugger probes and emulators write them */
#ifndef HWI_MEMORY_IMAGE_RAW_H
#define HWI_MEMORY_IMAGE_RAW_H

#include "memory/image/memory.h"

/* A file whose first byte was at address `base`. */
struct hwi_raw_map {
  const char *path;
  uint64_t base;
};

enum { HWI_RAW_MAPS_MAX = 64 };

struct hwi_raw_image {
  const struct hwi_raw_map *maps;
  size_t map_count;   /* at least 1, at most HWI_RAW_MAPS_MAX */
  unsigned word_bits; /* 32 or 64 */
  bool is_big_endian;
};

/* Opens the files. All their memory counts as writable; no thread is known. Returns 0 or a negative status: also if two of
 * them overlap, or if one is longer than the addresses that a word can have. */
int hwi_raw_open(struct hwi_memory *memory, const struct hwi_raw_image *image, struct hwi_error *error);

#endif
