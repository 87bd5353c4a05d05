/* musl.h - the blocks of musl's malloc "mallocng", which it has since 1.2.1 (older ones are not read)
 *
 * unit       16 bytes, to which blocks are aligned.
 * group      up to 32 slots of the same size, behind a header of one unit that leads to its meta. It is mapped alone, or lies in a
 *            slot of a larger group, or in memory of a module that its data leaves unused.
 * slot       holds one block, which may begin some units behind the slot's start; its last 4 bytes belong to the next slot's header.
 * meta       describes a group: where it is, and by two masks which of its slots are free. Metas lie in meta areas.
 * meta area  a page that begins with the secret of the process.
 */
#ifndef HWI_MEMORY_HEAPS_MUSL_H
#define HWI_MEMORY_HEAPS_MUSL_H

#include "memory/heaps/heap.h"

/* Adds its blocks. Returns 0, HW_ERR_USAGE if there is none, or HW_ERR_MEMORY. */
int hwi_musl_find(struct hwi_core_heap *heap, const struct hwi_memory *memory, struct hwi_error *error);

#endif
