/* walk.h - looks at all pages of a general heap, and at the lists of its threads; with the lock */
#ifndef HWI_ALLOCATORS_HEAP_WALK_H
#define HWI_ALLOCATORS_HEAP_WALK_H

#include "allocators/heap/layout.h"

typedef bool hwi_page_fn(void *context, const struct hwi_page *page);

enum hwi_walk { HWI_WALK_DONE, HWI_WALK_STOPPED, HWI_WALK_DAMAGED };

typedef bool hwi_free_fn(void *context, const struct hwi_free_block *block);

/* Calls `see` for each block of an owner's list, which may be of any page of the class, until it returns false.
 * Another thread may be changing the list: each link is checked before it is followed, and the lock keeps the pages.
 * Returns HWI_WALK_DAMAGED after a link that is none, or too many. If a fork has ended its thread, only blocks of its
 * first page: others may be in their pages, too. */
enum hwi_walk hwi_owner_each_free(const struct hwi_owner *owner, size_t class_index, hwi_free_fn *see, void *context);

/* The same for the blocks that wait in an owner after a fork (`saved`). */
enum hwi_walk hwi_owner_each_saved(const struct hwi_owner *owner, hwi_free_fn *see, void *context);

/* Returns how many blocks of a page are given out or in the owner's list, a moment ago. */
size_t hwi_page_used_count(const struct hwi_page *page);

/* Calls `see` for each page until it returns false. Returns the page for which it did. */
const struct hwi_page *hwi_heap_each_page(const struct hw_heap *heap, hwi_page_fn *see, void *context);

#endif
