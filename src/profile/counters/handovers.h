/* handovers.h - blocks that one thread allocates and another one frees */
#ifndef HWI_PROFILE_COUNTERS_HANDOVERS_H
#define HWI_PROFILE_COUNTERS_HANDOVERS_H

#include "profile/profile.h"
#include "trace/numbering.h"

/* All zero: empty. */
struct hwi_handover_tally {
  struct hwi_numbering pairs; /* by owner and freer */
  struct hwi_handover *items;
  size_t capacity;
};

void hwi_handovers_release(struct hwi_handover_tally *tally);

/* Adds what `counted` has. Returns false if there is no memory. */
bool hwi_handovers_add(struct hwi_handover_tally *tally, const struct hwi_handover *counted);

/* Restarts counting. */
void hwi_handovers_restart(struct hwi_handover_tally *tally);

#endif
