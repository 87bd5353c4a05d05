/* number.c - numbers as a report prints them */
#include "report/words/number.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/wide.h"

static const uint64_t second_ns = 1000000000;

struct hwi_number hwi_count_text(uint64_t count)
{
  char digits[32];
  int length = snprintf(digits, sizeof digits, "%" PRIu64, count);
  struct hwi_number number;
  char *to = number.text;
  for (int i = 0; i < length; i++) {
    if (i > 0 && (length - i) % 3 == 0)
      *to++ = ',';
    *to++ = digits[i];
  }
  *to = '\0';
  return number;
}

/* tenths / 10 with one decimal and a unit. */
static struct hwi_number tenths_text(uint64_t tenths, const char *unit)
{
  struct hwi_number number, whole = hwi_count_text(tenths / 10);
  snprintf(number.text, sizeof number.text, "%.24s.%u %s", whole.text, (unsigned)(tenths % 10), unit);
  return number;
}

struct hwi_number hwi_bytes_text(uint64_t bytes)
{
  static const char *const units[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
  enum { EXACT_BELOW = 10000, TENTHS_IN_NEXT = 10000 };
  if (bytes == 0)
    return (struct hwi_number){"0"};
  if (bytes < EXACT_BELOW) {
    struct hwi_number number, count = hwi_count_text(bytes);
    snprintf(number.text, sizeof number.text, "%.24s B", count.text);
    return number;
  }
  uint64_t tenth = 100; /* of the unit */
  for (size_t i = 0;; i++, tenth *= 1000) {
    uint64_t tenths = bytes / tenth + (bytes % tenth >= tenth / 2);
    if (tenths < TENTHS_IN_NEXT || i + 1 == sizeof units / sizeof *units)
      return tenths_text(tenths, units[i]);
  }
}

struct hwi_number hwi_binary_bytes_text(uint64_t bytes)
{
  enum { UNIT_BITS = 10 };
  static const char *const units[] = {"KiB", "MiB", "GiB"};
  int unit = -1;
  uint64_t count = bytes;
  for (; count > 0 && count % (1 << UNIT_BITS) == 0 && unit < 2; unit++)
    count >>= UNIT_BITS;
  if (unit < 0)
    return hwi_bytes_text(bytes);
  struct hwi_number number = hwi_count_text(count);
  const size_t used = strlen(number.text);
  snprintf(number.text + used, sizeof number.text - used, " %s", units[unit]);
  return number;
}

struct hwi_number hwi_signed_bytes_text(int64_t bytes)
{
  struct hwi_number number, value = hwi_bytes_text(bytes < 0 ? 0 - (uint64_t)bytes : (uint64_t)bytes);
  snprintf(number.text, sizeof number.text, "%s%.30s", bytes < 0 ? "-" : "+", value.text);
  return number;
}

/* part * by / whole, rounded; exact as long as the result fits. */
static uint64_t scaled(uint64_t part, uint64_t by, uint64_t whole)
{
  return hwi_wide_share(part, by, whole / 2, whole);
}

/* `amount` per second, formatted by `word`; "" if the time is 0. */
static struct hwi_number per_second(uint64_t amount, uint64_t ns, struct hwi_number (*word)(uint64_t))
{
  struct hwi_number number = {""};
  if (ns == 0)
    return number;
  struct hwi_number rate = word(scaled(amount, second_ns, ns));
  snprintf(number.text, sizeof number.text, "%.28s/s", rate.text);
  return number;
}

struct hwi_number hwi_rate_text(uint64_t count, uint64_t ns)
{
  return per_second(count, ns, hwi_count_text);
}

struct hwi_number hwi_byte_rate_text(uint64_t bytes, uint64_t ns)
{
  return per_second(bytes, ns, hwi_bytes_text);
}

struct hwi_number hwi_share_text(uint64_t part, uint64_t whole)
{
  struct hwi_number number = {""};
  if (whole == 0 || part == 0)
    return number;
  uint64_t tenths = scaled(part, 1000, whole);
  if (tenths == 0)
    snprintf(number.text, sizeof number.text, "<0.1 %%");
  else
    number = tenths_text(tenths, "%");
  return number;
}

struct hwi_number hwi_short_time_text(uint64_t ns)
{
  static const char *const units[] = {"us", "ms", "s"};
  enum { DIGITS_END = 1000, LAST = sizeof units / sizeof *units - 1 };
  struct hwi_number number;
  if (ns < DIGITS_END) {
    snprintf(number.text, sizeof number.text, "%u ns", (unsigned)ns);
    return number;
  }
  double value = (double)ns;
  size_t unit = 0;
  for (value /= DIGITS_END; value >= DIGITS_END - 0.5 && unit < LAST; value /= DIGITS_END)
    unit++;
  int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  snprintf(number.text, sizeof number.text, "%.*f %s", decimals, value, units[unit]);
  return number;
}

struct hwi_number hwi_time_text(uint64_t ns)
{
  enum { MINUTE = 60, HOUR = 3600, SECONDS_SHOWN = 10000 };
  struct hwi_number number;
  uint64_t seconds = ns / second_ns;
  if (ns == 0)
    snprintf(number.text, sizeof number.text, "0 s");
  else if (ns < 1000000)
    number = tenths_text((ns + 50) / 100, "us");
  else if (ns < second_ns)
    number = tenths_text((ns + 50000) / 100000, "ms");
  else if (seconds < SECONDS_SHOWN)
    number = tenths_text((ns + second_ns / 20) / (second_ns / 10), "s");
  else
    snprintf(number.text, sizeof number.text, "%" PRIu64 " h %" PRIu64 " min", seconds / HOUR, seconds % HOUR / MINUTE);
  return number;
}
