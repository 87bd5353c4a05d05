/* sweeps.h - blocks of one stack that are freed together, and that an arena could free at once
 *
 * sweep        frees by one thread without an allocation of that thread in between: for example, a tree is destroyed or
 *              a list is cleared.
 * generation   the blocks that a stack allocated since its last generation was freed.
 * together     a generation is freed together if, before the stack allocates again, one sweep frees blocks of the stack
 *              that are at least nine tenths of the generation's number, and at least two.
 * Only the order of events matters, so the result does not depend on how fast the program ran.
 */
#ifndef HWI_PROFILE_COUNTERS_SWEEPS_H
#define HWI_PROFILE_COUNTERS_SWEEPS_H

#include <stdbool.h>
#include <stdint.h>

/* The state of a stack. All zero: nothing so far. Counts saturate at their largest value. */
struct hwi_sweeps {
  uint32_t births;      /* in the generation */
  uint32_t sweep;       /* ID of the current sweep */
  uint32_t swept;       /* blocks of the stack that the current sweep freed; 0: there is no current sweep */
  uint32_t generations; /* that were freed together */
  uint64_t swept_bytes;
  uint64_t blocks, largest_bytes; /* of generations that were freed together; of the largest of them */
};

/* Ends the current sweep. */
void hwi_sweeps_end(struct hwi_sweeps *sweeps);

/* Counts a new block. */
static inline void hwi_sweeps_birth(struct hwi_sweeps *sweeps)
{
  if (sweeps->swept)
    hwi_sweeps_end(sweeps);
  sweeps->births += sweeps->births < UINT32_MAX;
}

/* Counts a block that was freed in the sweep with this ID, which is not 0. */
static inline void hwi_sweeps_death(struct hwi_sweeps *sweeps, uint32_t sweep, uint64_t bytes)
{
  if (sweeps->sweep != sweep && sweeps->swept)
    hwi_sweeps_end(sweeps);
  sweeps->sweep = sweep;
  sweeps->swept += sweeps->swept < UINT32_MAX;
  sweeps->swept_bytes += bytes;
}

#endif
