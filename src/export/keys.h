/* keys.h - numbers for items that formats list once and refer to: pairs of numbers, and texts
 *
 * Numbers begin at 1, in the order of first use. 0 means that there is no memory. Texts are copied.
 */
#ifndef HWI_EXPORT_KEYS_H
#define HWI_EXPORT_KEYS_H

#include <stddef.h>
#include <stdint.h>

struct hwi_key {
  uint64_t a, b;
};

struct hwi_key_slots {
  uint32_t *numbers; /* hash table; 0: empty */
  size_t count;      /* a power of two, or 0 */
};

/* All zero is an empty table. */
struct hwi_keys {
  struct hwi_key *items; /* [1, count] */
  uint32_t count;
  size_t capacity;
  struct hwi_key_slots slots;
};

uint32_t hwi_keys_intern(struct hwi_keys *keys, uint64_t a, uint64_t b);
void hwi_keys_release(struct hwi_keys *keys);

/* All zero is an empty table. */
struct hwi_strings {
  char **items; /* [1, count] */
  uint32_t count;
  size_t capacity;
  struct hwi_key_slots slots;
};

uint32_t hwi_strings_intern(struct hwi_strings *strings, const char *text);
void hwi_strings_release(struct hwi_strings *strings);

#endif
