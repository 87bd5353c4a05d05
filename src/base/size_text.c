/* size_text.c - sizes as users write them */
#include "base/size_text.h"

#include <string.h>

static const char powers[] = "KMGTPE"; /* the n-th is base^(n + 1) */

/* Returns the power of the first letter of a suffix: 1 for K or k; 0 if it is no such letter. */
static unsigned power_of(char letter)
{
  if (letter >= 'a' && letter <= 'z')
    letter = (char)(letter - 'a' + 'A');
  const char *found = letter ? strchr(powers, letter) : NULL;
  return found ? (unsigned)(found - powers) + 1 : 0;
}

bool hwi_size_parse(const char *text, uint64_t *bytes)
{
  uint64_t value = 0;
  const char *at = text;
  for (; *at >= '0' && *at <= '9'; at++)
    if (__builtin_mul_overflow(value, 10u, &value) || __builtin_add_overflow(value, (unsigned)(*at - '0'), &value))
      return false;
  if (at == text)
    return false;
  unsigned power = power_of(*at);
  at += power > 0;
  bool is_binary = power > 0 && (!*at || strcmp(at, "iB") == 0);
  if (*at && !is_binary && strcmp(at, "B") != 0)
    return false;
  for (; power > 0; power--)
    if (__builtin_mul_overflow(value, is_binary ? 1024u : 1000u, &value))
      return false;
  *bytes = value;
  return true;
}
