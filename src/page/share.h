/* share.h - ranks items by the largest share that each has of any figure */
#ifndef HWI_PAGE_SHARE_H
#define HWI_PAGE_SHARE_H

#include <stddef.h>
#include <stdint.h>

struct hwi_ranked {
  double share;
  uint32_t index;
};

/* Returns the larger of `share` and part / whole, which counts as 0 if `whole` is 0. */
static inline double hwi_larger_share(double share, uint64_t part, uint64_t whole)
{
  double other = whole > 0 ? (double)part / (double)whole : 0;
  return other > share ? other : share;
}

/* Sorts by share, the largest first; equal shares by index. */
void hwi_rank(struct hwi_ranked *ranked, size_t count);

#endif
