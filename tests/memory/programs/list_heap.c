/* list_heap.c - for the tests: prints the parts and the blocks of a heap
 *
 *   list_heap core FILE
 *
 * A line "part SYSTEM UNDERSTOOD NAME" for each part, "damage ADDRESS TEXT", "STATE ADDRESS USABLE" for each block.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory/heaps/heap.h"
#include "memory/image/core_file.h"

static const char *const states[] = {"live", "own", "free", "cached", "top"};

static int open_memory(struct hwi_memory *memory, char **words, struct hwi_error *error)
{
  if (strcmp(words[1], "core") == 0)
    return hwi_core_file_open(memory, words[2], error);
  return hwi_error_set(error, HW_ERR_USAGE, "%s is not known", words[1]);
}

int main(int count, char **words)
{
  static struct hwi_memory memory;
  static struct hwi_core_heap heap;
  struct hwi_error error = {0};
  if (count != 3 || open_memory(&memory, words, &error) < 0 || hwi_core_heap_find(&heap, &memory, &error) < 0) {
    fprintf(stderr, "%s\n", error.text);
    return 1;
  }
  for (size_t i = 0; i < heap.part_count; i++)
    printf("part %" PRIu64 " %" PRIu64 " %s\n", heap.parts[i].system_bytes, heap.parts[i].understood_bytes,
           heap.parts[i].name);
  for (size_t i = 0; i < heap.damage_count && i < HWI_DAMAGES_MAX; i++)
    printf("damage %#" PRIx64 " %s\n", heap.damages[i].address, heap.damages[i].text);
  for (size_t i = 0; i < heap.block_count; i++)
    printf("%s %#" PRIx64 " %" PRIu64 "\n", states[hwi_core_block_state(&heap.blocks[i])], heap.blocks[i].address,
           hwi_core_block_bytes(&heap.blocks[i]));
  hwi_core_heap_release(&heap);
  hwi_memory_close(&memory);
  return 0;
}
