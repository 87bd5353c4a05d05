/* call_timer.h - how long the real allocator's functions take
 *
 * If calls are timed, functions of this file replace the real ones (real.h), and call them between two readings of the
 * event clock; no other instruction can move across these readings. Otherwise no code of this file runs.
 */
#ifndef HWI_RECORD_RUNTIME_CALL_TIMER_H
#define HWI_RECORD_RUNTIME_CALL_TIMER_H

#include <stdint.h>

#include "record/runtime/real.h"

/* Returns the shortest time between two consecutive readings, in clock units. The session must have its clock. */
uint32_t hwi_call_timer_clock_cost(void);

/* Starts the timing of the real functions: those that were found, and those that will be. To be called once. */
void hwi_call_timer_start(void);

/* To be called when the real functions were found again: replaces them by the timed ones, if calls are timed. */
void hwi_call_timer_replace(hwi_function *next[]);

/* Returns the duration of the calling thread's latest call, as in an event, if that call returned `block`; else 0. Each
 * duration is returned once. */
uint64_t hwi_call_timer_took(const void *block);

/* For calls of other libraries' operators, which this file does not replace. hwi_call_timer_begin returns the clock at
 * the beginning of such a call. The other functions end the call, which has returned or freed `block`. They do nothing
 * if calls are not timed. */
uint64_t hwi_call_timer_begin(void);
void hwi_call_timer_gave(const void *block, uint64_t began);
void hwi_call_timer_freed(const void *block, uint64_t began);

/* The calling thread's next real free is part of an operator that is timed itself. */
void hwi_call_timer_pass_over(void);

#endif
