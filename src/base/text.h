/* text.h - a text under construction in the caller's memory, without libc's stdio
 *
 * Invariant: bytes < room, and a NUL follows the bytes. A part that does not fit is left out whole, and noted in `full`.
 */
#ifndef HWI_BASE_TEXT_H
#define HWI_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/decimal.h"

struct hwi_text {
  char *to;
  size_t bytes, room;
  bool full;
};

/* Begins an empty text. The memory has at least one byte. */
static inline struct hwi_text hwi_text_begin(char *to, size_t room)
{
  *to = 0;
  return (struct hwi_text){to, 0, room, false};
}

static inline void hwi_text_add_bytes(struct hwi_text *text, const char *from, size_t bytes)
{
  if (bytes >= text->room - text->bytes) {
    text->full = true;
    return;
  }
  memcpy(text->to + text->bytes, from, bytes);
  text->bytes += bytes;
  text->to[text->bytes] = 0;
}

static inline void hwi_text_add(struct hwi_text *text, const char *from)
{
  hwi_text_add_bytes(text, from, strlen(from));
}

static inline void hwi_text_add_number(struct hwi_text *text, uint64_t number)
{
  char digits[HWI_DECIMAL_DIGITS];
  const char *first = hwi_decimal(digits, number);
  hwi_text_add_bytes(text, first, (size_t)(digits + sizeof digits - first));
}

#endif
