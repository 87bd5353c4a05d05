/* libc_blocks.c - a general heap whose blocks are malloc's, so that valgrind and the sanitizers see each of them
 *
 * The heap knows its blocks, which it frees when it is destroyed, by a hash table with open addressing. The table has the
 * addresses inverted: a checker that looks for leaks must not find the blocks there. Malloc and free are called without
 * the lock.
 */
#define _GNU_SOURCE
#include "allocators/heap/libc_blocks.h"
#include "allocators/heap/config.h"

#include <malloc.h>
#include <stdlib.h>

#include "platform/os.h"

enum { FIRST_SLOTS = 4096, GONE = 1 }; /* a word is inverted, so that its last bits are set; GONE: a block was there */

bool hwi_libc_is_wanted(hwi_value_fn *value_of)
{
  return hwi_flag_read(value_of, HWI_HEAP_LIBC_VARIABLE, false);
}

/* --- the table: with the lock --- */

static uintptr_t word_of(const void *block)
{
  return ~(uintptr_t)block;
}

/* Returns the slot of a word, or the free one where the search for it ends. */
static uintptr_t *find(const struct hwi_libc_blocks *blocks, uintptr_t word)
{
  size_t i = (word >> HWI_GRANULE_BITS) * 0x9e3779b97f4a7c15u >> 32;
  for (;; i++) {
    uintptr_t *slot = &blocks->slots[i & (blocks->slot_count - 1)];
    if (*slot == word || *slot == 0)
      return slot;
  }
}

/* Twice as large as the blocks need, and without the slots of which the block is gone. */
static bool make_room(struct hwi_libc_blocks *blocks)
{
  struct hwi_libc_blocks larger = {.slot_count = FIRST_SLOTS, .block_count = blocks->block_count};
  while (larger.slot_count < 4 * blocks->block_count)
    larger.slot_count *= 2;
  larger.used_count = blocks->block_count;
  larger.slots = (uintptr_t *)hwi_os_map(larger.slot_count * sizeof *larger.slots);
  if (!larger.slots)
    return false;
  for (size_t i = 0; i < blocks->slot_count; i++)
    if (blocks->slots[i] > GONE)
      *find(&larger, blocks->slots[i]) = blocks->slots[i];
  if (blocks->slots)
    hwi_os_unmap(blocks->slots, blocks->slot_count * sizeof *blocks->slots);
  *blocks = larger;
  return true;
}

static bool add(struct hw_heap *heap, const void *block)
{
  struct hwi_libc_blocks *blocks = &heap->libc_blocks;
  enum hwi_lock_result result = hwi_heap_lock(heap);
  bool has_room = 2 * blocks->used_count < blocks->slot_count || make_room(blocks);
  if (has_room) {
    *find(blocks, word_of(block)) = word_of(block);
    blocks->used_count++;
    blocks->block_count++;
  }
  hwi_heap_give_lock(heap, result);
  return has_room;
}

static bool has(struct hw_heap *heap, const void *block)
{
  enum hwi_lock_result result = hwi_heap_lock(heap);
  bool is_its = heap->libc_blocks.slots && *find(&heap->libc_blocks, word_of(block)) != 0;
  hwi_heap_give_lock(heap, result);
  return is_its;
}

static bool remove_block(struct hw_heap *heap, const void *block)
{
  enum hwi_lock_result result = hwi_heap_lock(heap);
  uintptr_t *slot = heap->libc_blocks.slots ? find(&heap->libc_blocks, word_of(block)) : NULL;
  bool is_its = slot && *slot;
  if (is_its) {
    *slot = GONE;
    heap->libc_blocks.block_count--;
  }
  hwi_heap_give_lock(heap, result);
  return is_its;
}

/* --- blocks --- */

static void *note(struct hw_heap *heap, void *block)
{
  if (!block || add(heap, block))
    return block;
  free(block);
  return NULL;
}

void *hwi_libc_alloc(struct hw_heap *heap, size_t align, size_t bytes, bool is_zeroed)
{
  bytes = bytes ? bytes : 1;
  if (is_zeroed)
    return note(heap, calloc(1, bytes));
  if (align <= HW_HEAP_ALIGN)
    return note(heap, malloc(bytes));
  void *block;
  return note(heap, posix_memalign(&block, align, bytes) == 0 ? block : NULL);
}

/* Of two threads that free the same block, one finds it in the table. */
enum hw_heap_fault hwi_libc_free(struct hw_heap *heap, void *block)
{
  if (!remove_block(heap, block))
    return HW_HEAP_FOREIGN;
  free(block);
  return HW_HEAP_OK;
}

size_t hwi_libc_block_bytes(struct hw_heap *heap, const void *block, enum hw_heap_fault *fault)
{
  bool is_its = has(heap, block);
  *fault = is_its ? HW_HEAP_OK : HW_HEAP_FOREIGN;
  return is_its ? malloc_usable_size((void *)block) : 0;
}

void hwi_libc_each(const struct hw_heap *heap, hw_heap_visit_fn *see, void *context)
{
  const struct hwi_libc_blocks *blocks = &heap->libc_blocks;
  for (size_t i = 0; i < blocks->slot_count; i++) {
    void *block = (void *)~blocks->slots[i];
    if (blocks->slots[i] > GONE && !see(context, block, malloc_usable_size(block)))
      return;
  }
}

static bool free_block(void *context, void *block, size_t bytes)
{
  (void)context, (void)bytes;
  free(block);
  return true;
}

void hwi_libc_free_all(struct hw_heap *heap)
{
  struct hwi_libc_blocks *blocks = &heap->libc_blocks;
  hwi_libc_each(heap, free_block, NULL);
  if (blocks->slots)
    hwi_os_unmap(blocks->slots, blocks->slot_count * sizeof *blocks->slots);
  *blocks = (struct hwi_libc_blocks){0};
}
