/* instance_texts.h - the texts that a program gave to instances of scopes, of which there may be millions
 *
 * wanted    a text whose number was asked for before its part of the file is read.
 * passing   if all texts are held: one that was read, and is not taken yet. Texts are read with the part of the file that
 *           has their events, so that only those of the parts in memory pass at a time.
 */
#ifndef HWI_TRACE_READ_INSTANCE_TEXTS_H
#define HWI_TRACE_READ_INSTANCE_TEXTS_H

#include "trace/hash_table.h"

/* All zero: no text is wanted. */
struct hwi_instance_texts {
  bool holds_all;                /* texts that are not wanted pass */
  struct hwi_hash_table indices; /* by number: of its item, plus 1 */
  struct hwi_instance_text *items;
  size_t count, capacity;
  size_t held, held_bytes; /* texts in items */
};

void hwi_instance_texts_release(struct hwi_instance_texts *texts);

/* These return false if there is no memory. A text is dropped if it is neither wanted nor passing, if its number has one
 * already, or if too much is held. */
bool hwi_instance_texts_want(struct hwi_instance_texts *texts, uint32_t number);
bool hwi_instance_texts_add(struct hwi_instance_texts *texts, uint32_t number, const void *bytes, size_t count);

/* Return NULL if the text is not known. The caller frees the text that it takes. */
const char *hwi_instance_texts_find(const struct hwi_instance_texts *texts, uint32_t number);
char *hwi_instance_texts_take(struct hwi_instance_texts *texts, uint32_t number);

#endif
