/* decimal.h - writes a number in decimal, without libc */
#ifndef HWI_BASE_DECIMAL_H
#define HWI_BASE_DECIMAL_H

#include <stdint.h>

enum { HWI_DECIMAL_DIGITS = 20 }; /* of UINT64_MAX */

/* Writes the digits to the end of `digits`, without a NUL, and returns the first one. */
static inline char *hwi_decimal(char digits[HWI_DECIMAL_DIGITS], uint64_t number)
{
  char *first = digits + HWI_DECIMAL_DIGITS;
  do
    *--first = (char)('0' + number % 10);
  while (number /= 10);
  return first;
}

#endif
