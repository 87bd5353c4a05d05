/* cmd_core.c - heapwright core: the heap of a core dump */
#include <inttypes.h>

#include "cli/command.h"
#include "memory/heaps/heap.h"
#include "memory/image/core_file.h"
#include "report/words/number.h"

struct values {
  int format;
};

static const struct values defaults = {0};

static const struct hwi_option options[] = {
    {.name = NULL},
};

static int run(const void *given, int word_count, char **words)
{
  (void)given;
  static const char *const states[] = {"live", "own", "free", "cached", "top"};
  struct hwi_memory memory;
  struct hwi_heap heap;
  struct hwi_error error = {0};
  if (hwi_core_file_open(&memory, words[word_count - 1], &error) < 0)
    return hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text);
  if (hwi_heap_find(&heap, &memory, &error) < 0)
    return hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text);
  for (size_t i = 0; i < heap.part_count; i++) {
    const struct hwi_heap_part *part = &heap.parts[i];
    printf("%-24s system %" PRIu64 " understood %" PRIu64 " residue %" PRId64 "\n", part->name, part->system_bytes,
           part->understood_bytes, (int64_t)(part->system_bytes - part->understood_bytes));
    for (int s = 0; s < HWI_BLOCK_STATES; s++)
      printf("  %-8s %10" PRIu64 " blocks %14" PRIu64 " bytes\n", states[s], part->sums[s].blocks, part->sums[s].bytes);
  }
  for (size_t i = 0; i < heap.damage_count && i < HWI_DAMAGES_MAX; i++)
    printf("%#" PRIx64 ": %s\n", heap.damages[i].address, heap.damages[i].text);
  hwi_heap_release(&heap);
  hwi_memory_close(&memory);
  return 0;
}

const struct hwi_command hwi_command_core = {
    .name = "core",
    .summary = "the heap of a core dump, of a process or of an image of memory",
    .usage = "[options] PROGRAM CORE",
    .details = "",
    .options = options,
    .defaults = &defaults,
    .values_bytes = sizeof defaults,
    .usage_status = HWI_EXIT_TROUBLE,
    .run = run,
};
