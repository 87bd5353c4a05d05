/* large.h - memory for lists that may be as long as a recording has stacks, and do not grow: those that do are of table.h */
#ifndef HWI_PROFILE_LARGE_H
#define HWI_PROFILE_LARGE_H

#include <stddef.h>

/* As calloc. Where the list is long, the kernel is asked to give it pages of megabytes: one at a time it would be asked for a
 * hundred thousand, which takes longer than to fill them. */
void *hwi_large_calloc(size_t count, size_t item_bytes);

#endif
