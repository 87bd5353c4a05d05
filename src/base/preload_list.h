/* preload_list.h - the libraries in a value of LD_PRELOAD */
#ifndef HWI_BASE_PRELOAD_LIST_H
#define HWI_BASE_PRELOAD_LIST_H

#include <stdbool.h>
#include <string.h>

#include "base/suffix.h"

/* Returns the length of the entry at the start of the list. After it is a separator, or the end. */
static inline size_t hwi_preload_entry_bytes(const char *list)
{
  size_t bytes = 0;
  while (list[bytes] && list[bytes] != ':' && list[bytes] != ' ')
    bytes++;
  return bytes;
}

/* Returns whether an entry of the list is the library `name`, or a link to it: see src/launch/target/preload.c. */
static inline bool hwi_preload_has(const char *list, const char *name)
{
  for (size_t bytes; *list; list += bytes + (list[bytes] != 0)) {
    bytes = hwi_preload_entry_bytes(list);
    if (hwi_ends_in(list, bytes, name))
      return true;
  }
  return false;
}

#endif
