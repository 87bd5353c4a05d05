/* fork_heap.h - malloc and free while a fork has closed the pool
 *
 * While the pool is closed, no thread may wait for it (lock.h). Each request gets its own mapping, which is returned to
 * the kernel when it is freed. While the kernel copies the address space, a thread that maps memory waits; so threads
 * cannot take much, and the child has all of a mapping or nothing. If a block of the pool is freed, that is noted, and
 * it is freed when the pool is open again. All of this works without a lock, from any thread and from signal handlers,
 * and the child can use it even if another thread was in the middle of it.
 */
#ifndef HWI_ALLOCATORS_FORK_HEAP_H
#define HWI_ALLOCATORS_FORK_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The mappings are far below the pool, with nothing near them. */
enum {
  HWI_FORK_HEAP_BELOW_BITS = sizeof(uintptr_t) == 8 ? 42 : 30,
  HWI_FORK_HEAP_BYTES_BITS = sizeof(uintptr_t) == 8 ? 40 : 27,
};

extern uintptr_t hwi_fork_heap_start __attribute__((visibility("hidden")));

/* To be called once, before the other functions. `pool` is the start of the pool. */
void hwi_fork_heap_begin(uintptr_t pool);

/* Returns true if the address is in the range of such mappings: then no other malloc made it. */
static inline bool hwi_fork_heap_owns(const void *address)
{
  return (uintptr_t)address - hwi_fork_heap_start < (uintptr_t)1 << HWI_FORK_HEAP_BYTES_BITS;
}

/* Returns a zeroed block, or NULL if there is no memory. `align` is a power of two. Blocks of a group can be freed
 * together; with NULL it is of none. */
void *hwi_fork_heap_alloc(size_t bytes, size_t align, const void *group);

/* For an address that hwi_fork_heap_owns. The first function returns the number of usable bytes of the block that
 * begins there, or 0 if none does. The second one frees that block, and returns false if there is none. */
size_t hwi_fork_heap_usable_bytes(const void *block);
bool hwi_fork_heap_free(void *block);

/* Returns true for a block of that group; for any address. */
bool hwi_fork_heap_has(const void *group, const void *block);

/* Unmaps all blocks of the group, which is no longer used, and what is left of blocks of other groups that were freed: of each, one page
 * with its head. NULL: only these. By one thread at a time. */
void hwi_fork_heap_unmap_freed(const void *group);

/* Called during a fork for a block that cannot be freed now: notes it, or frees it by `give_back` if the fork ends before it is noted,
 * since no other thread would. Without memory for that, the block is lost if this thread forks; for another thread it returns false:
 * it has to wait for the fork's end. */
bool hwi_fork_heap_free_later(void *block, void (*give_back)(void *block));

/* Calls `give_back` for each noted address. */
void hwi_fork_heap_settle(void (*give_back)(void *block));

/* Drops the notes of blocks that are gone. Nobody may settle meanwhile. */
void hwi_fork_heap_forget(bool (*is_gone)(const void *context, const void *block), const void *context);

#endif
