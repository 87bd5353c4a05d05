/* wide.h - numbers of 128 bits: products of two of 64 bits, and their shares. Compilers have them only where registers have 64 bits */
#ifndef HWI_BASE_WIDE_H
#define HWI_BASE_WIDE_H

#include <stdint.h>

struct hwi_wide {
  uint64_t low, high;
};

/* Returns the value shifted right by `bits`: 1 to 63. */
static inline struct hwi_wide hwi_wide_right(struct hwi_wide value, unsigned bits)
{
  return (struct hwi_wide){value.low >> bits | value.high << (64 - bits), value.high >> bits};
}

#ifdef __SIZEOF_INT128__

static inline struct hwi_wide hwi_wide_product(uint64_t a, uint64_t b)
{
  const unsigned __int128 product = (unsigned __int128)a * b;
  return (struct hwi_wide){(uint64_t)product, (uint64_t)(product >> 64)};
}

/* Returns (a * b + more) / whole, of which the lower 64 bits. `whole` is not 0. */
static inline uint64_t hwi_wide_share(uint64_t a, uint64_t b, uint64_t more, uint64_t whole)
{
  return (uint64_t)(((unsigned __int128)a * b + more) / whole);
}

#else

static inline struct hwi_wide hwi_wide_product(uint64_t a, uint64_t b)
{
  const uint64_t a_low = (uint32_t)a, a_high = a >> 32, b_low = (uint32_t)b, b_high = b >> 32;
  const uint64_t lowest = a_low * b_low, first = a_high * b_low + (lowest >> 32),
                 second = a_low * b_high + (uint32_t)first;
  return (struct hwi_wide){second << 32 | (uint32_t)lowest, a_high * b_high + (first >> 32) + (second >> 32)};
}

static inline uint64_t hwi_wide_share(uint64_t a, uint64_t b, uint64_t more, uint64_t whole)
{
  struct hwi_wide rest = hwi_wide_product(a, b);
  rest.low += more;
  rest.high += rest.low < more;
  if (rest.high == 0)
    return rest.low / whole;
  uint64_t above = rest.high % whole, share = 0; /* as in a division by hand, with one bit at a time */
  for (unsigned bit = 64; bit-- > 0;) {
    const uint64_t carry = above >> 63;
    above = above << 1 | (rest.low >> bit & 1);
    share <<= 1;
    if (carry || above >= whole) {
      above -= whole;
      share |= 1;
    }
  }
  return share;
}

#endif

#endif
