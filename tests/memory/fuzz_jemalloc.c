/* fuzz_jemalloc.c - a heap of jemalloc, of which arbitrary words are changed: no crash, no hang, no more blocks than have room
 *
 * The input: a byte with the shape of the tree, then for each change two bytes with the place of a word, and the word, which is
 * added to what is there.
 */
#include <stdlib.h>

#include "memory/heaps/heap.h"
#include "small_jemalloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static void check_heap(const struct hwi_memory *memory)
{
  struct hwi_core_heap heap;
  struct hwi_error error = {0};
  const int status = hwi_core_heap_find(&heap, memory, &error);
  if (status == HW_ERR_MEMORY || (status < 0 && !error.text[0]) || heap.block_count > SMALL_JEMALLOC_BYTES / 8 + 4)
    abort();
  for (size_t i = 1; i < heap.block_count; i++)
    if (heap.blocks[i].address < heap.blocks[i - 1].address)
      abort();
  for (size_t i = 0; i < heap.part_count; i++)
    if (heap.parts[i].understood_bytes > heap.parts[i].system_bytes)
      abort();
  hwi_core_heap_release(&heap);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
  enum { CHANGE_BYTES = 10 };
  static struct small_jemalloc small;
  if (count == 0)
    return 0;
  small_jemalloc_make(&small, bytes[0] & 1);
  for (size_t i = 1; i + CHANGE_BYTES <= count; i += CHANGE_BYTES) {
    uint16_t place;
    uint64_t change, word;
    memcpy(&place, bytes + i, sizeof place);
    memcpy(&change, bytes + i + sizeof place, sizeof change);
    uint8_t *at = small.bytes + place % (SMALL_JEMALLOC_BYTES / sizeof word) * sizeof word;
    memcpy(&word, at, sizeof word);
    word += change;
    memcpy(at, &word, sizeof word);
  }
  check_heap(&small.memory);
  return 0;
}
