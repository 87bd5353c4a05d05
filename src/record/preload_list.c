/* preload_list.c - this library in the value of LD_PRELOAD */
#include "record/preload_list.h"

#include <string.h>

static const char own_name[] = "libheapwright-record.so";

static bool is_separator(char c)
{
  return c == ':' || c == ' ';
}

/* Returns whether the entry of LD_PRELOAD that is `bytes` long is this library, or a link to it: see
 * src/launch/target/preload.c. */
static bool is_own(const char *entry, size_t bytes)
{
  size_t own = sizeof own_name - 1;
  return bytes >= own && memcmp(entry + bytes - own, own_name, own) == 0;
}

static size_t entry_bytes(const char *at)
{
  size_t bytes = 0;
  while (at[bytes] && !is_separator(at[bytes]))
    bytes++;
  return bytes;
}

bool hwi_preload_has_own(const char *list)
{
  for (size_t bytes; *list; list += bytes + (list[bytes] != 0)) {
    bytes = entry_bytes(list);
    if (is_own(list, bytes))
      return true;
  }
  return false;
}

bool hwi_preload_take_out(char *list)
{
  char *to = list;
  bool is_there = false;
  for (const char *at = list; *at;) {
    size_t bytes = entry_bytes(at), with_separator = bytes + (at[bytes] != 0);
    if (is_own(at, bytes)) {
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
