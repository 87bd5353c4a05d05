/* sampled_blocks.c - the live blocks whose allocations are events of a sample
 *
 * A table is an array of buckets, each a cache line of words. A bucket is chosen by the upper bits of the hash; a block
 * is anywhere in its bucket, in the table of any level. A word of 0 is free, and a block is added and removed by one
 * compare-and-swap: a fork or a kill at any instruction finds whole words.
 *
 * A word states the level whose filter counts the block. Invariant: a count is never smaller than the number of words that
 * it counts; it may be larger for a moment, or for ever if a thread was left in the middle (a fork, a longjmp), which
 * only costs time. So a filter is counted up before the word appears, and down after it has gone.
 *
 * A level is added in three steps: `last` becomes the new level; every word is raised to it, that is, counted in its
 * filter, too; and hwi_sampled_filter becomes the new filter. If a thread stops in between, the next one that adds a block
 * does the rest. Adding a block ends with reading `last` again: either the thread that raises the words has seen the new
 * one, or the thread that added it sees the new level. The old filter still counts the words that were raised; it has
 * readers until the last step, and is not used any more after it.
 *
 * All blocks with the same index in a filter have the same bucket in each table up to that level, since the index has
 * more bits of the hash. That bounds the counts far below 256.
 */
#include "record/sampled_blocks.h"

#include <assert.h>
#include <stddef.h>

#include "platform/arch.h"
#include "platform/os.h"
#include "record/own_ranges.h"

enum {
  LEVELS = 9,
  FIRST_BUCKET_BITS = 6, /* 64 buckets in the first level */
  LEVEL_BITS = 2,        /* each level has four times as many as the one before */
  SLOTS = 8,             /* words in a bucket */
  FILTER_BITS = 6,       /* counts of the filter for each bucket: 64 */
  FULL_BLOCKS = 4,       /* blocks for each bucket from which on there is another level */
  LEVEL_SHIFT = 48,      /* in a word: address, level, thread */
  THREAD_SHIFT = 52,
};
static_assert((int)HWI_ARCH_ADDRESS_BITS <= (int)LEVEL_SHIFT && LEVELS <= 1 << (THREAD_SHIFT - LEVEL_SHIFT) &&
                  (int)THREAD_SHIFT + (int)HWI_SAMPLED_THREAD_BITS <= 64 && LEVELS * SLOTS < UINT8_MAX / 2,
              "a word and a count have room");

struct bucket {
  _Atomic uint64_t slots[SLOTS];
};
static_assert(sizeof(struct bucket) == 64, "a cache line");

static struct {
  _Atomic uintptr_t filter; /* as hwi_sampled_filter */
  _Atomic(struct bucket *) table;
} levels[LEVELS];
static _Atomic uint32_t last;
static _Atomic int64_t block_count;
_Atomic uintptr_t hwi_sampled_filter;

static uint32_t bucket_bits(uint32_t level)
{
  return FIRST_BUCKET_BITS + LEVEL_BITS * level;
}

static uint64_t address_of(uint64_t word)
{
  return word & ((UINT64_C(1) << LEVEL_SHIFT) - 1);
}

static uint32_t level_of(uint64_t word)
{
  return word >> LEVEL_SHIFT & ((1 << (THREAD_SHIFT - LEVEL_SHIFT)) - 1);
}

static uint64_t with_level(uint64_t word, uint32_t level)
{
  return word + ((uint64_t)(level - level_of(word)) << LEVEL_SHIFT);
}

static struct bucket *bucket_at(uint32_t level, uint64_t hash)
{
  return atomic_load(&levels[level].table) + (hash >> (64 - bucket_bits(level)));
}

static _Atomic uint8_t *count_at(uint32_t level, uint64_t hash)
{
  uint32_t shift = 64 - bucket_bits(level) - FILTER_BITS;
  return (_Atomic uint8_t *)atomic_load(&levels[level].filter) + (hash >> shift);
}

/* --- levels --- */

/* Returns whether the level has its memory. Several threads may make it at the same time. */
static bool make(uint32_t level)
{
  size_t buckets = (size_t)1 << bucket_bits(level), shift = 64 - bucket_bits(level) - FILTER_BITS;
  size_t table_bytes = buckets * sizeof(struct bucket), filter_bytes = (buckets << FILTER_BITS) + HWI_OS_PAGE_BYTES;
  struct bucket *table = hwi_os_map(table_bytes), *no_table = NULL;
  char *filter = hwi_os_map(filter_bytes);
  uintptr_t no_filter = 0;
  if (!table || !atomic_compare_exchange_strong(&levels[level].table, &no_table, table))
    hwi_os_unmap(table, table ? table_bytes : 0);
  else
    hwi_own_ranges_add(table, table_bytes, NULL);
  if (!filter || !atomic_compare_exchange_strong(&levels[level].filter, &no_filter, (uintptr_t)filter + shift))
    hwi_os_unmap(filter, filter ? filter_bytes : 0);
  return atomic_load(&levels[level].table) && atomic_load(&levels[level].filter);
}

bool hwi_sampled_blocks_init(void)
{
  if (!make(0))
    return false;
  atomic_store(&hwi_sampled_filter, atomic_load(&levels[0].filter));
  return true;
}

/* Counts the word in the filter of that level, too, unless it changes meanwhile. */
static void raise(_Atomic uint64_t *slot, uint64_t word, uint32_t level)
{
  _Atomic uint8_t *count = count_at(level, hwi_sampled_hash((const void *)(uintptr_t)address_of(word)));
  atomic_fetch_add(count, 1);
  if (!atomic_compare_exchange_strong(slot, &word, with_level(word, level)))
    atomic_fetch_sub(count, 1);
}

static void raise_all(uint32_t level)
{
  for (uint32_t i = 0; i <= level; i++) {
    struct bucket *table = atomic_load(&levels[i].table);
    for (size_t n = 0; n < (size_t)SLOTS << bucket_bits(i); n++) {
      _Atomic uint64_t *slot = &table[n / SLOTS].slots[n % SLOTS];
      for (uint64_t word; (word = atomic_load(slot)) && level_of(word) < level;)
        raise(slot, word, level);
    }
  }
}

/* Returns the last level, whose filter is then in use. */
static uint32_t settle(void)
{
  uint32_t level = atomic_load(&last);
  uintptr_t filter = atomic_load(&hwi_sampled_filter), wanted = atomic_load(&levels[level].filter);
  if (filter != wanted && level && filter == atomic_load(&levels[level - 1].filter)) {
    raise_all(level);
    atomic_compare_exchange_strong(&hwi_sampled_filter, &filter, wanted);
  }
  return level;
}

/* Adds the level after `level`, whose filter is in use. Returns false if there is none, or no memory for it. */
static bool grow(uint32_t level)
{
  if (level + 1 == LEVELS || !make(level + 1))
    return false;
  atomic_compare_exchange_strong(&last, &level, level + 1);
  settle();
  return true;
}

/* --- blocks --- */

/* Returns the slot that the word was put into, or NULL if the buckets are full. */
static _Atomic uint64_t *put(uint64_t word, uint64_t hash, uint32_t level)
{
  for (uint32_t i = level + 1; i-- > 0;) {
    struct bucket *bucket = bucket_at(i, hash);
    for (int n = 0; n < SLOTS; n++) {
      uint64_t none = 0;
      if (!atomic_load(&bucket->slots[n]) && atomic_compare_exchange_strong(&bucket->slots[n], &none, word))
        return &bucket->slots[n];
    }
  }
  return NULL;
}

/* Puts the block into a table, with the level that it returns. Returns LEVELS if there is no room. */
static uint32_t place(uint64_t word, uint64_t hash, _Atomic uint64_t **slot)
{
  for (;;) {
    uint32_t level = settle();
    _Atomic uint8_t *count = count_at(level, hash);
    atomic_fetch_add(count, 1);
    if ((*slot = put(with_level(word, level), hash, level)))
      return level;
    atomic_fetch_sub(count, 1);
    if (!grow(level))
      return LEVELS;
  }
}

bool hwi_sampled_blocks_add(const void *block, uint32_t thread)
{
  uint64_t word = (uintptr_t)block | (uint64_t)hwi_sampled_thread(thread) << THREAD_SHIFT;
  uint64_t hash = hwi_sampled_hash(block);
  uint32_t ignored;
  _Atomic uint64_t *slot;
  if ((uint64_t)(uintptr_t)block >> LEVEL_SHIFT)
    return false;
  if (hwi_sampled_blocks_may_have(block))
    hwi_sampled_blocks_take(block, &ignored); /* its free was missed */
  uint32_t level = place(word, hash, &slot);
  if (level == LEVELS)
    return false;
  int64_t full = (int64_t)FULL_BLOCKS << bucket_bits(level);
  if (atomic_fetch_add(&block_count, 1) >= full)
    grow(level);
  if (atomic_load(&last) != level)
    raise(slot, with_level(word, level), settle());
  return true;
}

bool hwi_sampled_blocks_take(const void *block, uint32_t *thread)
{
  uint64_t hash = hwi_sampled_hash(block);
  for (uint32_t level = atomic_load(&last) + 1; level-- > 0;) {
    struct bucket *bucket = bucket_at(level, hash);
    for (int n = 0; n < SLOTS; n++) {
      uint64_t word = atomic_load(&bucket->slots[n]);
      while (address_of(word) == (uintptr_t)block) {
        if (!atomic_compare_exchange_weak(&bucket->slots[n], &word, 0))
          continue;
        atomic_fetch_sub(count_at(level_of(word), hash), 1);
        atomic_fetch_sub(&block_count, 1);
        *thread = (uint32_t)(word >> THREAD_SHIFT);
        return true;
      }
    }
  }
  return false;
}
