/* timed.h - how long the real allocator's functions take
 *
 * Where calls are timed, functions of this file stand in the place of the real ones (real.h), and call them between two readings
 * of the event clock, which nothing around them can overtake. Where they are not, nothing of this runs.
 */
#ifndef HWI_RECORD_TIMED_H
#define HWI_RECORD_TIMED_H

#include <stdint.h>

#include "record/real.h"

/* The least that lies between two readings with nothing between them, in clock units. The session has its clock. */
uint32_t hwi_timed_clock_cost(void);

/* From now on the real functions are timed: those that were found, and those that will be. Once. */
void hwi_timed_start(void);

/* The real functions were found again: puts the timed ones in their places, if there are any. */
void hwi_timed_replace(hwi_function *next[]);

/* What the calling thread's latest call took, as an event has it, if it is the one that gave `block`; else 0. Once. */
uint64_t hwi_timed_took(const void *block);

/* For calls that are no real functions of this file, but other libraries' operators: a reading, and what was called since, which
 * gave `block`, or freed it. They do nothing where calls are not timed. */
uint64_t hwi_timed_begin(void);
void hwi_timed_gave(const void *block, uint64_t began);
void hwi_timed_freed(const void *block, uint64_t began);

/* The calling thread's next real free belongs to an operator, whose time is taken itself. */
void hwi_timed_pass_over(void);

#endif
