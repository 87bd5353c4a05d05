/* largest_share.h - ranks items by the largest share that each has of any figure */
#ifndef HWI_PAGE_LARGEST_SHARE_H
#define HWI_PAGE_LARGEST_SHARE_H

#include <stdint.h>
#include <string.h>

/* Returns the larger of `share` and part / whole, which counts as 0 if `whole` is 0. */
static inline double hwi_larger_share(double share, uint64_t part, uint64_t whole)
{
  double other = whole > 0 ? (double)part / (double)whole : 0;
  return other > share ? other : share;
}

/* Returns the share's bits as a key for hwi_radix_sort: they are in the order of the shares, since none is negative. */
static inline uint64_t hwi_share_key(double share)
{
  uint64_t key;
  memcpy(&key, &share, sizeof key);
  return key;
}

#endif
