/* quantities.c - durations, percentages and ranges of sizes as users write them */
#include "report/input/quantities.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/size_text.h"

bool hwi_duration_parse(const char *text, uint64_t *ns)
{
  static const struct {
    const char *suffix;
    double ns;
  } units[] = {{"", 1e9}, {"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}, {"m", 60e9}, {"min", 60e9}, {"h", 3600e9}};
  size_t digits = strspn(text, "0123456789."); /* strtod would accept nan, inf, exponents and hexadecimal numbers */
  if (digits == 0 || digits > 32 || !strpbrk(text, "0123456789"))
    return false;
  char number[33];
  memcpy(number, text, digits);
  number[digits] = '\0';
  char *end;
  double value = strtod(number, &end);
  if (*end != '\0')
    return false;
  for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
    if (strcmp(text + digits, units[i].suffix) != 0)
      continue;
    double result = nearbyint(value * units[i].ns);
    if (result >= 0x1p63)
      return false;
    *ns = (uint64_t)result;
    return true;
  }
  return false;
}

bool hwi_percent_parse(const char *text, double *percent)
{
  size_t bytes = strlen(text);
  if (bytes < 2 || text[bytes - 1] != '%' || strspn(text, "0123456789.") != bytes - 1)
    return false;
  char *end;
  *percent = strtod(text, &end);
  return end == text + bytes - 1;
}

bool hwi_size_range_parse(const char *text, uint64_t *from, uint64_t *to)
{
  enum { SIZE_BYTES = 32 };
  const char *dots = strstr(text, "..");
  *from = 0, *to = UINT64_MAX;
  if (!dots)
    return hwi_size_parse(text, from) && hwi_size_parse(text, to);
  char first[SIZE_BYTES];
  size_t bytes = (size_t)(dots - text);
  if (bytes >= sizeof first || (bytes == 0 && dots[2] == '\0'))
    return false;
  memcpy(first, text, bytes);
  first[bytes] = '\0';
  return (bytes == 0 || hwi_size_parse(first, from)) && (dots[2] == '\0' || hwi_size_parse(dots + 2, to)) &&
         *from <= *to;
}
