/* large.h - memory for lists that may have an item for each stack and do not grow; for lists that grow see table.h */
#ifndef HWI_PROFILE_COUNTERS_LARGE_H
#define HWI_PROFILE_COUNTERS_LARGE_H

#include <stddef.h>

/* As calloc. For a long list, the kernel is asked to use huge pages: with small pages it would be asked for a hundred
 * thousand of them, which takes longer than filling them. */
void *hwi_large_calloc(size_t count, size_t item_bytes);

#endif
