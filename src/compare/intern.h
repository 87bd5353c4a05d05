/* intern.h - numbers for byte strings: equal strings have equal numbers */
#ifndef HWI_COMPARE_INTERN_H
#define HWI_COMPARE_INTERN_H

#include <stddef.h>
#include <stdint.h>

struct hwi_interned {
  uint64_t hash;
  size_t off, bytes; /* in `text` */
};

/* An empty table is all zero. */
struct hwi_intern {
  char *text;
  size_t text_bytes, text_room;
  struct hwi_interned *items; /* [1, count) */
  size_t count, room;
  uint32_t *slots; /* open addressing; 0: free */
  size_t slot_count;
};

uint32_t hwi_intern(struct hwi_intern *intern, const void *bytes, size_t count); /* from 1; 0: no memory */
void hwi_intern_release(struct hwi_intern *intern);

#endif
