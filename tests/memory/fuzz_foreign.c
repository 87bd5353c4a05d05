/* fuzz_foreign.c - heaps of jemalloc and tcmalloc, of which arbitrary words are changed: no crash, no hang, no more blocks than have
 * room
 *
 * The input: a byte that selects the heap, then for each change two bytes with the place of a word, and the word, which is added to
 * what is there.
 */
#include <stdlib.h>

#include "memory/heaps/heap.h"
#include "small_jemalloc.h"
#include "small_tcmalloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static void check_heap(const struct hwi_memory *memory, size_t blocks_most)
{
  struct hwi_core_heap heap;
  struct hwi_error error = {0};
  const int status = hwi_core_heap_find(&heap, memory, &error);
  if (status == HW_ERR_MEMORY || (status < 0 && !error.text[0]) || heap.block_count > blocks_most)
    abort();
  for (size_t i = 1; i < heap.block_count; i++)
    if (heap.blocks[i].address < heap.blocks[i - 1].address)
      abort();
  for (size_t i = 0; i < heap.part_count; i++)
    if (heap.parts[i].understood_bytes > heap.parts[i].system_bytes)
      abort();
  hwi_core_heap_release(&heap);
}

static void change(uint8_t *image, size_t image_bytes, const uint8_t *bytes, size_t count)
{
  enum { CHANGE_BYTES = 10 };
  for (size_t i = 0; i + CHANGE_BYTES <= count; i += CHANGE_BYTES) {
    uint16_t place;
    uint64_t added, word;
    memcpy(&place, bytes + i, sizeof place);
    memcpy(&added, bytes + i + sizeof place, sizeof added);
    uint8_t *at = image + place % (image_bytes / sizeof word) * sizeof word;
    memcpy(&word, at, sizeof word);
    word += added;
    memcpy(at, &word, sizeof word);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
  enum { HEAPS = 3, TCMALLOC = 2, LEAST_BYTES = 8, OF_BASES = 4 };
  static struct small_jemalloc jemalloc;
  static struct small_tcmalloc tcmalloc;
  if (count == 0)
    return 0;
  if (bytes[0] % HEAPS == TCMALLOC) {
    small_tcmalloc_make(&tcmalloc);
    change(tcmalloc.bytes, sizeof tcmalloc.bytes, bytes + 1, count - 1);
    check_heap(&tcmalloc.memory, SMALL_TCMALLOC_BYTES / LEAST_BYTES);
  } else {
    small_jemalloc_make(&jemalloc, bytes[0] % HEAPS);
    change(jemalloc.bytes, sizeof jemalloc.bytes, bytes + 1, count - 1);
    check_heap(&jemalloc.memory, SMALL_JEMALLOC_BYTES / LEAST_BYTES + OF_BASES);
  }
  return 0;
}
