/* sweeps.h - blocks of one stack that die together: what an arena would give back at once
 *
 * sweep        frees by one thread with no allocation of that thread between them: a tree that is taken down, a list that is
 *              emptied.
 * generation   what a stack allocated since its last generation died.
 * together     a generation dies together when one sweep frees at least nine tenths of as many blocks as it has, and two at
 *              least, before the stack allocates again.
 * This is about order alone, so that it does not hang on how fast the program ran.
 */
#ifndef HWI_PROFILE_SWEEPS_H
#define HWI_PROFILE_SWEEPS_H

#include <stdbool.h>
#include <stdint.h>

/* Of a stack. All zero: nothing so far. Counts stop at their largest value. */
struct hwi_sweeps {
  uint32_t births;      /* in the generation */
  uint32_t sweep;       /* under way, by its number */
  uint32_t swept;       /* blocks of the stack that it freed; 0: none is under way */
  uint32_t generations; /* that died together */
  uint64_t swept_bytes;
  uint64_t blocks, largest_bytes; /* of generations that died together, and of the largest of them */
};

/* The sweep is over. */
void hwi_sweeps_end(struct hwi_sweeps *sweeps);

/* A block is born. */
static inline void hwi_sweeps_birth(struct hwi_sweeps *sweeps)
{
  if (sweeps->swept)
    hwi_sweeps_end(sweeps);
  sweeps->births += sweeps->births < UINT32_MAX;
}

/* A block was freed in the sweep with that number, which is not 0. */
static inline void hwi_sweeps_death(struct hwi_sweeps *sweeps, uint32_t sweep, uint64_t bytes)
{
  if (sweeps->sweep != sweep && sweeps->swept)
    hwi_sweeps_end(sweeps);
  sweeps->sweep = sweep;
  sweeps->swept += sweeps->swept < UINT32_MAX;
  sweeps->swept_bytes += bytes;
}

#endif
