/* numbers.h - from numbers of a trace to indices of somebody's, for the tool side
 *
 * A hash table with open addressing and linear probing, at most half full; nothing is removed. A trace numbers its threads and
 * modules as it likes, so that a forged one could make an array of any size.
 */
#ifndef HWI_TRACE_NUMBERS_H
#define HWI_TRACE_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hwi_number_slot {
  uint32_t number, index; /* index 0: empty */
};

/* All zero: no numbers. Invariant: count <= capacity / 2, and capacity is 0 or a power of two. */
struct hwi_numbers {
  struct hwi_number_slot *slots;
  size_t count, capacity;
};

void hwi_numbers_release(struct hwi_numbers *numbers);

/* The number's index; 0: it has none. */
uint32_t hwi_numbers_find(const struct hwi_numbers *numbers, uint32_t number);

/* Gives an index above 0 to a number that has none. False: no memory, and nothing changed. */
bool hwi_numbers_add(struct hwi_numbers *numbers, uint32_t number, uint32_t index);

#endif
