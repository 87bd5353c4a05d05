/* suffix.h - the suffix of a file's name */
#ifndef HWI_BASE_SUFFIX_H
#define HWI_BASE_SUFFIX_H

#include <stdbool.h>
#include <string.h>

/* Returns whether the first `bytes` of `name` end in `suffix`, or are equal to it. */
static inline bool hwi_ends_in(const char *name, size_t bytes, const char *suffix)
{
  size_t suffix_bytes = strlen(suffix);
  return bytes >= suffix_bytes && memcmp(name + bytes - suffix_bytes, suffix, suffix_bytes) == 0;
}

/* Returns whether the first `bytes` of `name` end in `suffix` and are longer than it. */
static inline bool hwi_has_suffix(const char *name, size_t bytes, const char *suffix)
{
  return bytes > strlen(suffix) && hwi_ends_in(name, bytes, suffix);
}

#endif
