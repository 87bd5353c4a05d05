/* pool.h - a memory pool for programs that may never wait: two-level segregated fit over memory that the caller gives
 *
 *   static char memory[64 << 10];
 *   struct hw_pool *pool = hw_pool_init(memory, sizeof memory, 0);
 *   void *block = hw_pool_alloc(pool, 100);
 *   hw_pool_free(pool, block);
 *
 * A pool needs no libc and no operating system: it compiles as freestanding C17 and C++17 and calls nothing. There may be
 * any number of pools; all that a pool knows lies in the memory given to it.
 *
 * Cost. hw_pool_alloc, hw_pool_alloc_aligned, hw_pool_resize, hw_pool_free and hw_pool_usable_bytes are O(1): a bounded number
 * of instructions, without a loop, whatever was allocated and freed before. A pool of several regions that do not adjoin adds
 * a step for each region that is looked through before the block's own is found. docs/pool.md has the figures.
 *
 * Overhead. A block takes one word in front of it, and is rounded up to HW_POOL_ALIGN; the smallest takes 4 words in all.
 *
 * Threads and signals. No function takes a lock. Calls on one pool must not overlap, neither from two threads nor from a
 * signal handler that interrupts one; calls on different pools may. Functions of a const pool may overlap with one another.
 *
 * Faults. What was written where it must not be is found where that costs O(1): each function below says what it finds. On
 * 64-bit machines a block's header carries 16 bits of check sum over its address, size and state, so that 65,535 of 65,536
 * wrong addresses and damaged headers are seen; on 32-bit machines only what makes no sense is. A call that finds a fault
 * changes nothing in the pool, counts it, and tells the pool's handler.
 *
 * Source: M. Masmano, I. Ripoll, A. Crespo, J. Real, "TLSF: a new dynamic memory allocator for real-time systems", ECRTS 2004;
 * M. Masmano, I. Ripoll, J. Real, A. Crespo, A. Wellings, "Implementation of a constant-time dynamic storage allocator",
 * Software: Practice and Experience 38(10), 2008.
 */
#ifndef HEAPWRIGHT_POOL_H
#define HEAPWRIGHT_POOL_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Every block begins at a multiple of this: 16 on 64-bit machines, 8 on 32-bit ones. */
#define HW_POOL_ALIGN (2 * sizeof(void *))

/* A pool. It lies at the start of the memory that hw_pool_init was given. */
struct hw_pool;

enum hw_pool_fault {
  HW_POOL_OK = 0,
  HW_POOL_FOREIGN,            /* the address is in no region of the pool, or no multiple of HW_POOL_ALIGN */
  HW_POOL_NOT_A_BLOCK,        /* no block begins there, or its header was overwritten from in front */
  HW_POOL_FREED,              /* the block is free already */
  HW_POOL_OVERRUN,            /* the header behind the block's end is damaged: something wrote past the end */
  HW_POOL_WRITTEN_AFTER_FREE, /* a free block was written to, or the end of the block in front of it was overrun */
  HW_POOL_MISCOUNTED,         /* only from hw_pool_is_valid: blocks and figures do not add up */
};

/* What a fault is, in a few words. Never NULL. */
const char *hw_pool_fault_text(enum hw_pool_fault fault);

/* Makes a pool in `memory`, which stays the caller's but is the pool's to use until the caller takes it back; there is
 * nothing to release. `largest_bytes` is how large a region may ever become, joined neighbours included (0: `bytes`); no block
 * can be larger, and the pool's own tables grow with its logarithm: 512 bytes (64-bit) or 128 (32-bit) for each power of two
 * above 1,024 (256). NULL: `memory` is NULL or too small for the tables and one block. */
struct hw_pool *hw_pool_init(void *memory, size_t bytes, size_t largest_bytes);

/* Adds memory. Where it begins exactly where a region ends, or ends where one begins that was aligned to HW_POOL_ALIGN, the two
 * become one, as long as that stays within the pool's largest_bytes. Up to 4 words and 2 * HW_POOL_ALIGN of a region that stays
 * alone are not for blocks. False, and nothing is changed: `memory` is NULL, too small to hold a block, larger than the
 * pool's largest_bytes, or overlaps a region of the pool. Takes a step for each region there is. */
bool hw_pool_add_region(struct hw_pool *pool, void *memory, size_t bytes);

/* Called with each fault that a function finds, before that function returns; `address` is the block that the function was
 * given, or the free block that it came upon. It may leave by longjmp or not return. It may call functions of the pool. */
typedef void hw_pool_fault_fn(void *context, struct hw_pool *pool, enum hw_pool_fault fault, void *address);

/* Sets the pool's handler; NULL, as at first: none. */
void hw_pool_on_fault(struct hw_pool *pool, hw_pool_fault_fn *handler, void *context);

/* A block of at least `bytes` (0 counts as 1), aligned to HW_POOL_ALIGN, with any contents. NULL: no free block is sure to be
 * large enough, which a request of hw_pool_stats.largest_free_bytes or less never is, or a fault was found
 * (HW_POOL_WRITTEN_AFTER_FREE). */
void *hw_pool_alloc(struct hw_pool *pool, size_t bytes);

/* The same, aligned to `align`, a power of two. What alignment leaves over in front and behind stays free. It may fail where
 * less than bytes + align + HW_POOL_ALIGN are free in one piece. NULL also where `align` is no power of two. */
void *hw_pool_alloc_aligned(struct hw_pool *pool, size_t align, size_t bytes);

/* Makes a block larger or smaller where it stands: what follows it is free, or what is left over becomes so. True: it has
 * at least `bytes` now, its contents kept. False: nothing is changed; there is no room, or `block` has a fault, as in
 * hw_pool_free. */
bool hw_pool_resize(struct hw_pool *pool, void *block, size_t bytes);

/* hw_pool_resize, or where that cannot be: a new block, a copy of the contents, and the old one freed. `block` NULL: a new block.
 * NULL: no memory or a fault, and the old block is as it was. The copy costs about one instruction a byte. */
void *hw_pool_realloc(struct hw_pool *pool, void *block, size_t bytes);

/* Gives a block back; NULL is nothing. It joins its free neighbours at once. Whatever is not HW_POOL_OK leaves the block, and
 * the pool, as they were: HW_POOL_FOREIGN, HW_POOL_NOT_A_BLOCK (also an address inside a block), HW_POOL_FREED (until the memory
 * is given out again), HW_POOL_OVERRUN, or HW_POOL_WRITTEN_AFTER_FREE in a neighbour. */
enum hw_pool_fault hw_pool_free(struct hw_pool *pool, void *block);

/* How many bytes of a block may be used: at least what was asked for. 0 for NULL, and for what has a fault, as in
 * hw_pool_free. */
size_t hw_pool_usable_bytes(struct hw_pool *pool, void *block);

/* Whether the address lies in one of the pool's regions, in a block or not. Any address may be asked for. */
bool hw_pool_owns(const struct hw_pool *pool, const void *address);

struct hw_pool_stats {
  size_t capacity_bytes; /* of all regions, what blocks and their headers can take */
  size_t used_bytes;     /* by blocks that are given out, headers and rounding included */
  size_t peak_bytes;     /* the most that used_bytes ever was */
  size_t free_bytes;     /* capacity_bytes less used_bytes */
  size_t
      largest_free_bytes; /* a request of this many bytes is sure to be met; the largest of all such in most cases, and never
                                more than a 64th (32-bit: a 32nd) below it */
  size_t block_count;              /* blocks that are given out */
  size_t region_count;             /* joined neighbours are one */
  size_t fault_count;              /* faults found so far */
  unsigned fragmentation_permille; /* of the free bytes, how many are not in the largest free block */
};

/* Fills *stats. O(1), and a step for each region. */
void hw_pool_get_stats(const struct hw_pool *pool, struct hw_pool_stats *stats);

/* Sees a block of `bytes` usable bytes; false ends the walk. It may use the contents of blocks in use, and must not call functions
 * that change the pool. */
typedef bool hw_pool_visit_fn(void *context, void *block, size_t bytes, bool is_used);

/* Shows all blocks, free ones too, region by region, in the order of their addresses within each. Ends early at a damaged
 * header. O(blocks). */
void hw_pool_walk(const struct hw_pool *pool, hw_pool_visit_fn *visit, void *context);

/* What hw_pool_is_valid found first. */
struct hw_pool_damage {
  enum hw_pool_fault fault;
  const void *address; /* the block whose header or links are damaged, as the caller knows it; NULL: no one block */
};

/* Examines everything: each header and what it says of its neighbours, each list and bit map, each sum. False fills *damage,
 * which may be NULL. Neither counts faults nor calls the handler. O(blocks). */
bool hw_pool_is_valid(const struct hw_pool *pool, struct hw_pool_damage *damage);

#ifdef __cplusplus
}
#endif

#endif
