/* list_heap.c - for the tests: prints the parts and the blocks of a heap
 *
 *   list_heap core FILE | stored MATCH | process PID | running PID | raw WORD[b]:BASE:FILE...
 *
 * A line "read STOP_NS COPIED THREADS" for a process, "note FILTER BYTES TEXT" for what is left out, "part SYSTEM UNDERSTOOD NAME" for each part, "damage ADDRESS TEXT", "STATE ADDRESS USABLE" for each block.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory/heaps/heap.h"
#include "memory/image/core_file.h"
#include "memory/image/process.h"
#include "memory/image/raw.h"

static const char *const states[] = {"live", "own", "free", "cached", "top"};

static int open_raw(struct hwi_memory *memory, char **words, struct hwi_error *error)
{
  struct hwi_raw_map maps[HWI_RAW_MAPS_MAX];
  struct hwi_raw_image image = {.maps = maps};
  for (; *words; words++) {
    char *at;
    image.word_bits = (unsigned)strtoul(*words, &at, 10);
    image.is_big_endian = *at == 'b';
    maps[image.map_count].base = strtoull(strchr(at, ':') + 1, &at, 16);
    maps[image.map_count++].path = at + 1;
  }
  return hwi_raw_open(memory, &image, error);
}

static int open_memory(struct hwi_memory *memory, char **words, struct hwi_error *error)
{
  if (strcmp(words[1], "core") == 0)
    return hwi_core_file_open(memory, words[2], error);
  if (strcmp(words[1], "stored") == 0)
    return hwi_core_file_open_stored(memory, words[2], error);
  if (strcmp(words[1], "raw") == 0)
    return open_raw(memory, words + 2, error);
  struct hwi_process_read done;
  const struct hwi_process_options options = {.no_stop = strcmp(words[1], "running") == 0};
  if (options.no_stop || strcmp(words[1], "process") == 0) {
    const int status = hwi_process_open(memory, (uint32_t)strtoul(words[2], NULL, 10), &options, &done, error);
    if (status == 0)
      printf("read %" PRIu64 " %" PRIu64 " %zu\n", done.stop_ns, done.copied_bytes, memory->thread_count);
    return status;
  }
  return hwi_error_set(error, HW_ERR_USAGE, "%s is not known", words[1]);
}

int main(int count, char **words)
{
  static struct hwi_memory memory;
  static struct hwi_core_heap heap;
  struct hwi_error error = {0};
  if (count < 3 || open_memory(&memory, words, &error) < 0 || hwi_core_heap_find(&heap, &memory, &error) < 0) {
    fprintf(stderr, "%s\n", error.text);
    return 1;
  }
  for (size_t i = 0; i < memory.note_count; i++)
    printf("note %#x %" PRIu64 " %s\n", memory.notes[i].filter, memory.notes[i].bytes, memory.notes[i].text);
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
