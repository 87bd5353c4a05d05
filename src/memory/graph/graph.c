/* graph.c - the roots of a process's memory, and what is needed to follow references from them
 *
 * Everything that is known and in no block is a root, except for the allocator's own structures, for those of the recorder, and for
 * what is below a stack pointer: an arena's lists have the addresses of the headers of free chunks, which are in the block before. Memory of files
 * that cannot be written has no references to the heap. The words between two blocks are headers, which have none either.
 */
#include "memory/graph/graph.h"

#include <stdlib.h>

#include "memory/graph/recorder_ranges.h"
#include "trace/grow.h"
#include "trace/table.h"

enum {
  HEADER_WORDS = 2,          /* not more of them are between blocks */
  DESCRIPTOR_SEARCH = 16384, /* bytes at the end of a region */
  DESCRIPTOR_ALIGNMENT = 16,
};

struct range {
  uint64_t begin, end;
};

/* While roots are found. */
struct search {
  struct hwi_graph *graph;
  struct range *own; /* the allocator's structures, and the recorder's, sorted */
  size_t own_count, own_capacity;
  const struct hwi_region *region;
  uint64_t stack_pointer; /* the lowest one in the region, or 0 */
  bool failed;
};

/* --- what is cut off --- */

static void add(struct search *search, uint64_t begin, uint64_t end, bool is_below)
{
  struct hwi_graph *graph = search->graph;
  if (end <= begin)
    return;
  if (!hwi_grow((void **)&graph->roots, &graph->root_capacity, graph->root_count + 1, sizeof *graph->roots)) {
    search->failed = true;
    return;
  }
  graph->roots[graph->root_count++] =
      (struct hwi_stretch){begin, search->region->bytes + (begin - search->region->begin), end - begin, is_below};
}

static void add_above_and_below(struct search *search, uint64_t begin, uint64_t end)
{
  const uint64_t pointer = search->stack_pointer;
  if (pointer <= begin) {
    add(search, begin, end, false);
  } else {
    add(search, begin, pointer < end ? pointer : end, true);
    add(search, pointer, end, false);
  }
}

static void add_without_own(struct search *search, uint64_t begin, uint64_t end)
{
  size_t low = 0, high = search->own_count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (search->own[middle].end <= begin)
      low = middle + 1;
    else
      high = middle;
  }
  for (; low < search->own_count && search->own[low].begin < end; low++) {
    add_above_and_below(search, begin, search->own[low].begin);
    begin = search->own[low].end > begin ? search->own[low].end : begin;
  }
  if (begin < end)
    add_above_and_below(search, begin, end);
}

static size_t first_block_from(const struct hwi_core_heap *heap, uint64_t address)
{
  size_t low = 0, high = heap->block_count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (hwi_core_block_end(&heap->blocks[middle]) <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static void search_region(struct search *search)
{
  const struct hwi_core_heap *heap = search->graph->heap;
  const struct hwi_region *region = search->region;
  const uint64_t end = region->begin + region->known, least = (HEADER_WORDS + 1) * search->graph->memory->word_bytes;
  uint64_t at = region->begin;
  for (size_t i = first_block_from(heap, at); i < heap->block_count && heap->blocks[i].address < end; i++) {
    const struct hwi_core_block *block = &heap->blocks[i];
    if (block->address > at && block->address - at >= least)
      add_without_own(search, at, block->address);
    if (hwi_core_block_end(block) > at)
      at = hwi_core_block_end(block);
  }
  if (at < end)
    add_without_own(search, at, end);
}

/* --- stacks --- */

/* A stack pointer in a block, or in data of a module, is that of a stack which the program made itself: how far down it
 * reaches is not known. */
static bool is_stack(const struct hwi_graph *graph, const struct hwi_region *region, uint64_t pointer)
{
  const struct hwi_index_span *span = NULL;
  return region && !region->file && !hwi_region_is_behind_file(graph->memory, region) &&
         hwi_block_index_find(&graph->index, &span, pointer) == HWI_NO_BLOCK;
}

/* Returns for each region the lowest stack pointer in it, or 0. The caller frees the list. Returns NULL if there is no memory. */
static uint64_t *find_stack_pointers(const struct hwi_graph *graph)
{
  const struct hwi_memory *memory = graph->memory;
  uint64_t *pointers = calloc(memory->region_count + 1, sizeof *pointers);
  for (size_t i = 0; pointers && i < memory->thread_count; i++) {
    const uint64_t pointer = memory->threads[i].stack_pointer & ~(uint64_t)(memory->word_bytes - 1);
    const struct hwi_region *region = hwi_memory_region(memory, pointer);
    if (!is_stack(graph, region, pointer))
      continue;
    uint64_t *lowest = &pointers[region - memory->regions];
    if (*lowest == 0 || pointer < *lowest)
      *lowest = pointer;
  }
  return pointers;
}

static bool begins_with_itself(const struct hwi_memory *memory, const struct hwi_machine *machine, uint64_t address)
{
  const unsigned word = memory->word_bytes;
  struct hwi_memory_reader reader = {.memory = memory};
  uint64_t itself, vector, again;
  return hwi_memory_word(&reader, address, &itself) && itself == address &&
         hwi_memory_word(&reader, address + machine->descriptor_vector * word, &vector) &&
         hwi_memory_word(&reader, address + machine->descriptor_itself * word, &again) && again == address &&
         hwi_memory_region(memory, vector);
}

/* A thread without robust mutexes: the list of them is empty, and refers to itself. */
static bool has_no_robust(const struct hwi_memory *memory, const struct hwi_machine *machine, uint64_t address)
{
  const uint64_t at = address + (uint64_t)machine->descriptor_robust * memory->word_bytes;
  struct hwi_memory_reader reader = {.memory = memory};
  uint64_t last, first;
  return hwi_memory_word(&reader, at, &first) && first == at &&
         hwi_memory_word(&reader, at - memory->word_bytes, &last) && last == at;
}

static bool is_descriptor(const struct hwi_graph *graph, const struct hwi_machine *machine, uint64_t address)
{
  const struct hwi_memory *memory = graph->memory;
  return (machine->descriptor_robust ? has_no_robust(memory, machine, address)
                                     : begins_with_itself(memory, machine, address)) &&
         is_stack(graph, hwi_memory_region(memory, address), address);
}

/* The C library keeps the stack of a thread that has ended, for the next thread. At its end is the description of the thread.
 * Returns where the stack ends, or 0: the description has blocks of the library. */
static uint64_t end_of_kept_stack(const struct hwi_graph *graph, const struct hwi_region *region)
{
  const uint64_t end = region->begin + region->known;
  const uint64_t first = region->known > DESCRIPTOR_SEARCH ? end - DESCRIPTOR_SEARCH : region->begin;
  const struct hwi_machine *machine = graph->memory->threads[0].machine;
  if (region->file || !region->is_writable || !machine || !(machine->descriptor_itself || machine->descriptor_robust))
    return 0;
  for (uint64_t at = end / DESCRIPTOR_ALIGNMENT * DESCRIPTOR_ALIGNMENT; at > first; at -= DESCRIPTOR_ALIGNMENT)
    if (is_descriptor(graph, machine, at))
      return at;
  return 0;
}

/* All of such a stack is below the stack pointer that is not there any more. Without any thread, those of all threads would look
 * like that. */
static void add_kept_stacks(const struct hwi_graph *graph, uint64_t *pointers)
{
  const struct hwi_memory *memory = graph->memory;
  enum { IS_OF_THREAD = 1 };
  for (size_t i = 0; i < memory->thread_count; i++) {
    const struct hwi_region *region = hwi_memory_region(memory, memory->threads[i].thread_pointer);
    if (region && !pointers[region - memory->regions])
      pointers[region - memory->regions] = IS_OF_THREAD;
  }
  for (size_t i = 0; i < memory->region_count && memory->thread_count; i++)
    if (!pointers[i])
      pointers[i] = end_of_kept_stack(graph, &memory->regions[i]);
}

/* --- all --- */

static int compare(const void *a, const void *b)
{
  const struct range *x = a, *y = b;
  return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static bool add_own(void *context, uint64_t begin, uint64_t end)
{
  struct search *search = context;
  if (!hwi_grow((void **)&search->own, &search->own_capacity, search->own_count + 1, sizeof *search->own))
    search->failed = true;
  else
    search->own[search->own_count++] = (struct range){begin, end};
  return !search->failed;
}

static void find_own(struct search *search)
{
  const struct hwi_core_heap *heap = search->graph->heap;
  for (size_t i = 0; i < heap->part_count && !search->failed; i++)
    if (heap->parts[i].own_bytes)
      add_own(search, heap->parts[i].address, heap->parts[i].address + heap->parts[i].own_bytes);
  for (size_t i = 0; i < heap->own_count && !search->failed; i++)
    add_own(search, heap->own[i].begin, heap->own[i].end);
  hwi_recorder_ranges(search->graph->memory, add_own, search);
  if (search->own_count)
    qsort(search->own, search->own_count, sizeof *search->own, compare);
}

static bool find_roots(struct hwi_graph *graph)
{
  const struct hwi_memory *memory = graph->memory;
  struct search search = {.graph = graph};
  uint64_t *pointers = find_stack_pointers(graph);
  search.failed = !pointers;
  find_own(&search);
  if (!search.failed)
    add_kept_stacks(graph, pointers);
  for (size_t i = 0; i < memory->region_count && !search.failed; i++) {
    const struct hwi_region *region = &memory->regions[i];
    search.region = region;
    search.stack_pointer = pointers[i];
    if (region->is_writable && !memory->rest_is_zero)
      graph->unknown_bytes += region->end - region->begin - region->known;
    if (region->is_writable || !region->file)
      search_region(&search);
  }
  free(pointers);
  free(search.own);
  return !search.failed;
}

int hwi_graph_open(struct hwi_graph *graph, const struct hwi_memory *memory, const struct hwi_core_heap *heap,
                   struct hwi_error *error)
{
  *graph = (struct hwi_graph){.memory = memory, .heap = heap};
  const int status = hwi_block_index_init(&graph->index, heap, error);
  if (status < 0)
    return status;
  graph->marks = hwi_table_calloc(heap->block_count + 1, sizeof *graph->marks);
  graph->queue = hwi_table_calloc(heap->block_count + 1, sizeof *graph->queue);
  graph->sorting = hwi_table_calloc(heap->block_count / 64 + 1, sizeof *graph->sorting);
  if (graph->marks && graph->queue && graph->sorting && find_roots(graph))
    return 0;
  hwi_graph_close(graph);
  return hwi_error_set(error, HW_ERR_MEMORY,
                       "no memory to follow the references between %zu blocks; use a larger machine",
                       heap->block_count);
}

void hwi_graph_close(struct hwi_graph *graph)
{
  hwi_block_index_release(&graph->index);
  free(graph->roots);
  free(graph->marks);
  free(graph->queue);
  free(graph->sorting);
  *graph = (struct hwi_graph){0};
}
