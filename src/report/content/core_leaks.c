/* core_leaks.c - the leaks in a core dump, by stack or type, and by kind */
#include "report/content/core_leaks.h"

#include <stdlib.h>

#include "trace/grow.h"
#include "trace/numbering.h"

const char *const hwi_leak_kind_names[HWI_LEAK_KINDS] = {"direct", "indirect", "cycle"};

/* The blocks of the heap and the events have the same order. The address of an event may be behind the begin of its block: an
 * owner may be in front. */
struct grouping {
  struct hwi_core_leaks *leaks;
  const struct hwi_profile *profile;
  const struct hwi_graph *graph;
  struct hwi_numbering numbers;
  uint32_t block;
  bool failed;
};

static bool is_known(const struct hwi_profile *profile, uint32_t stack)
{
  return hwi_profile_depth(profile, stack) > 0;
}

static struct hwi_core_leak *find(struct grouping *grouping, const struct hwi_core_leak *leak)
{
  struct hwi_core_leaks *leaks = grouping->leaks;
  const uint64_t key = (uint64_t)leak->stack << 2 | leak->kind;
  const uint32_t number =
      hwi_numbering_of(&grouping->numbers, key, is_known(grouping->profile, leak->stack) ? 0 : leak->block_bytes);
  if (!number || !hwi_grow((void **)&leaks->list, &leaks->capacity, number, sizeof *leak))
    return NULL;
  if (number > leaks->count) {
    leaks->count = number;
    leaks->list[number - 1] = *leak;
  }
  return &leaks->list[number - 1];
}

static bool ends_before(const struct hwi_core_block *block, uint64_t address)
{
  return block->address < address && address - block->address >= hwi_core_block_bytes(block);
}

static void add(struct hwi_core_heap_sum *sum, uint64_t bytes)
{
  sum->blocks++;
  sum->bytes += bytes;
}

static bool take(void *context, const struct hwi_block_event *event)
{
  struct grouping *grouping = context;
  const struct hwi_core_heap *heap = grouping->graph->heap;
  if (event->kind != HWI_BLOCK_ALLOC)
    return true;
  while (grouping->block < heap->block_count && ends_before(&heap->blocks[grouping->block], event->address))
    grouping->block++;
  if (grouping->block == heap->block_count)
    return false;
  struct hwi_core_leak *leak =
      find(grouping, &(struct hwi_core_leak){.stack = event->stack,
                                             .kind = hwi_graph_leak_kind(grouping->graph, grouping->block),
                                             .block_bytes = event->size,
                                             .address = event->address});
  grouping->failed = !leak;
  if (!leak)
    return false;
  leak->blocks++;
  leak->bytes += event->size;
  add(&grouping->leaks->sums[leak->kind], event->size);
  add(&grouping->leaks->all, event->size);
  if (leak->block_bytes != event->size)
    leak->block_bytes = 0;
  return true;
}

/* The order must be the same each time. */
static int compare(const void *a, const void *b)
{
  const struct hwi_core_leak *x = a, *y = b;
  if (x->bytes != y->bytes)
    return x->bytes < y->bytes ? 1 : -1;
  return x->address < y->address ? -1 : x->address > y->address;
}

int hwi_core_leaks_group(struct hwi_core_leaks *leaks, const struct hwi_report *report, struct hwi_error *error)
{
  struct grouping grouping = {.leaks = leaks, .profile = report->profile, .graph = report->core->graph};
  const struct hwi_block_sink sink = {.take = take, .context = &grouping};
  *leaks = (struct hwi_core_leaks){0};
  int status = report->replayer.run(report->replayer.context, &sink, error);
  hwi_numbering_release(&grouping.numbers);
  if (grouping.failed)
    status = hwi_error_set(error, HW_ERR_MEMORY, "no memory for the groups of leaks");
  if (leaks->count)
    qsort(leaks->list, leaks->count, sizeof *leaks->list, compare);
  if (status < 0)
    hwi_core_leaks_release(leaks);
  return status;
}

void hwi_core_leaks_release(struct hwi_core_leaks *leaks)
{
  free(leaks->list);
  *leaks = (struct hwi_core_leaks){0};
}
