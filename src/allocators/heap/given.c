/* given.c - which blocks of a page are given out, if each free is checked
 *
 * Pages then have room for a bit for each block, after the last one. A bit is set while its block is given out. Any
 * thread may free a block: of two that free the same one, one clears the bit. Since each of them is seen, it is also
 * counted how many blocks of a class are given out.
 */
#include "allocators/heap/layout.h"

#include <string.h>

enum { WORD_BITS = 32 };

static size_t word_count(size_t capacity)
{
  return (capacity + WORD_BITS - 1) / WORD_BITS;
}

uint32_t hwi_page_capacity(const struct hw_heap *heap, size_t page_bytes, size_t block_bytes)
{
  size_t capacity = page_bytes / block_bytes;
  if (heap->config.check_all_frees)
    capacity = (page_bytes - word_count(capacity) * sizeof(uint32_t)) / block_bytes;
  return (uint32_t)capacity;
}

static uint32_t *words_of(const struct hwi_page *page)
{
  return (uint32_t *)(hwi_page_start(page) + page->slice_count * HWI_SLICE_BYTES) - word_count(page->capacity);
}

static uint32_t *word_of(const struct hwi_page *page, const void *block, uint32_t *bit)
{
  size_t index = hwi_page_index(page, (uintptr_t)block - hwi_page_start(page));
  *bit = (uint32_t)1 << index % WORD_BITS;
  return words_of(page) + index / WORD_BITS;
}

void hwi_given_begin(const struct hwi_page *page)
{
  memset(words_of(page), 0, word_count(page->capacity) * sizeof(uint32_t));
}

static void count_one(struct hw_heap *heap, size_t class_index)
{
  size_t count = __atomic_add_fetch(&heap->given_counts[class_index], 1, __ATOMIC_RELAXED);
  size_t peak = __atomic_load_n(&heap->peak_given_counts[class_index], __ATOMIC_RELAXED);
  while (count > peak && !__atomic_compare_exchange_n(&heap->peak_given_counts[class_index], &peak, count, true,
                                                      __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    ;
}

void hwi_given_add(const struct hwi_page *page, const void *block)
{
  uint32_t bit, *word = word_of(page, block, &bit);
  __atomic_fetch_or(word, bit, __ATOMIC_RELAXED);
  count_one(page->heap, page->class_index);
}

bool hwi_given_remove(const struct hwi_page *page, const void *block)
{
  uint32_t bit, *word = word_of(page, block, &bit);
  bool was_given = __atomic_fetch_and(word, ~bit, __ATOMIC_RELAXED) & bit;
  if (was_given)
    __atomic_fetch_sub(&page->heap->given_counts[page->class_index], 1, __ATOMIC_RELAXED);
  return was_given;
}

bool hwi_given_has(const struct hwi_page *page, const void *block)
{
  uint32_t bit, *word = word_of(page, block, &bit);
  return __atomic_load_n(word, __ATOMIC_RELAXED) & bit;
}
