/* range.h - the memory around a stack that is known to be readable, so that no load of a walk can fault
 *
 * The page that the stack pointer is on is readable, since it is in use. From there the range grows page by page,
 * downward with the thread's own stack and upward as a walk loads words. The kernel is asked once for each page, and
 * the first unreadable page is remembered as a wall. The range is dropped when the stack pointer leaves it. Pages that
 * a walk added and that may not belong to the stack are removed at the walk's end (walk.c).
 */
#ifndef HWI_RECORD_UNWIND_RANGE_H
#define HWI_RECORD_UNWIND_RANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "record/lane.h"

/* Makes the range contain `sp`. Returns false if the range had to start again, so that everything cached of the old
 * stack is invalid. */
bool hwi_range_enter_slow(struct hwi_range *range, uintptr_t sp);

static inline bool hwi_range_enter(struct hwi_range *range, uintptr_t sp)
{
  return __builtin_expect(sp >= range->low && sp < range->high, 1) || hwi_range_enter_slow(range, sp);
}

/* Tries to extend the range upward so that it covers [address, address + 8). */
bool hwi_range_extend(struct hwi_range *range, uintptr_t address);

static inline bool hwi_range_covers(struct hwi_range *range, uintptr_t address)
{
  return __builtin_expect(address >= range->low && address <= range->high - sizeof(uintptr_t), 1) ||
         hwi_range_extend(range, address);
}

/* Loads the word at `address`. Returns false if it cannot be read. */
static inline bool hwi_range_load(struct hwi_range *range, uintptr_t address, uintptr_t *word)
{
  if (!hwi_range_covers(range, address))
    return false;
  *word = *(const volatile uintptr_t *)address;
  return true;
}

#endif
