/* size_text.c - sizes as users write them */
#include "base/size_text.h"

#include <string.h>

bool hwi_size_parse(const char *text, uint64_t *bytes)
{
  static const char units[] = "KMGT";
  uint64_t value = 0;
  const char *at = text;
  for (; *at >= '0' && *at <= '9'; at++)
    if (__builtin_mul_overflow(value, 10u, &value) || __builtin_add_overflow(value, (unsigned)(*at - '0'), &value))
      return false;
  if (at == text)
    return false;
  const char *unit = *at == 'k' ? units : *at ? strchr(units, *at) : NULL;
  if (unit) {
    bool decimal = at[1] == 'B' && !at[2];
    for (long power = unit - units + 1; power > 0; power--)
      if (__builtin_mul_overflow(value, decimal ? 1000u : 1024u, &value))
        return false;
    at += at[1] == 'i' && at[2] == 'B' ? 3 : at[1] == 'B' ? 2 : 1;
  } else if (*at == 'B') {
    at++;
  }
  *bytes = value;
  return !*at;
}
