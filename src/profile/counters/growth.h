/* growth.h - finds stacks that hold more and more memory: slow leaks, also among allocations that come and go
 *
 * tenth      a tenth of the run's expected duration; a run that takes longer has more of them.
 * minimum    the least that a stack held in a tenth. Blocks that come and go do not show in it, however large they are;
 *            blocks that are never freed do.
 * rise       the tenths up to the latest one, as far back as each has a larger minimum than the one before it.
 * A stack grows if the rise covers the last seven tenths of the run: a cache that fills up and stays full does not
 * grow.
 *
 * A stack's tenth is ended when the stack next changes, so that an event costs no more than a comparison: in the tenths
 * between, the stack's live bytes did not change.
 */
#ifndef HWI_PROFILE_COUNTERS_GROWTH_H
#define HWI_PROFILE_COUNTERS_GROWTH_H

#include "profile/profile.h"

/* Of the run, during its replay. */
struct hwi_tenths {
  uint64_t width_ns, end_ns; /* end of the current one; UINT64_MAX: unknown duration, all is one tenth */
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

/* Ends the stack's tenth, and the ones from there to `tenth`, during which it held `live_bytes`. */
void hwi_growth_end_tenth(struct hwi_growth *growth, uint32_t tenth, uint64_t live_bytes);

/* To be called before the stack's live bytes change. */
static inline void hwi_growth_touch(struct hwi_growth *growth, const struct hwi_tenths *tenths, uint64_t live_bytes)
{
  if (growth->tenth != tenths->current)
    hwi_growth_end_tenth(growth, tenths->current, live_bytes);
}

/* To be called after they decreased. */
static inline void hwi_growth_fall(struct hwi_growth *growth, uint64_t live_bytes)
{
  if (live_bytes < growth->minimum)
    growth->minimum = live_bytes;
}

/* At the end of the run, for a stack that holds `live_bytes`: returns false if it does not grow; else fills `growing`,
 * all but its stack. */
bool hwi_growth_finish(struct hwi_growth *growth, const struct hwi_tenths *tenths, uint64_t live_bytes,
                       struct hwi_growing *growing);

#endif
