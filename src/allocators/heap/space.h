/* space.h - the addresses of all heaps of the process: units are mapped, made longer, and free again
 *
 * It takes its own lock.
 */
#ifndef HWI_ALLOCATORS_HEAP_SPACE_H
#define HWI_ALLOCATORS_HEAP_SPACE_H

#include "allocators/heap/layout.h"

/* Finds the place of the space, if that is not done yet. Returns false if there is no memory. */
bool hwi_space_begin(void);

/* No heap exists, and no thread uses one: unmaps the table, unless that would have to wait. The place is another one
 * the next time. */
void hwi_space_end(void);

/* Maps zeroed memory at the start of a unit, in huge pages if `is_huge`. Returns its start, or 0 if there is no
 * memory; in malloc also while a fork has closed the lock. */
uintptr_t hwi_space_take(size_t bytes, size_t align, bool is_huge);

/* Returns whether a block can have so many bytes at all: the space and the address space are large enough. */
bool hwi_space_can_have(size_t bytes);

/* Returns how much of the table of descriptors is mapped. */
size_t hwi_space_table_bytes(void);

/* Units that were unmapped without the lock are free again, and what nobody needs of the table goes back to the
 * system. The second function does nothing if it would have to wait. */
void hwi_space_collect(void);
void hwi_space_try_collect(void);

/* Changes the length; if `may_move`, the kernel may move the pages to other units. Returns the start, or 0 and
 * nothing is changed, as above. Units that are not needed any more stay taken until hwi_space_give. */
uintptr_t hwi_space_resize(uintptr_t start, size_t old_bytes, size_t bytes, bool may_move);

/* Nothing is mapped in these units any more, and the descriptors say so. Takes no lock. */
void hwi_space_give(uintptr_t start, size_t bytes);

#endif
