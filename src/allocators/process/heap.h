/* heap.h - the heap of a process: one pool, its lock, and how it grows
 *
 * The pool's memory is mapped, touched and, where that is allowed, locked before the first block is given out, so that nothing
 * after that asks the kernel for anything, until the pool grows. Growth maps and touches outside of the pool's lock: the threads whose requests can be
 * met are not kept waiting, and those whose cannot wait for the one that grows.
 */
#ifndef HWI_ALLOCATORS_PROCESS_HEAP_H
#define HWI_ALLOCATORS_PROCESS_HEAP_H

#include <stdbool.h>
#include <stddef.h>

#include "allocators/process/lock.h"
#include "allocators/process/settings.h"
#include "allocators/tlsf/hot.h"
#include "heapwright/pool.h"

struct hwi_range {
  uintptr_t start, end;
};

enum { HWI_MOST_DISTANT = 32 };

struct hwi_heap {
  struct hw_pool *pool;
  struct hwi_lock lock;        /* of the pool */
  uintptr_t start, linked_end; /* what of the main mapping belongs to the pool */
  /* What else does, where the pool could not grow where it stands; the first are asked for without the lock. */
  size_t distant_count;
  struct hwi_range distant[HWI_MOST_DISTANT];
};

extern struct hwi_heap hwi_heap __attribute__((visibility("hidden")));

/* Before all others. `settings` are kept. */
void hwi_heap_begin(const struct hwi_settings *settings);

/* Instead of it, in a process with another libc than glibc: whatever is asked for, the next malloc gives. The pool has nothing and
 * never changes, so that it needs no lock, also in a child of a fork; blocks of the next malloc are foreign to it anyway. */
void hwi_heap_begin_passing_on(void);

/* Reports a fault of the address, and does as HEAPWRIGHT_CHECK says. */
void hwi_heap_report(enum hw_pool_fault fault, void *address);

/* Under HEAPWRIGHT_CHECK, before another malloc gets an address that it may die of; it may be that one's block as well. */
void hwi_heap_say_foreign(const char *function, const void *address);

/* Makes the first `bytes` of the caller's block zero. */
void hwi_heap_clear(void *block, size_t bytes);

bool hwi_heap_owns_distant(const void *address);

/* For any address, while a fork has closed the pool, and without a lock: how many bytes of the caller's own block may be used. 0: no
 * such block. */
size_t hwi_heap_own_bytes(const void *block);

void hwi_heap_before_fork(void);

/* True: the pool is open again, and the caller sees to what was noted meanwhile (aside.h). */
bool hwi_heap_after_fork(bool is_child);

/* The figures of HEAPWRIGHT_POOL_STATS. */
void hwi_heap_say_stats(void);

#define HWI_COLD __attribute__((noinline, cold))

/* In full: these wait for the lock, and find out what was wrong. */
__attribute__((noinline)) void *hwi_heap_alloc_plain(size_t bytes);
__attribute__((noinline)) void *hwi_heap_alloc_aligned(size_t bytes, size_t align);

/* False: a fork is under way, and nothing was done. */
HWI_COLD bool hwi_heap_free(void *block, enum hw_pool_fault *fault);

static inline void *hwi_heap_alloc(size_t bytes, size_t align)
{
  return align <= HW_POOL_ALIGN ? hwi_heap_alloc_plain(bytes) : hwi_heap_alloc_aligned(bytes, align);
}

/* Any address, at any time. */
static inline bool hwi_heap_owns(const void *address)
{
  uintptr_t start = __atomic_load_n(&hwi_heap.start, __ATOMIC_RELAXED);
  uintptr_t end = __atomic_load_n(&hwi_heap.linked_end, __ATOMIC_RELAXED);
  return __builtin_expect((uintptr_t)address - start < end - start, 1) || hwi_heap_owns_distant(address);
}

#endif
