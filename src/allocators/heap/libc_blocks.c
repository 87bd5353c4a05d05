/* libc_blocks.c - a general heap whose blocks are malloc's, so that valgrind and the sanitizers see each of them
 *
 * The map has the heap of each block: a tree by the bits of the block's address. Its nodes are never unmapped, so
 * that it needs no lock: free of the process takes a block out of its heap here, and must not wait while another
 * thread forks.
 *
 * A heap also lists its blocks, which it frees when it is destroyed, in a hash table with open addressing, which has
 * the heap's lock. The table may have blocks that are no longer in the map: these are gone. It has the addresses
 * inverted, and the map has none: a checker that looks for leaks must not find the blocks there. Malloc and free are
 * called without the lock.
 */
#define _GNU_SOURCE
#include "allocators/heap/libc_blocks.h"
#include "allocators/heap/config.h"
#include "allocators/heap/heap_lock.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "platform/os.h"

enum { FIRST_SLOTS = 4096 };

bool hwi_libc_is_wanted(hwi_value_fn *value_of)
{
  return hwi_flag_read(value_of, HWI_HEAP_LIBC_VARIABLE, false);
}

/* --- the map --- */

enum {
  NODE_BITS = sizeof(uintptr_t) == 8 ? 9 : 10,
  LEVELS = sizeof(uintptr_t) == 8 ? 5 : 3, /* for addresses of 48 or 32 bits */
};

struct node {
  uintptr_t words[1 << NODE_BITS]; /* nodes of the next level; on the last one, heaps */
};

static struct node root;

/* Returns NULL if there is none, or, if it is to be made, no memory. */
static struct node *next_node(uintptr_t *word, bool makes)
{
  uintptr_t found = __atomic_load_n(word, __ATOMIC_ACQUIRE);
  struct node *made = found || !makes ? NULL : (struct node *)hwi_os_map(sizeof *made);
  if (!made)
    return (struct node *)found;
  if (__atomic_compare_exchange_n(word, &found, (uintptr_t)made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    return made;
  hwi_os_unmap(made, sizeof *made);
  return (struct node *)found;
}

/* Returns where the heap of a block is, or NULL as above. No block begins within a granule. */
static uintptr_t *find_heap(const void *block, bool makes)
{
  struct node *node = (uintptr_t)block % HW_HEAP_ALIGN ? NULL : &root;
  for (unsigned shift = HWI_GRANULE_BITS + (LEVELS - 1) * NODE_BITS; node; shift -= NODE_BITS) {
    uintptr_t *word = &node->words[(uintptr_t)block >> shift & ((1 << NODE_BITS) - 1)];
    if (shift == HWI_GRANULE_BITS)
      return word;
    node = next_node(word, makes);
  }
  return NULL;
}

bool hwi_libc_is_of_heap(const void *block)
{
  const uintptr_t *word = find_heap(block, false);
  return word && __atomic_load_n(word, __ATOMIC_ACQUIRE) != 0;
}

void hwi_libc_forget(const void *block)
{
  uintptr_t *word = find_heap(block, false);
  if (word)
    __atomic_store_n(word, 0, __ATOMIC_RELEASE);
}

static bool has(const struct hw_heap *heap, const void *block)
{
  const uintptr_t *word = find_heap(block, false);
  return word && __atomic_load_n(word, __ATOMIC_ACQUIRE) == (uintptr_t)heap;
}

/* Of two threads that free the same block, one gets it. */
static bool take(const struct hw_heap *heap, const void *block)
{
  uintptr_t *word = find_heap(block, false), its = (uintptr_t)heap;
  return word && __atomic_compare_exchange_n(word, &its, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* --- the table: with the lock --- */

static uintptr_t word_of(const void *block)
{
  return ~(uintptr_t)block;
}

static void *block_of(const struct hwi_libc_slot *slot)
{
  return (void *)~slot->word;
}

static bool is_live(const struct hw_heap *heap, const struct hwi_libc_slot *slot)
{
  return slot->word && has(heap, block_of(slot));
}

/* Returns the slot of a word, or the free one where the search for it ends. */
static struct hwi_libc_slot *find(const struct hwi_libc_blocks *blocks, uintptr_t word)
{
  size_t i = (word >> HWI_GRANULE_BITS) * 0x9e3779b97f4a7c15u >> 32;
  for (;; i++) {
    struct hwi_libc_slot *slot = &blocks->slots[i & (blocks->slot_count - 1)];
    if (slot->word == word || slot->word == 0)
      return slot;
  }
}

static void put(struct hwi_libc_blocks *blocks, uintptr_t word, size_t bytes)
{
  struct hwi_libc_slot *slot = find(blocks, word);
  blocks->used_count += slot->word == 0;
  *slot = (struct hwi_libc_slot){word, bytes};
}

/* Twice as large as the blocks need, and without those that are gone. */
static bool make_room(struct hw_heap *heap)
{
  struct hwi_libc_blocks *blocks = &heap->libc_blocks, larger = {.slot_count = FIRST_SLOTS};
  size_t live_count = 0;
  for (size_t i = 0; i < blocks->slot_count; i++)
    live_count += is_live(heap, &blocks->slots[i]);
  while (larger.slot_count < 4 * live_count)
    larger.slot_count *= 2;
  larger.slots = (struct hwi_libc_slot *)hwi_os_map(larger.slot_count * sizeof *larger.slots);
  if (!larger.slots)
    return false;
  for (size_t i = 0; i < blocks->slot_count; i++)
    if (is_live(heap, &blocks->slots[i]))
      put(&larger, blocks->slots[i].word, blocks->slots[i].bytes);
  if (blocks->slots)
    hwi_os_unmap(blocks->slots, blocks->slot_count * sizeof *blocks->slots);
  *blocks = larger;
  return true;
}

static bool list(struct hw_heap *heap, void *block)
{
  struct hwi_libc_blocks *blocks = &heap->libc_blocks;
  size_t bytes = malloc_usable_size(block);
  enum hwi_lock_result result = hwi_heap_lock(heap);
  bool has_room = 2 * blocks->used_count < blocks->slot_count || make_room(heap);
  if (has_room)
    put(blocks, word_of(block), bytes);
  hwi_heap_give_lock(heap, result);
  return has_room;
}

/* --- blocks --- */

/* It is in the map first: otherwise the table may lose it when another thread makes room. */
static void *note(struct hw_heap *heap, void *block)
{
  uintptr_t *word = block ? find_heap(block, true) : NULL;
  if (word) {
    __atomic_store_n(word, (uintptr_t)heap, __ATOMIC_RELEASE);
    if (list(heap, block))
      return block;
    __atomic_store_n(word, 0, __ATOMIC_RELEASE);
  }
  free(block);
  return NULL;
}

static void *alloc(struct hw_heap *heap, size_t align, size_t bytes, bool is_zeroed)
{
  if (align <= HW_HEAP_ALIGN) {
    void *block = is_zeroed ? calloc(1, bytes) : malloc(bytes);
    if ((uintptr_t)block % HW_HEAP_ALIGN == 0)
      return note(heap, block);
    free(block); /* some have blocks of 8 bytes, or align all to 8 */
  }
  void *block;
  if (posix_memalign(&block, align > HW_HEAP_ALIGN ? align : HW_HEAP_ALIGN, bytes) != 0)
    return NULL;
  return note(heap, is_zeroed ? memset(block, 0, bytes) : block);
}

void *hwi_libc_alloc(struct hw_heap *heap, size_t align, size_t bytes, bool is_zeroed)
{
  int before = errno;
  void *block = alloc(heap, align, bytes ? bytes : 1, is_zeroed);
  errno = before;
  return block;
}

enum hw_heap_fault hwi_libc_free(struct hw_heap *heap, void *block)
{
  if (!take(heap, block))
    return HW_HEAP_FOREIGN;
  free(block);
  return HW_HEAP_OK;
}

size_t hwi_libc_block_bytes(const struct hw_heap *heap, void *block, enum hw_heap_fault *fault)
{
  bool is_its = has(heap, block);
  *fault = is_its ? HW_HEAP_OK : HW_HEAP_FOREIGN;
  return is_its ? malloc_usable_size(block) : 0;
}

void hwi_libc_each(const struct hw_heap *heap, hw_heap_visit_fn *see, void *context)
{
  const struct hwi_libc_blocks *blocks = &heap->libc_blocks;
  for (size_t i = 0; i < blocks->slot_count; i++) {
    const struct hwi_libc_slot *slot = &blocks->slots[i];
    if (is_live(heap, slot) && !see(context, block_of(slot), slot->bytes))
      return;
  }
}

static bool free_block(void *heap, void *block, size_t bytes)
{
  (void)bytes;
  hwi_libc_free((struct hw_heap *)heap, block);
  return true;
}

void hwi_libc_free_all(struct hw_heap *heap)
{
  struct hwi_libc_blocks *blocks = &heap->libc_blocks;
  hwi_libc_each(heap, free_block, heap);
  if (blocks->slots)
    hwi_os_unmap(blocks->slots, blocks->slot_count * sizeof *blocks->slots);
  *blocks = (struct hwi_libc_blocks){0};
}
