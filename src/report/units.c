/* units.c - sizes, durations and percentages as users write them */
#include "report/units.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char powers[] = "KMGTPE"; /* the n-th is base^(n+1) */

/* "" is 1, "K" and "KiB" are 1024, "kB" and "KB" are 1000, and so on; 0: no such suffix. */
static uint64_t size_factor(const char *suffix)
{
  if (*suffix == '\0')
    return 1;
  const char *power = strchr(powers, toupper((unsigned char)*suffix));
  if (power == NULL)
    return 0;
  uint64_t base;
  if (suffix[1] == '\0' || strcmp(suffix + 1, "iB") == 0)
    base = 1024;
  else if (strcmp(suffix + 1, "B") == 0)
    base = 1000;
  else
    return 0;
  uint64_t factor = 1;
  for (const char *p = powers; p <= power; p++)
    factor *= base;
  return factor;
}

bool hwi_size_parse(const char *text, uint64_t *bytes)
{
  if (!isdigit((unsigned char)*text)) /* strtoull would take a sign and blanks */
    return false;
  char *end;
  errno = 0;
  unsigned long long number = strtoull(text, &end, 10);
  uint64_t factor = size_factor(end);
  return errno == 0 && factor != 0 && !__builtin_mul_overflow(number, factor, bytes);
}

bool hwi_duration_parse(const char *text, uint64_t *ns)
{
  static const struct {
    const char *suffix;
    double ns;
  } units[] = {{"", 1e9}, {"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}, {"m", 60e9}, {"min", 60e9}, {"h", 3600e9}};
  size_t digits = strspn(text, "0123456789."); /* strtod would take nan, inf, exponents and hexadecimals */
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
  if (dots == NULL)
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
