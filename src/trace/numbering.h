/* numbering.h - numbers without gaps for pairs of 64-bit numbers, which index the caller's arrays
 *
 * Numbers begin at 1, in the order of first use. 0 means that there is none. A key that is one number is a pair with 0.
 */
#ifndef HWI_TRACE_NUMBERING_H
#define HWI_TRACE_NUMBERING_H

#include "trace/hash_table.h"

struct hwi_pair {
  uint64_t a, b;
};

/* All zero: no pairs. */
struct hwi_numbering {
  struct hwi_pair *pairs; /* [1, count] */
  uint32_t count;
  size_t capacity;
  struct hwi_hash_table table;
};

void hwi_numbering_release(struct hwi_numbering *numbering);

/* Returns the pair's number, or 0 if it has none. */
uint32_t hwi_numbering_find(const struct hwi_numbering *numbering, uint64_t a, uint64_t b);

/* Returns the pair's number; a new pair gets the next number. Returns 0 if there is no memory. */
uint32_t hwi_numbering_of(struct hwi_numbering *numbering, uint64_t a, uint64_t b);

#endif
