/* numbers.h - maps the numbers in a trace to indices that the caller chooses, for the tool side
 *
 * A hash table with open addressing and linear probing, at most half full; nothing is removed. It is no array, since
 * the numbers of threads and modules may have any value: a forged trace could make an array arbitrarily large.
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

/* Returns the index of `number`, or 0 if it has none. */
uint32_t hwi_numbers_find(const struct hwi_numbers *numbers, uint32_t number);

/* Gives an index above 0 to a number that has none. Returns false if there is no memory; then nothing is changed. */
bool hwi_numbers_add(struct hwi_numbers *numbers, uint32_t number, uint32_t index);

#endif
