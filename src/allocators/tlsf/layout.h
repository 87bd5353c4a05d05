/* layout.h - how a pool lies in memory
 *
 *   region   memory that the caller gave, or several pieces of it that adjoin: struct region, blocks without a gap, a fence
 *   block    a header of one word, then `size` bytes less that word. What the user gets, the payload, begins behind the
 *            header. Sizes count the header and are multiples of ALIGN; the smallest is MIN_BLOCK
 *   fence    a header that says so, of size 0 and never free; the region's last word
 *   footer   the last word of a free block, which points to its header. A used block has none: its payload ends there
 *   bin      the list of the free blocks of one class of sizes (bins.h)
 *
 * A size is not what the user asked for: it has the header and the rounding in it. A region is not what one call added.
 *
 * Headers begin one word in front of a multiple of ALIGN, so that payloads are aligned and a header costs no more than a word.
 *
 * Invariant, which hw_pool_is_valid checks: the blocks of a region follow each other to its fence; no two free blocks are
 * neighbours; a header has AFTER_FREE exactly if the block in front is free; every free block is in the bin of its size; every
 * header is sealed.
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
  SEAL_BITS = WORD == 8 ? 16 : 0,            /* of a header; on 32-bit machines there is no room for a seal */
  ROWS_MAX = WORD_BITS - SEAL_BITS - LINEAR_LOG2 + 1,
};

/* What lies where users' data of any type lay before, and will again. */
#define HWI_REUSED __attribute__((may_alias))

struct block;

/* A pointer to a block: a bin, a block's `next`, a footer. */
struct HWI_REUSED link {
  struct block *to;
};

struct HWI_REUSED block {
  size_t head;       /* size, flags and seal */
  struct link next;  /* in its bin; only while it is free */
  struct link *from; /* the link that leads here, of the bin or of the block before; only while it is free */
};

#define MIN_BLOCK ((size_t)(4 * WORD)) /* a free one's header, two links and footer */

/* A header is, from its lowest bit on: the seal, the flags, and the size, which has zeros where the flags are. "Word" below is
 * size and flags but for AFTER_FREE. The seal is the highest bits of a product of the word with the header's address: they change
 * with every bit of both. It is lowest because what runs past the end of a block by a byte or two then hits it, and nothing else.
 *
 * AFTER_FREE says something of another block and so changes by itself: setting it turns some bits of the seal round as well, and
 * both are one constant to be xor'ed with the header. A header is looked at without it. */
#define IS_SEALED (SEAL_BITS > 0)
#define BLOCK_FREE ((size_t)1)
#define BLOCK_AFTER_FREE ((size_t)2)
#define BLOCK_FENCE ((size_t)4)
#define BLOCK_FLAGS ((size_t)(ALIGN - 1))
#define SEAL_FACTOR ((size_t)UINT64_C(0x9e3779b97f4a7c15)) /* 2^64 / golden ratio */
#define LARGEST_SIZE (~(size_t)0 >> (SEAL_BITS + 1) & ~BLOCK_FLAGS)

#define AFTER_FREE_BITS (BLOCK_AFTER_FREE << SEAL_BITS | (IS_SEALED ? 0xa5c3u : 0))

/* In place of the header of a block that was freed and became part of the free block in front of it. */
#define FREED_MARK (BLOCK_FREE << SEAL_BITS)

struct region {
  struct region *next;
  struct block *fence;
  uintptr_t limit; /* where the caller's memory ends, which need not be aligned */
};

/* The pool. Its bins follow it, row by row: free blocks of sizes from one power of two to the next (of the lowest row: from
 * nothing), by WORD_BITS classes. */
struct hw_pool {
  size_t largest_request;              /* more is not even looked for */
  size_t main_units;                   /* from the pool to the end of the region behind its tables, in ALIGNs */
  size_t seal_factor;                  /* SEAL_FACTOR, where an instruction can have it without a register */
  size_t peak_bytes, below_peak_bytes; /* the second is how much less than the first is used now */
  size_t used_count, capacity_bytes, fault_count;
  size_t bin_count;
  struct region *regions; /* the first is the one behind the pool's tables */
  hw_pool_fault_fn *on_fault;
  void *fault_context;
  size_t rows_filled;      /* bit n: row n has a bin that is not empty */
  size_t filled[ROWS_MAX]; /* of each row; bit n: bin n is not empty */
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

/* The product of the same block and size with BLOCK_FREE, from that without: neither the address nor the size has that bit. */
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

/* The word with its seal below it. Said of both as one long number, it is one instruction where there is one for that. */
static inline size_t head_of(size_t word, size_t product)
{
#ifdef __SIZEOF_INT128__
  return (size_t)(((__extension__(unsigned __int128) word << WORD_BITS) | product) >> (WORD_BITS - SEAL_BITS));
#else
  return word << SEAL_BITS | product_seal(product);
#endif
}

/* The header of a block behind one that is not free. */
static inline void block_set_word(const struct hw_pool *pool, struct block *block, size_t word)
{
  block->head = head_of(word, seal_product(pool, block, word));
}

static inline size_t head_word(size_t head)
{
  return head >> SEAL_BITS;
}

/* What the block in front is changes: free, or used. */
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

/* This is a header of `block`, as it was written, and without AFTER_FREE. */
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

/* The free block in front, by its footer; only where AFTER_FREE says that there is one. */
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

/* The size of a block for `bytes` of payload, which must be far from SIZE_MAX. */
static inline size_t block_size_for(size_t bytes)
{
  size_t size = (bytes + WORD + ALIGN - 1) & ~(size_t)(ALIGN - 1);
  return size < MIN_BLOCK ? MIN_BLOCK : size;
}

static inline struct block *region_first(const struct region *region)
{
  return (struct block *)(uintptr_t)(region + 1);
}

/* Whether `at` lies from the first block to the fence, which is excluded. */
static inline bool region_has(const struct region *region, const void *at)
{
  uintptr_t first = (uintptr_t)region_first(region);
  return (uintptr_t)at - first < (uintptr_t)region->fence - first;
}

/* The region with `at` in it, or NULL. */
static inline struct region *pool_region(const struct hw_pool *pool, const void *at)
{
  struct region *region = pool->regions;
  while (region && !region_has(region, at))
    region = region->next;
  return region;
}

/* `at` is a multiple of 2^log2 bytes away from the pool, and in its tables or the region behind them: one comparison, since what
 * is no multiple becomes larger than all that are. */
static inline bool pool_has_near(const struct hw_pool *pool, const void *at, unsigned log2)
{
  size_t off = (uintptr_t)at - (uintptr_t)pool;
  return (off >> log2 | off << (WORD_BITS - log2)) < pool->main_units << (ALIGN_LOG2 - log2);
}

#endif
