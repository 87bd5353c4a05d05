/* heap.h - the heap of a process: one pool, its lock, and its growth
 *
 * The pool's memory is mapped, touched and, if permitted, locked before the first block is given out. After that
 * nothing asks the kernel for memory until the pool grows. Growth maps and touches memory without the pool's lock:
 * threads whose requests can be met do not wait, and the others wait for the thread that grows the pool.
 */
#ifndef HWI_ALLOCATORS_PROCESS_HEAP_H
#define HWI_ALLOCATORS_PROCESS_HEAP_H

#include <stdbool.h>
#include <stddef.h>

#include "allocators/lock.h"
#include "allocators/process/settings.h"
#include "allocators/tlsf/hot.h"
#include "heapwright/pool.h"

struct hwi_heap_part {
  uintptr_t start, end;
};

enum { HWI_MOST_DISTANT = 32 };

struct hwi_heap {
  struct hw_pool *pool;
  struct hwi_lock lock;        /* protects the pool */
  uintptr_t start, linked_end; /* the pool's part of the main mapping */
  /* The pool's other parts, added when the main mapping could not grow. The first ones are read without the lock. */
  size_t distant_count;
  struct hwi_heap_part distant[HWI_MOST_DISTANT];
};

extern struct hwi_heap hwi_heap __attribute__((visibility("hidden")));

/* To be called before the other functions. `settings` are copied. */
void hwi_heap_begin(const struct hwi_settings *settings);

/* To be called instead, in a process with a libc other than glibc: all requests go to the next malloc. The pool is then
 * full and never changes, so it needs no lock, not even in the child of a fork. It treats the next malloc's blocks as
 * foreign, as always. */
void hwi_heap_begin_passing_on(void);

/* Reports a fault of the address, and acts according to HEAPWRIGHT_CHECK. */
void hwi_heap_report(enum hw_pool_fault fault, void *address);

/* Under HEAPWRIGHT_CHECK: reports an address that is passed to another malloc, which may crash on it. It may also be a
 * valid block of that malloc. */
void hwi_heap_report_foreign(const char *function, const void *address);

/* Makes the first `bytes` of the caller's block zero. */
void hwi_heap_clear(void *block, size_t bytes);

bool hwi_heap_owns_distant(const void *address);

/* For any address, without a lock, while a fork has closed the pool: returns how many bytes of the caller's block may
 * be used, or 0 if it is not a block of the pool. */
size_t hwi_heap_own_bytes(const void *block);

void hwi_heap_before_fork(void);

/* Returns true if the pool is open again; the caller must then free the noted blocks (fork_heap.h). */
bool hwi_heap_after_fork(bool is_child);

/* Prints the statistics of HEAPWRIGHT_POOL_STATS. */
void hwi_heap_print_stats(void);

#define HWI_COLD __attribute__((noinline, cold))

/* The slow paths: these wait for the lock, and report faults. */
__attribute__((noinline)) void *hwi_heap_alloc_plain(size_t bytes);
__attribute__((noinline)) void *hwi_heap_alloc_aligned(size_t bytes, size_t align);

/* Returns false if a fork has closed the pool; then nothing was done. */
HWI_COLD bool hwi_heap_free(void *block, enum hw_pool_fault *fault);

static inline void *hwi_heap_alloc(size_t bytes, size_t align)
{
  return align <= HW_POOL_ALIGN ? hwi_heap_alloc_plain(bytes) : hwi_heap_alloc_aligned(bytes, align);
}

/* For any address, at any time. */
static inline bool hwi_heap_owns(const void *address)
{
  uintptr_t start = __atomic_load_n(&hwi_heap.start, __ATOMIC_RELAXED);
  uintptr_t end = __atomic_load_n(&hwi_heap.linked_end, __ATOMIC_RELAXED);
  return __builtin_expect((uintptr_t)address - start < end - start, 1) || hwi_heap_owns_distant(address);
}

#endif
