/* share.h - what matters most: items in the order of the largest share that each has of anything */
#ifndef HWI_PAGE_SHARE_H
#define HWI_PAGE_SHARE_H

#include <stddef.h>
#include <stdint.h>

struct hwi_ranked {
  double share;
  uint32_t index;
};

/* The larger one of `share` and part / whole, which is 0 where the whole is. */
static inline double hwi_larger_share(double share, uint64_t part, uint64_t whole)
{
  double other = whole > 0 ? (double)part / (double)whole : 0;
  return other > share ? other : share;
}

/* The largest share first; of equal ones the smaller index. */
void hwi_rank(struct hwi_ranked *ranked, size_t count);

#endif
