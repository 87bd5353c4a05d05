/* lifetimes.h - how long blocks live, in logarithmic steps */
#ifndef HWI_PROFILE_COUNTERS_LIFETIMES_H
#define HWI_PROFILE_COUNTERS_LIFETIMES_H

#include "profile/profile.h"

#define HWI_NS_A_MS UINT64_C(1000000)
#define HWI_NS_A_SECOND UINT64_C(1000000000)
#define HWI_NS_A_MINUTE (60 * HWI_NS_A_SECOND)

/* Returns the lifetime of a block that was freed after `ns`. This is on the hot path, so it has no branch. */
static inline enum hwi_lifetime hwi_lifetime_of(bool is_temporary, uint64_t ns)
{
  unsigned steps = (ns >= HWI_NS_A_MS) + (ns >= HWI_NS_A_SECOND) + (ns >= HWI_NS_A_MINUTE);
  return (enum hwi_lifetime)(is_temporary ? HWI_LIFETIME_TEMPORARY : HWI_LIFETIME_BELOW_1MS + steps);
}

/* The same for a block whose age is stored in struct hwi_live_block. */
static inline uint32_t hwi_age_of(enum hwi_lifetime lifetime)
{
  return (uint32_t)lifetime + 1;
}

static inline enum hwi_lifetime hwi_lifetime_of_age(bool is_temporary, uint32_t age)
{
  return is_temporary ? HWI_LIFETIME_TEMPORARY : (enum hwi_lifetime)(age - 1);
}

#endif
