/* heap.h - general heaps as objects: size classes, a cache for each thread, and everything given back at once
 *
 *   struct hw_heap *heap = hw_heap_create(NULL, NULL);
 *   void *block = hw_heap_alloc(heap, 100);
 *   hw_heap_free(heap, block);
 *   hw_heap_destroy(heap);
 *
 * A process may have any number of heaps. All functions may be called by any number of threads at once, except where
 * noted; none may be called by a signal handler. They do not change errno. A block may be freed by any thread, to the
 * heap that it is from. A thread that uses several heaps in turn pays a search in its heap's list of threads at each
 * change. Memory comes from mmap; no function calls malloc, except that libc may do so when a thread uses a heap for the
 * first time and the process has more than 32 thread keys. Link with libheapwright-heaps.a.
 *
 * The first hw_heap_create of a process registers handlers for forks, and takes a thread key with which the end of a thread
 * is noticed; without a key, what a thread had in its cache when it ended is not used again. No handler for forks may make
 * this first call; otherwise such handlers may use heaps. After a fork, the child has all heaps, and may use them at once,
 * also if the parent has other threads; what it frees in memory of these is not given out again. A module that contains
 * this code may be closed when its heaps are destroyed and no thread is in a function of this header, or is ending.
 *
 * Each running thread keeps, in each heap, memory of every class that it has used, although all of it is free: up to some
 * 5 MiB if it has used all. It is returned when the thread ends, or calls hw_heap_collect.
 */
/* SPDX-License-Identifier: MIT */
#ifndef HEAPWRIGHT_HEAP_H
#define HEAPWRIGHT_HEAP_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Every block begins at a multiple of this, and every size class is a multiple of it. */
#define HW_HEAP_ALIGN ((size_t)16)

#define HW_HEAP_MOST_CLASSES ((size_t)64)
#define HW_HEAP_LARGEST_CLASS_BYTES ((size_t)32 << 10)

struct hw_heap;

enum hw_heap_fault {
  HW_HEAP_OK = 0,
  HW_HEAP_FOREIGN,     /* the address is not in the memory of this heap */
  HW_HEAP_NOT_A_BLOCK, /* no block begins at this address of the heap */
  HW_HEAP_FREED,       /* the block is free already */
  HW_HEAP_DAMAGED,     /* the heap's own records were overwritten */
};

/* Returns a short description of a fault. Never NULL. */
const char *hw_heap_fault_text(enum hw_heap_fault fault);

/* Called with each fault that hw_heap_free, hw_heap_realloc and hw_heap_usable_bytes find, by the thread that called them,
 * before they return. Nothing was changed. It may use the heap, but not destroy it. */
typedef void hw_heap_fault_fn(void *context, struct hw_heap *heap, enum hw_heap_fault fault, void *address);

/* What decides how a heap behaves. A member that is 0 or NULL has its default. */
struct hw_heap_config {
  /* The sizes of blocks, ascending multiples of HW_HEAP_ALIGN, the last one HW_HEAP_LARGEST_CLASS_BYTES. A request gets
   * the smallest class that is large enough; larger requests get whole pages of memory. Default: multiples of 16 up to
   * 128, then four for each power of two. Copied. */
  const size_t *class_bytes;
  size_t class_count;
  /* How much free memory the heap keeps, apart from that in the caches of threads. More than this is returned to the
   * system if it was not needed for 25 ms, by the next thread that gives some back; more than 32 MiB (or a quarter of
   * what is in use, if that is more) above it at once. Default: a 32nd of mapped_bytes, at least 2 MiB. SIZE_MAX: only
   * hw_heap_collect returns memory. */
  size_t keep_free_bytes;
  bool check_all_frees;       /* each free is checked fully, see hw_heap_free; it then takes longer */
  hw_heap_fault_fn *on_fault; /* default: nothing */
  void *fault_context;
};

struct hw_heap_error {
  const char *field; /* the member of the config that is wrong; NULL: no memory */
  size_t index;      /* of the wrong element, if the field is an array */
  const char *rule;  /* the rule that it breaks */
};

/* Makes a heap; `config` NULL means all defaults. Returns NULL if the config is wrong or there is no memory, and then
 * fills *error, unless `error` is NULL. */
struct hw_heap *hw_heap_create(const struct hw_heap_config *config, struct hw_heap_error *error);

/* Returns all memory of the heap to the system, allocated or not; NULL does nothing. No other call on this heap may be
 * in progress or follow. */
void hw_heap_destroy(struct hw_heap *heap);

/* Returns a block of at least `bytes` (0 counts as 1), or NULL if there is no memory. */
void *hw_heap_alloc(struct hw_heap *heap, size_t bytes);

/* The same, filled with zeros. */
void *hw_heap_alloc_zeroed(struct hw_heap *heap, size_t bytes);

/* As hw_heap_alloc, aligned to `align`. Returns NULL if there is no memory or `align` is not a power of two. Each block that is
 * aligned to more than 64 KiB takes 4 MiB of address space. */
void *hw_heap_alloc_aligned(struct hw_heap *heap, size_t align, size_t bytes);

/* Returns a block of at least `bytes` with the contents of `block` up to the smaller of both sizes; `block` is then free
 * unless it is the one returned. If `block` is NULL, it allocates. Returns NULL if there is no memory or `block` has a
 * fault, and leaves `block` unchanged. */
void *hw_heap_realloc(struct hw_heap *heap, void *block, size_t bytes);

/* Frees a block; NULL does nothing. Returns the fault of an address that is none. A block that is free already is
 * detected until its memory is given out again or its second word is written. An address inside a block of a class is
 * detected only if the block's memory belongs to another thread; otherwise the heap is damaged. With check_all_frees,
 * each such address is detected, and each free block until its memory is given out again, if it belongs to the calling
 * thread. */
enum hw_heap_fault hw_heap_free(struct hw_heap *heap, void *block);

/* Returns how many bytes of an allocated block may be used; 0 for NULL or after a fault. */
size_t hw_heap_usable_bytes(struct hw_heap *heap, void *block);

/* Takes back what other threads freed for this thread and for ended threads, and returns free memory to the system, also
 * the calling thread's cache. What other running threads have in their caches stays. */
void hw_heap_collect(struct hw_heap *heap);

struct hw_heap_stats {
  size_t used_bytes;        /* in allocated blocks, as hw_heap_usable_bytes counts them; also the blocks that other
                               threads have in their caches, and those that they freed for each other */
  size_t mapped_bytes;      /* address space taken from the system, including what is not touched yet; without
                               the heap's tables, which need less than 1 % of it */
  size_t peak_mapped_bytes; /* the highest value of mapped_bytes so far */
};

/* Fills *stats. While other threads use the heap, used_bytes is approximate. O(memory / 64 KiB). */
void hw_heap_get_stats(struct hw_heap *heap, struct hw_heap_stats *stats);

/* Gets an allocated block with its usable bytes; returning false ends the walk. The function may use the contents of the
 * block, and must not call functions of this header. */
typedef bool hw_heap_visit_fn(void *context, void *block, size_t bytes);

/* Calls `visit` for all allocated blocks; it ends early at damaged records. No other call on this heap may be in
 * progress. Threads that need memory for other heaps of the process wait meanwhile. O(memory). */
void hw_heap_walk(struct hw_heap *heap, hw_heap_visit_fn *visit, void *context);

/* Checks all records of the heap, and the links between its free blocks. Returns HW_HEAP_DAMAGED if they are wrong, as
 * after a write to a free block, and then sets *where to the start of the page of memory in question; `where` may be
 * NULL. No other call on this heap may be in progress. O(memory). */
enum hw_heap_fault hw_heap_check(struct hw_heap *heap, void **where);

#ifdef __cplusplus
}
#endif

#endif
