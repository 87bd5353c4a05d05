/* aside.h - malloc and free while a fork has closed the pool
 *
 * Nobody may wait then (lock.h). A request gets a mapping of its own, which goes back to the kernel when it is freed: while the
 * kernel copies the address space it keeps whoever maps waiting, so that no thread takes much, and the child has all of it or
 * nothing. A block of the pool that is freed is noted, and given back when the pool is open again. All of this works without a
 * lock, from any thread, a signal's handler included, and what another thread left half done is of no consequence to the child.
 */
#ifndef HWI_ALLOCATORS_PROCESS_ASIDE_H
#define HWI_ALLOCATORS_PROCESS_ASIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where the mappings lie: far below the pool, with nothing near. */
enum { HWI_ASIDE_BELOW_BITS = 42, HWI_ASIDE_BYTES_BITS = 40 };

extern uintptr_t hwi_aside_start __attribute__((visibility("hidden")));

/* Once, before all others: `pool` is where the pool begins. */
void hwi_aside_begin(uintptr_t pool);

/* The address may be such a block's: it is no other malloc's. */
static inline bool hwi_aside_owns(const void *address)
{
  return (uintptr_t)address - hwi_aside_start < (uintptr_t)1 << HWI_ASIDE_BYTES_BITS;
}

/* A zeroed block; `align` is a power of two. NULL: no memory. */
void *hwi_aside_alloc(size_t bytes, size_t align);

/* Of an address that hwi_aside_owns: how much may be written, and its end. 0 and false: no block begins there. */
size_t hwi_aside_usable_bytes(const void *block);
bool hwi_aside_free(void *block);

/* Notes an address that is to be freed later. False: no memory. */
bool hwi_aside_defer(void *block);

/* Frees by `give_back` what was noted. */
void hwi_aside_settle(void (*give_back)(void *block));

#endif
