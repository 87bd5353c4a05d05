/* numbering.h - maps keys of 64 bits to numbers without gaps, which index arrays of counters
 *
 * For keys that are looked up much less often than there are events. Nothing is removed.
 */
#ifndef HWI_PROFILE_BLOCKS_NUMBERING_H
#define HWI_PROFILE_BLOCKS_NUMBERING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero: no keys. Invariant: fewer than half of the slots are used. */
struct hwi_numbering {
  uint64_t *keys; /* by number */
  size_t count, capacity;
  uint32_t *slots; /* hash table: number + 1; 0: empty */
  size_t mask;
};

void hwi_numbering_release(struct hwi_numbering *numbering);

/* Returns the key's number, or UINT32_MAX if it has none. */
uint32_t hwi_numbering_find(const struct hwi_numbering *numbering, uint64_t key);

/* Returns the key's number; a new key gets the next number. Returns UINT32_MAX if there is no memory. */
uint32_t hwi_numbering_of(struct hwi_numbering *numbering, uint64_t key);

#endif
