/* sampled_blocks.h - the live blocks whose allocations are events of a sample
 *
 * Frees are events if their block is one of these. Nearly all frees are of other blocks: a filter of a few kilobytes
 * finds most of them. It has a count for each hash of an address: how many of these blocks have that hash. If it is not 0,
 * the block is looked up in a table.
 *
 * level      a table and a filter. If there are too many blocks, the next level is added, whose table and filter are
 *            larger. Tables of all levels are in use, but only the filter of the last level. Nothing is ever unmapped.
 *
 * All functions are lock-free and async-signal-safe. The memory is private: a forked child inherits the blocks.
 */
#ifndef HWI_RECORD_SAMPLED_BLOCKS_H
#define HWI_RECORD_SAMPLED_BLOCKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Makes the first level, once per image. Returns false if there is no memory. */
bool hwi_sampled_blocks_init(void);

/* Adds a block that the calling thread has just allocated. Returns false if there is no memory, or no more room. */
bool hwi_sampled_blocks_add(const void *block, uint32_t thread);

/* Removes a block that is about to be freed. Returns false if it was not there. *thread becomes hwi_sampled_thread of its
 * thread. */
bool hwi_sampled_blocks_take(const void *block, uint32_t *thread);

/* The part of a thread's ID that is stored. */
enum { HWI_SAMPLED_THREAD_BITS = 12 };
static inline uint32_t hwi_sampled_thread(uint32_t thread)
{
  return thread & ((1u << HWI_SAMPLED_THREAD_BITS) - 1);
}

/* The address of the filter in use. Its low bits are how far a hash is shifted to the right to be an index. */
enum { HWI_SAMPLED_SHIFT_BITS = 6 };
extern __attribute__((visibility("hidden"))) _Atomic uintptr_t hwi_sampled_filter;

static inline uint64_t hwi_sampled_hash(const void *block)
{
  return (uintptr_t)block * UINT64_C(0x9e3779b97f4a7c15);
}

/* Returns false if the block is certainly not there. */
static inline bool hwi_sampled_blocks_may_have(const void *block)
{
  uintptr_t filter = atomic_load_explicit(&hwi_sampled_filter, memory_order_acquire);
  uint64_t index = hwi_sampled_hash(block) >> (filter & ((1 << HWI_SAMPLED_SHIFT_BITS) - 1));
  return atomic_load_explicit((_Atomic uint8_t *)filter + index, memory_order_relaxed);
}

#endif
