/* linked_functions.h - the functions of allocators that programs link in: by which names they are known, and what they do
 *
 * entry point  a function that gives out a block or takes one back
 * shape        which of its arguments are the size, the old block, and so on
 * prefix       what the names of one build of an allocator begin with: je_malloc, or malloc itself
 */
#ifndef HWI_RECORD_RUNTIME_LINKED_FUNCTIONS_H
#define HWI_RECORD_RUNTIME_LINKED_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heapwright/detail/entry_list.h"

enum hwi_role {
  HWI_ROLE_ALLOC,           /* returns a block, or NULL */
  HWI_ROLE_FLAGS,           /* the same; the alignment is in flags (mallocx) */
  HWI_ROLE_STRING,          /* the same; the block is a copy of a string */
  HWI_ROLE_POSIX,           /* posix_memalign */
  HWI_ROLE_REALLOC,         /* returns the new block; NULL: the old one is as it was */
  HWI_ROLE_REALLOC_OR_FREE, /* NULL: it is freed */
  HWI_ROLE_EXPAND,          /* returns the old block; NULL: it is as it was */
  HWI_ROLE_RESIZE,          /* returns the size that the block has now (xallocx) */
  HWI_ROLE_FREE,
  HWI_ROLE_USABLE, /* returns the usable size; no event */
};

/* The numbers of arguments count from 1; 0: there is none. */
struct hwi_shape {
  char name[36]; /* without the prefix */
  uint8_t role;  /* enum hwi_role */
  uint8_t entry; /* enum hw_entry: what the event is recorded as */
  uint8_t size, count, align, block;
};

struct hwi_shapes {
  const struct hwi_shape *list;
  uint32_t count;
};

enum hwi_allocator_kind { HWI_JEMALLOC, HWI_MIMALLOC, HWI_TCMALLOC, HWI_ALLOCATOR_KINDS };

enum { HWI_PREFIX_BYTES = 24 };

/* Returns whether a program that defines this function has that allocator; stores the prefix. */
bool hwi_allocator_is_marked(enum hwi_allocator_kind kind, const char *name, char prefix[HWI_PREFIX_BYTES]);

/* Returns the shape of a function of an allocator that was found with this prefix, or NULL. `bytes` of the name are compared. */
const struct hwi_shape *hwi_allocator_shape(enum hwi_allocator_kind kind, const char *prefix, const char *name,
                                            size_t bytes);

/* Returns whether this is not a name of the C library or of the C++ runtime: only a program that knows the allocator uses it. */
bool hwi_allocator_is_own_name(enum hwi_allocator_kind kind, const char *prefix, const char *name);

/* Returns the beginning of a string that modules with this allocator contain, also stripped ones. */
const char *hwi_allocator_text(enum hwi_allocator_kind kind);

const char *hwi_allocator_name(enum hwi_allocator_kind kind);

#endif
