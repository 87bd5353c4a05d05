/* store.h - memory that lives as long as the symbolizer, and its interned strings */
#ifndef HWI_SYMBOLS_STORE_H
#define HWI_SYMBOLS_STORE_H

#include <stddef.h>
#include <stdint.h>

/* All zero is an empty store. Not thread-safe. */
struct hwi_store {
  struct hwi_store_chunk *chunks; /* the one that is being filled is first */
  const char **strings;           /* open addressing; NULL: free */
  size_t string_count, string_slots;
};

/* Returns uninitialised memory, aligned for any type and valid until hwi_store_release, or NULL if there is no
 * memory. */
void *hwi_store_take(struct hwi_store *store, size_t bytes);

/* Returns the single copy of `text` in the store. Returns NULL if `text` is NULL or there is no memory. */
const char *hwi_store_string(struct hwi_store *store, const char *text);

void hwi_store_release(struct hwi_store *store);

/* Mixes `bytes` bytes into `seed`. */
uint64_t hwi_hash(const void *data, size_t bytes, uint64_t seed);

#endif
