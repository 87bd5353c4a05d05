/* growth.h - which stacks keep more and more: slow leaks, under whatever else they do
 *
 * tenth      of the run, as long as it was expected to take; a longer run has more of them.
 * minimum    the least that a stack held in a tenth. What comes and goes does not show in it, however large it is; what
 *            never goes does.
 * rise       the tenths up to the latest one of which each has a larger minimum than the one before it.
 * A stack grows where the rise takes in the last seven tenths of the run: a cache that fills up and stays full does not.
 *
 * A stack's tenth ends when the stack is next touched, so that no event costs more than a comparison: what it held in the
 * tenths between did not change.
 */
#ifndef HWI_PROFILE_GROWTH_H
#define HWI_PROFILE_GROWTH_H

#include "profile/profile.h"

/* Of the run, under replay. */
struct hwi_tenths {
  uint64_t width_ns,
      end_ns; /* end: of the current one; UINT64_MAX: how long the run takes is unknown, and all is one */
  uint32_t current;
};

/* Of a stack. All zero: nothing so far. */
struct hwi_growth {
  uint64_t minimum;          /* in `tenth`, so far */
  uint64_t previous_minimum; /* in the tenth before it */
  uint64_t first_minimum;    /* in the first tenth of the rise */
  uint32_t tenth;
  uint32_t rise; /* tenths in it, `tenth` not counted */
};

void hwi_tenths_init(struct hwi_tenths *tenths, uint64_t expected_ns); /* 0: unknown */
void hwi_tenths_advance(struct hwi_tenths *tenths, uint64_t ns);       /* `ns` >= end_ns */

/* Ends the stack's tenth, and those until `tenth`, through which it held `live_bytes`. */
void hwi_growth_end_tenth(struct hwi_growth *growth, uint32_t tenth, uint64_t live_bytes);

/* Before the stack's live bytes change. */
static inline void hwi_growth_touch(struct hwi_growth *growth, const struct hwi_tenths *tenths, uint64_t live_bytes)
{
  if (growth->tenth != tenths->current)
    hwi_growth_end_tenth(growth, tenths->current, live_bytes);
}

/* After they fell. */
static inline void hwi_growth_fall(struct hwi_growth *growth, uint64_t live_bytes)
{
  if (live_bytes < growth->minimum)
    growth->minimum = live_bytes;
}

/* At the end of the run, of a stack that holds `live_bytes`: false where it does not grow. `growing`: all but its stack. */
bool hwi_growth_finish(struct hwi_growth *growth, const struct hwi_tenths *tenths, uint64_t live_bytes,
                       struct hwi_growing *growing);

#endif
