/* pool.h - a memory pool for programs that may never wait: two-level segregated fit in memory that the caller provides
 *
 *   static char memory[64 << 10];
 *   struct hw_pool *pool = hw_pool_init(memory, sizeof memory, 0);
 *   void *block = hw_pool_alloc(pool, 100);
 *   hw_pool_free(pool, block);
 *
 * A pool needs no libc and no operating system: it compiles as freestanding C17 and C++17 and calls nothing. There may
 * be any number of pools; the whole state of a pool is in the memory given to it.
 *
 * Cost. hw_pool_alloc, hw_pool_alloc_aligned, hw_pool_resize, hw_pool_free and hw_pool_usable_bytes are O(1): a bounded
 * number of instructions, without a loop, whatever was allocated and freed before. A pool of several regions that do
 * not adjoin adds a step for each region that is examined before the one that holds the block. docs/pool.md has the
 * figures.
 *
 * Overhead. A block takes one word before it, and is rounded up to HW_POOL_ALIGN; the smallest takes 4 words in all.
 *
 * Threads and signals. No function takes a lock. Calls on one pool must not overlap, neither from two threads nor from
 * a signal handler that interrupts one; calls on different pools may. Functions of a const pool may overlap with one
 * another.
 *
 * Faults. Wrong writes are detected where that costs O(1); the comment of each function below says what it detects. On
 * 64-bit machines a block's header carries a checksum of 16 bits over its address, size and state, so that 65,535 of
 * 65,536 wrong addresses and damaged headers are detected; on 32-bit machines only inconsistent headers are. A call
 * that finds a fault changes nothing in the pool, counts the fault, and calls the pool's handler.
 *
 * Source: M. Masmano, I. Ripoll, A. Crespo, J. Real, "TLSF: a new dynamic memory allocator for real-time systems",
 * ECRTS 2004; M. Masmano, I. Ripoll, J. Real, A. Crespo, A. Wellings, "Implementation of a constant-time dynamic
 * storage allocator", Software: Practice and Experience 38(10), 2008.
 */
/* SPDX-License-Identifier: MIT */
#ifndef HEAPWRIGHT_POOL_H
#define HEAPWRIGHT_POOL_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Every block begins at a multiple of this: 16 on 64-bit machines, 8 on 32-bit ones. */
#define HW_POOL_ALIGN (2 * sizeof(void *))

/* A pool. It is at the start of the memory that was passed to hw_pool_init. */
struct hw_pool;

enum hw_pool_fault {
  HW_POOL_OK = 0,
  HW_POOL_FOREIGN,            /* the address is in no region of the pool, or no multiple of HW_POOL_ALIGN */
  HW_POOL_NOT_A_BLOCK,        /* no block begins there, or its header was overwritten from before it */
  HW_POOL_FREED,              /* the block is free already */
  HW_POOL_OVERRUN,            /* the header after the block is damaged: something wrote past its end */
  HW_POOL_WRITTEN_AFTER_FREE, /* a free block was written to, or something wrote past the end of the block before it */
  HW_POOL_MISCOUNTED,         /* only from hw_pool_is_valid: blocks and figures do not add up */
};

/* Returns a short description of a fault. Never NULL. */
const char *hw_pool_fault_text(enum hw_pool_fault fault);

/* Makes a pool in `memory`. The memory still belongs to the caller, but only the pool may use it until the caller stops
 * using the pool; there is nothing to release. `largest_bytes` is how large a region may ever become, including
 * adjoining regions that are joined (0: `bytes`). No block can be larger, and the pool's own tables grow with its
 * logarithm: 512 bytes (64-bit) or 128 (32-bit) for each power of two above 1,024 (256). Returns NULL if `memory` is
 * NULL or too small for the tables and one block. */
struct hw_pool *hw_pool_init(void *memory, size_t bytes, size_t largest_bytes);

/* Adds memory. If it begins exactly where a region ends, or ends exactly where a region begins that was aligned to
 * HW_POOL_ALIGN, the two become one region, as long as it is not larger than the pool's largest_bytes. In a region that
 * stays separate, up to 4 words and 2 * HW_POOL_ALIGN cannot be used for blocks. Returns false and changes nothing if
 * `memory` is NULL, too small to hold a block, larger than the pool's largest_bytes, or overlaps a region of the pool.
 * Takes a step for each existing region. */
bool hw_pool_add_region(struct hw_pool *pool, void *memory, size_t bytes);

/* Called with each fault that a function finds, before that function returns; `address` is the block that the function
 * was given, or the damaged free block that it found. The handler may leave by longjmp, or not return, and it may call
 * functions of the pool. */
typedef void hw_pool_fault_fn(void *context, struct hw_pool *pool, enum hw_pool_fault fault, void *address);

/* Sets the pool's handler; NULL, the initial value, means none. */
void hw_pool_on_fault(struct hw_pool *pool, hw_pool_fault_fn *handler, void *context);

/* Returns a block of at least `bytes` (0 counts as 1), aligned to HW_POOL_ALIGN, with undefined contents. Returns NULL
 * if no free block is sure to be large enough, or if a fault was found (HW_POOL_WRITTEN_AFTER_FREE). A request of at
 * most hw_pool_stats.largest_free_bytes never fails for the first reason. */
void *hw_pool_alloc(struct hw_pool *pool, size_t bytes);

/* The same, aligned to `align`, a power of two. The space that alignment leaves before and after the block stays free.
 * It may fail if less than bytes + align + HW_POOL_ALIGN are free in one piece. Also returns NULL if `align` is not a
 * power of two. */
void *hw_pool_alloc_aligned(struct hw_pool *pool, size_t align, size_t bytes);

/* Makes a block larger or smaller in place: it takes free space that follows it, or the rest of it becomes free.
 * Returns true if the block now has at least `bytes`, with its contents unchanged. Returns false and changes nothing if
 * there is no room, or if `block` has a fault, as in hw_pool_free. */
bool hw_pool_resize(struct hw_pool *pool, void *block, size_t bytes);

/* As hw_pool_resize; if that is not possible, it allocates a new block, copies the contents, and frees the old one. If
 * `block` is NULL, it allocates a block. Returns NULL if there is no memory or a fault was found, and leaves the old
 * block unchanged. The copy costs about one instruction a byte. */
void *hw_pool_realloc(struct hw_pool *pool, void *block, size_t bytes);

/* Frees a block, and joins it with its free neighbours at once; does nothing for NULL. Every result other than
 * HW_POOL_OK leaves the block and the pool unchanged: HW_POOL_FOREIGN, HW_POOL_NOT_A_BLOCK (also an address inside a
 * block), HW_POOL_FREED (until the memory is given out again), HW_POOL_OVERRUN, or HW_POOL_WRITTEN_AFTER_FREE in a
 * neighbour. */
enum hw_pool_fault hw_pool_free(struct hw_pool *pool, void *block);

/* Returns how many bytes of a block may be used: at least the requested size. Returns 0 for NULL, and for a block with
 * a fault, as in hw_pool_free. */
size_t hw_pool_usable_bytes(struct hw_pool *pool, void *block);

/* Returns whether the address is in one of the pool's regions, in a block or not. Any address may be passed. */
bool hw_pool_owns(const struct hw_pool *pool, const void *address);

struct hw_pool_stats {
  size_t capacity_bytes;     /* the part of all regions that blocks and their headers can use */
  size_t used_bytes;         /* in allocated blocks, including headers and rounding */
  size_t peak_bytes;         /* the highest value of used_bytes so far */
  size_t free_bytes;         /* capacity_bytes minus used_bytes */
  size_t largest_free_bytes; /* a request of this many bytes never fails for lack of memory; in most cases the largest
                                such size, and never more than a 64th (32-bit: a 32nd) below it */
  size_t block_count;        /* allocated blocks */
  size_t region_count;       /* joined regions count as one */
  size_t fault_count;        /* faults found so far */
  unsigned fragmentation_permille; /* the share of the free bytes that is not in the largest free block */
};

/* Fills *stats. O(1), and a step for each region. */
void hw_pool_get_stats(const struct hw_pool *pool, struct hw_pool_stats *stats);

/* Gets a block of `bytes` usable bytes; returning false ends the walk. The function may use the contents of allocated
 * blocks, and must not call functions that change the pool. */
typedef bool hw_pool_visit_fn(void *context, void *block, size_t bytes, bool is_used);

/* Calls `visit` for all blocks, including free ones, region by region and by address within a region. Ends early at a
 * damaged header. O(blocks). */
void hw_pool_walk(const struct hw_pool *pool, hw_pool_visit_fn *visit, void *context);

/* The first damage that hw_pool_is_valid found. */
struct hw_pool_damage {
  enum hw_pool_fault fault;
  const void *address; /* the caller's address of the block whose header or links are damaged; NULL: no single block */
};

/* Examines everything: each header and its statements about its neighbours, each list and bitmap, each sum. If it
 * returns false, it has filled *damage, unless `damage` is NULL. It neither counts faults nor calls the handler.
 * O(blocks). */
bool hw_pool_is_valid(const struct hw_pool *pool, struct hw_pool_damage *damage);

#ifdef __cplusplus
}
#endif

#endif
