/* store.h - memory that is released all at once, and interned strings in it: each string is stored once */
#ifndef HWI_TRACE_STORE_H
#define HWI_TRACE_STORE_H

#include "trace/hash_table.h"

/* A string of any bytes, with a NUL after them. */
struct hwi_stored_string {
  const char *text;
  size_t bytes;
};

/* All zero is an empty store. Not thread-safe. */
struct hwi_store {
  struct hwi_store_chunk *chunks;    /* the one that is being filled is first */
  struct hwi_stored_string *strings; /* [1, string_count], in the order of first use */
  uint32_t string_count;
  size_t string_capacity;
  struct hwi_hash_table numbers; /* of the strings */
};

void hwi_store_release(struct hwi_store *store);

/* Returns uninitialised memory, aligned for any type and valid until hwi_store_release, or NULL if there is no
 * memory. */
void *hwi_store_take(struct hwi_store *store, size_t bytes);

/* Returns the number of the string, which is added if it is new. Equal strings have equal numbers, from 1. Returns 0 if
 * there is no memory. */
uint32_t hwi_store_intern(struct hwi_store *store, const void *bytes, size_t count);
uint32_t hwi_store_intern_text(struct hwi_store *store, const char *text);

/* Returns the number of `text`, or 0 if it is not in the store. */
uint32_t hwi_store_find_text(const struct hwi_store *store, const char *text);

/* Returns the single copy of `text` in the store. Returns NULL if `text` is NULL or there is no memory. */
const char *hwi_store_string(struct hwi_store *store, const char *text);

#endif
