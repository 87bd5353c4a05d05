/* numbering.h - keys of 64 bits -> numbers without gaps, by which arrays of counters are indexed
 *
 * For what is rare beside the replay's events. Nothing is removed.
 */
#ifndef HWI_PROFILE_NUMBERING_H
#define HWI_PROFILE_NUMBERING_H

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

/* The key's number; UINT32_MAX: it has none. */
uint32_t hwi_numbering_find(const struct hwi_numbering *numbering, uint64_t key);

/* The key's number; the next one where it has none so far. UINT32_MAX: no memory. */
uint32_t hwi_numbering_of(struct hwi_numbering *numbering, uint64_t key);

#endif
