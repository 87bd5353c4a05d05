/* preload_list.c - this library in the value of LD_PRELOAD */
#include "record/preload_list.h"

#include <string.h>

#include "base/preload_list.h"

static const char own_name[] = "libheapwright-record.so";

bool hwi_preload_has_own(const char *list)
{
  return hwi_preload_has(list, own_name);
}

bool hwi_preload_take_out(char *list)
{
  char *to = list;
  bool is_there = false;
  for (const char *at = list; *at;) {
    size_t bytes = hwi_preload_entry_bytes(at), with_separator = bytes + (at[bytes] != 0);
    if (hwi_ends_in(at, bytes, own_name)) {
      is_there = true;
    } else {
      memmove(to, at, with_separator);
      to += with_separator;
    }
    at += with_separator;
  }
  *to = 0;
  return is_there;
}
