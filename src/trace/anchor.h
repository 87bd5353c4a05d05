/* anchor.h - one moment on two clocks, read as closely together as possible
 *
 * A thread may lose its processor between the reads of two clocks, for any length of time. So the clocks are read
 * several times, the inner one between two reads of the outer one, and the try that took the shortest time is used.
 */
#ifndef HWI_TRACE_ANCHOR_H
#define HWI_TRACE_ANCHOR_H

#include <stdint.h>

enum { HWI_ANCHOR_TRIES = 5 }; /* about 0.3 us of reads in total */

typedef uint64_t hwi_clock_fn(void);

struct hwi_moment {
  uint64_t outer, inner;
};

/* Returns a moment on the clocks `outer` and `inner`, each in its own unit. The error is at most half of the shortest
 * time that a read of `inner` and two of `outer` took. The clocks must never go backwards. Thread- and signal-safe if
 * they are. */
static inline struct hwi_moment hwi_moment_of(hwi_clock_fn *outer, hwi_clock_fn *inner)
{
  struct hwi_moment best = {0, 0};
  uint64_t shortest = UINT64_MAX;
  for (int i = 0; i < HWI_ANCHOR_TRIES; i++) {
    uint64_t before = outer(), now = inner(), took = outer() - before;
    if (took >= shortest)
      continue;
    shortest = took;
    best = (struct hwi_moment){before + took / 2, now};
  }
  return best;
}

#endif
