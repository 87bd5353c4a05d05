/* allocator_texts.h - texts by which an allocator is known whose symbols were stripped */
#ifndef HWI_BASE_ALLOCATOR_TEXTS_H
#define HWI_BASE_ALLOCATOR_TEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Strings of such an allocator begin with them. */
#define HWI_JEMALLOC_TEXT "<jemalloc>: "
#define HWI_MIMALLOC_TEXT "mimalloc: error: "
#define HWI_TCMALLOC_TEXT "TCMALLOC_SKIP_SBRK"

/* Returns whether a string of C in the memory begins with `text`: the byte before it, if there is one, is the end of another string. */
static inline bool hwi_has_string(const void *start, size_t bytes, const char *text)
{
  const char *first = (const char *)start, *end = first + bytes, *at = first;
  while ((at = (const char *)memmem(at, (size_t)(end - at), text, strlen(text))) && at > first && at[-1])
    at++;
  return at;
}

#endif
