/* sweeps.c - blocks of one stack that are freed together */
#include "profile/counters/sweeps.h"

enum { TOGETHER_TENTHS = 9, TOGETHER_MIN = 2 };

void hwi_sweeps_end(struct hwi_sweeps *sweeps)
{
  if ((uint64_t)sweeps->swept * 10 >= (uint64_t)sweeps->births * TOGETHER_TENTHS) {
    if (sweeps->swept >= TOGETHER_MIN) {
      sweeps->generations += sweeps->generations < UINT32_MAX;
      sweeps->blocks += sweeps->swept;
      if (sweeps->swept_bytes > sweeps->largest_bytes)
        sweeps->largest_bytes = sweeps->swept_bytes;
    }
    sweeps->births = 0;
  }
  sweeps->swept = 0;
  sweeps->swept_bytes = 0;
}
