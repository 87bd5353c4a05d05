/* layout.h - the memory layout of a pool
 *
 *   region   memory that the caller gave, or several adjoining pieces: a struct region, blocks without gaps, a fence
 *   block    a header of one word, then `size` bytes less that word. The payload, which the user gets, begins after the
 *            header. Sizes include the header and are multiples of ALIGN; the smallest is MIN_BLOCK
 *   fence    a header marked as such, with size 0 and never free; the last word of a region
 *   footer   the last word of a free block, which points to its header. A used block has none: its payload ends there
 *   bin      the list of the free blocks of one class of sizes (bins.h)
 *
 * A size is not the requested size: it includes the header and the rounding. A region may have been added by several
 * calls.
 *
 * Headers begin one word before a multiple of ALIGN, so that payloads are aligned and a header costs only one word.
 *
 * Invariant, which hw_pool_is_valid checks: the blocks of a region follow each other up to its fence; no two free
 * blocks are neighbours; a header has AFTER_FREE exactly if the block before it is free; every free block is in the bin
 * of its size; every header is sealed.
 */
#ifndef HWI_ALLOCATORS_TLSF_LAYOUT_H
#define HWI_ALLOCATORS_TLSF_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heapwright/pool.h"

enum {
  WORD = sizeof(size_t),
  WORD_BITS = 8 * WORD,
  WORD_BITS_LOG2 = WORD == 8 ? 6 : 5,
  ALIGN = 2 * WORD,
  ALIGN_LOG2 = WORD == 8 ? 4 : 3,
  WORD_LOG2 = ALIGN_LOG2 - 1,
  LINEAR_LOG2 = WORD_BITS_LOG2 + ALIGN_LOG2, /* below this power of two all sizes are in the lowest row */
  SEAL_BITS = WORD == 8 ? 16 : 0,            /* of a header; 32-bit words have no room for a seal */
  ROWS_MAX = WORD_BITS - SEAL_BITS - LINEAR_LOG2 + 1,
};

/* Types for memory that held the user's data of any type, and will again. */
#define HWI_REUSED __attribute__((may_alias))

struct block;

/* A pointer to a block: a bin, a block's `next`, a footer. */
struct HWI_REUSED link {
  struct block *to;
};

struct HWI_REUSED block {
  size_t head;       /* size, flags and seal */
  struct link next;  /* in its bin; only while it is free */
  struct link *from; /* the link that points here: the bin's, or the previous block's; only while it is free */
};

#define MIN_BLOCK ((size_t)(4 * WORD)) /* header, two links and footer of a free block */

/* From its lowest bit on, a header has: the seal, the flags, and the size, whose low bits are zero where the flags are.
 * Below, "word" is the size and all flags but AFTER_FREE. The seal is the highest bits of a product of the word and the
 * header's address; every bit of both affects it. The seal is lowest, because a write that runs past the end of a block
 * by a byte or two then changes only the seal.
 *
 * AFTER_FREE describes another block and so changes alone. Setting it also inverts some bits of the seal, so that both
 * changes are one XOR with a constant. The seal of a header is checked without AFTER_FREE.
 */
#define IS_SEALED (SEAL_BITS > 0)
#define BLOCK_FREE ((size_t)1)
#define BLOCK_AFTER_FREE ((size_t)2)
#define BLOCK_FENCE ((size_t)4)
#define BLOCK_FLAGS ((size_t)(ALIGN - 1))
#define SEAL_FACTOR ((size_t)UINT64_C(0x9e3779b97f4a7c15)) /* 2^64 / golden ratio */
#define LARGEST_SIZE (~(size_t)0 >> (SEAL_BITS + 1) & ~BLOCK_FLAGS)

#define AFTER_FREE_BITS (BLOCK_AFTER_FREE << SEAL_BITS | (IS_SEALED ? 0xa5c3u : 0))

/* Replaces the header of a freed block that was merged into the free block before it. */
#define FREED_MARK (BLOCK_FREE << SEAL_BITS)

struct region {
  struct region *next;
  struct block *fence;
  uintptr_t limit; /* end of the caller's memory; need not be aligned */
};

/* The pool. Its bins follow it, row by row. A row has the free blocks of sizes from one power of two to the next (the
 * lowest row: from zero), in WORD_BITS classes. */
struct hw_pool {
  size_t largest_request;              /* larger requests fail at once */
  size_t main_units;                   /* from the pool to the end of the region after its tables, in units of ALIGN */
  size_t seal_factor;                  /* SEAL_FACTOR as a memory operand, which needs no register */
  size_t peak_bytes, below_peak_bytes; /* the second is the peak minus what is used now */
  size_t used_count, capacity_bytes, fault_count;
  size_t bin_count;
  struct region *regions; /* the first is the one after the pool's tables */
  hw_pool_fault_fn *on_fault;
  void *fault_context;
  size_t rows_filled;      /* bit n: row n has a bin that is not empty */
  size_t filled[ROWS_MAX]; /* per row; bit n: bin n is not empty */
};

static inline size_t pool_used_bytes(const struct hw_pool *pool)
{
  return pool->peak_bytes - pool->below_peak_bytes;
}

static inline struct link *pool_bins(const struct hw_pool *pool)
{
  return (struct link *)(uintptr_t)(pool + 1);
}

/* The highest bits of the product are the seal. */
static inline size_t seal_product(const struct hw_pool *pool, const struct block *block, size_t word)
{
  return ((uintptr_t)block ^ word) * pool->seal_factor;
}

/* Returns the product for the same block and size with BLOCK_FREE, from the product without it: neither the address nor
 * the size has that bit. */
static inline size_t seal_product_when_free(const struct hw_pool *pool, size_t product)
{
  return product + pool->seal_factor;
}

static inline size_t product_seal(size_t product)
{
  return IS_SEALED ? product >> (WORD_BITS - SEAL_BITS) % WORD_BITS : 0;
}

static inline size_t seal_of(const struct hw_pool *pool, const struct block *block, size_t word)
{
  return product_seal(seal_product(pool, block, word));
}

/* Returns the word with the seal below it. Written as one operation on a double word, this is a single instruction
 * where the CPU has one. */
static inline size_t head_of(size_t word, size_t product)
{
#ifdef __SIZEOF_INT128__
  return (size_t)(((__extension__(unsigned __int128) word << WORD_BITS) | product) >> (WORD_BITS - SEAL_BITS));
#else
  return word << SEAL_BITS | product_seal(product);
#endif
}

/* Sets the header of a block that does not follow a free block. */
static inline void block_set_word(const struct hw_pool *pool, struct block *block, size_t word)
{
  block->head = head_of(word, seal_product(pool, block, word));
}

static inline size_t head_word(size_t head)
{
  return head >> SEAL_BITS;
}

/* To be called when the block before this one becomes free, or used. */
static inline void block_turn_after_free(struct block *block)
{
  block->head ^= AFTER_FREE_BITS;
}

static inline bool head_is_after_free(size_t head)
{
  return head & BLOCK_AFTER_FREE << SEAL_BITS;
}

static inline bool block_is_after_free(const struct block *block)
{
  return head_is_after_free(block->head);
}

static inline size_t head_without_after_free(size_t head)
{
  return head_is_after_free(head) ? head ^ AFTER_FREE_BITS : head;
}

/* Returns true if `head`, without AFTER_FREE, is an unchanged header of `block`. */
static inline bool head_is_sealed(const struct hw_pool *pool, const struct block *block, size_t head)
{
  return IS_SEALED ? !(uint16_t)(head ^ seal_of(pool, block, head_word(head))) : !head_is_after_free(head);
}

static inline bool block_is_sealed(const struct hw_pool *pool, const struct block *block)
{
  return head_is_sealed(pool, block, head_without_after_free(block->head));
}

static inline bool block_is_free(const struct block *block)
{
  return block->head & BLOCK_FREE << SEAL_BITS;
}

static inline size_t block_size(const struct block *block)
{
  return head_word(block->head) & ~BLOCK_FLAGS;
}

static inline struct block *block_at(const struct block *block, size_t off)
{
  return (struct block *)((uintptr_t)block + off);
}

static inline struct link *block_footer(const struct block *block, size_t size)
{
  return (struct link *)((uintptr_t)block + size - WORD);
}

/* Returns the free block before this one, by its footer. Only valid if AFTER_FREE is set. */
static inline struct block *block_in_front(const struct block *block)
{
  return block_footer(block, 0)->to;
}

static inline void *block_payload(const struct block *block)
{
  return (void *)((uintptr_t)block + WORD);
}

static inline struct block *block_of_payload(const void *payload)
{
  return (struct block *)((uintptr_t)payload - WORD);
}

/* Returns the size of a block for `bytes` of payload. `bytes` must be far from SIZE_MAX. */
static inline size_t block_size_for(size_t bytes)
{
  size_t size = (bytes + WORD + ALIGN - 1) & ~(size_t)(ALIGN - 1);
  return size < MIN_BLOCK ? MIN_BLOCK : size;
}

static inline struct block *region_first(const struct region *region)
{
  return (struct block *)(uintptr_t)(region + 1);
}

/* Returns true if `at` is between the first block and the fence, which is excluded. */
static inline bool region_has(const struct region *region, const void *at)
{
  uintptr_t first = (uintptr_t)region_first(region);
  return (uintptr_t)at - first < (uintptr_t)region->fence - first;
}

/* Returns the region that contains `at`, or NULL. */
static inline struct region *pool_region(const struct hw_pool *pool, const void *at)
{
  struct region *region = pool->regions;
  while (region && !region_has(region, at))
    region = region->next;
  return region;
}

/* Returns true if `at` is in the pool's tables or the region after them, and a multiple of 2^log2 bytes from the pool.
 * This takes one comparison: the rotation makes the offset larger than all valid ones if it is not a multiple. */
static inline bool pool_has_near(const struct hw_pool *pool, const void *at, unsigned log2)
{
  size_t off = (uintptr_t)at - (uintptr_t)pool;
  return (off >> log2 | off << (WORD_BITS - log2)) < pool->main_units << (ALIGN_LOG2 - log2);
}

/* Frees new memory and adds it to the capacity (pool.c). `block` must already have the header of a used block, and its
 * neighbours must have theirs. If a free neighbour was overwritten, the new block stays used. */
__attribute__((visibility("hidden"))) void hwi_pool_give(struct hw_pool *pool, struct block *block);

#endif
