/* core_around.c - what is around an address in a core dump: for a crash */
#include "report/content/core_around.h"

#include "memory/heaps/annotate.h"
#include "memory/heaps/glibc.h"

enum {
  BLOCKS_EACH_WAY = 4,
  A_FEW_BYTES = 64,  /* behind a block */
  POISON_SHIFT = 16, /* an address in memory that poison refers to: what is added to it is below */
  LEAST_TEXT = 4,    /* characters */
};

/* --- words in registers --- */

static bool is_text(const struct hwi_memory *memory, uint64_t word)
{
  for (unsigned i = 0; i < memory->word_bytes; i++, word >>= 8)
    if ((word & 0xff) < ' ' || (word & 0xff) > '~')
      return false;
  return true;
}

static bool is_poison(const struct hwi_memory *memory, uint64_t word)
{
  const uint64_t poison =
      HWI_ANNOTATE_POISON * (memory->word_bytes == sizeof word ? UINT64_C(0x0101010101010101) : 0x01010101);
  return word >> POISON_SHIFT == poison >> POISON_SHIFT;
}

/* --- blocks --- */

/* Returns the block that ends at the address or a few bytes before it, or HWI_NO_BLOCK. */
static uint32_t block_behind_which(const struct hwi_core_heap *heap, uint64_t address)
{
  const uint32_t next = (uint32_t)hwi_core_heap_first_behind(heap, address);
  const uint64_t end = next ? hwi_core_block_end(&heap->blocks[next - 1]) : 0;
  return next && address >= end && address - end < A_FEW_BYTES ? next - 1 : HWI_NO_BLOCK;
}

static bool sort_register(const struct hwi_graph *graph, struct hwi_around_register *found)
{
  const struct hwi_index_span *span = NULL;
  found->block = hwi_block_index_find(&graph->index, &span, found->value);
  if (found->block != HWI_NO_BLOCK) {
    found->kind = HWI_AROUND_IN_BLOCK;
    return true;
  }
  found->block = block_behind_which(graph->heap, found->value);
  if (found->block != HWI_NO_BLOCK) {
    found->kind = HWI_AROUND_BEHIND_BLOCK;
    return true;
  }
  const bool is_of_poison = is_poison(graph->memory, found->value);
  found->kind = is_of_poison ? HWI_AROUND_POISON : HWI_AROUND_TEXT;
  return is_of_poison || is_text(graph->memory, found->value);
}

/* Blocks of other regions are not near. */
static void find_blocks(struct hwi_core_around *around, const struct hwi_graph *graph)
{
  const struct hwi_core_heap *heap = graph->heap;
  const struct hwi_region *region = hwi_memory_region(graph->memory, around->place.address);
  const uint32_t middle = (uint32_t)hwi_core_heap_first_behind(heap, around->place.address);
  around->first = around->end = middle;
  while (region && around->first > 0 && heap->blocks[around->first - 1].address >= region->begin &&
         middle - around->first < BLOCKS_EACH_WAY + (around->place.block != HWI_NO_BLOCK))
    around->first--;
  while (region && around->end < heap->block_count && heap->blocks[around->end].address < region->end &&
         around->end - middle < BLOCKS_EACH_WAY)
    around->end++;
}

/* --- damage --- */

static uint32_t suspect_of(const struct hwi_core_heap *heap, const struct hwi_damage *damage)
{
  uint32_t next = (uint32_t)hwi_core_heap_first_behind(heap, damage->address);
  if (next && heap->blocks[next - 1].address == damage->address) /* the block whose header was written over */
    next--;
  return damage->is_overrun && next ? next - 1 : HWI_NO_BLOCK;
}

/* Keeps the order of addresses. */
static void insert_damage(struct hwi_core_around *around, const struct hwi_damage *damage, uint32_t suspect)
{
  size_t at = around->damage_count++;
  for (; at > 0 && around->damages[at - 1].damage->address > damage->address; at--)
    around->damages[at] = around->damages[at - 1];
  around->damages[at] = (struct hwi_around_damage){damage, suspect};
}

static void find_damages(struct hwi_core_around *around, const struct hwi_core_heap *heap)
{
  if (around->first == around->end)
    return;
  const uint64_t begin = heap->blocks[around->first].address - A_FEW_BYTES;
  const uint64_t end = hwi_core_block_end(&heap->blocks[around->end - 1]) + A_FEW_BYTES;
  for (size_t i = 0; i < heap->damage_count && i < HWI_DAMAGES_MAX; i++)
    if (heap->damages[i].address >= begin && heap->damages[i].address < end &&
        around->damage_count < HWI_AROUND_DAMAGES_MAX)
      insert_damage(around, &heap->damages[i], suspect_of(heap, &heap->damages[i]));
}

/* --- registers --- */

static const char *list_of(const struct hwi_graph *graph, uint32_t block)
{
  const struct hwi_core_heap *heap = graph->heap;
  return heap->owners && heap->owners[block].is_known ? "the freed blocks that libheapwright-annotate keeps"
                                                      : hwi_glibc_list_of(graph->memory, &heap->blocks[block]);
}

static bool is_freed(const struct hwi_graph *graph, uint32_t block)
{
  return hwi_core_block_is_free(&graph->heap->blocks[block]);
}

/* Several registers usually refer to one block. */
static const char *list_of_register(const struct hwi_core_around *around, const struct hwi_graph *graph,
                                    const struct hwi_around_register *found)
{
  if (found->kind != HWI_AROUND_IN_BLOCK || !is_freed(graph, found->block))
    return NULL;
  for (size_t i = 0; i < around->register_count; i++)
    if (around->registers[i].kind == HWI_AROUND_IN_BLOCK && around->registers[i].block == found->block)
      return around->registers[i].list;
  return list_of(graph, found->block);
}

static void find_registers(struct hwi_core_around *around, const struct hwi_graph *graph)
{
  const struct hwi_memory *memory = graph->memory;
  for (unsigned reg = 0; memory->thread_count && reg < memory->threads[0].register_count; reg++) {
    struct hwi_around_register found = {.reg = reg, .value = memory->threads[0].registers[reg]};
    if (!sort_register(graph, &found))
      continue;
    found.list = list_of_register(around, graph, &found);
    around->is_from_freed |= memory->has_fault && found.kind == HWI_AROUND_IN_BLOCK && is_freed(graph, found.block);
    around->registers[around->register_count++] = found;
  }
}

/* --- all --- */

/* Where the address of the crash comes from, if it is in a register or in the stack. */
static void find_source(struct hwi_core_around *around, const struct hwi_graph *graph)
{
  const struct hwi_core_crash *crash = &around->crash;
  around->is_found = crash->source == HWI_CRASH_FROM_REGISTER || crash->source == HWI_CRASH_FROM_STACK;
  if (crash->source == HWI_CRASH_FROM_STACK)
    hwi_graph_place(graph, crash->at, &around->from);
  else
    around->from = (struct hwi_core_place){.kind = HWI_CORE_PLACE_REGISTER, .reg = crash->reg, .block = HWI_NO_BLOCK};
}

void hwi_core_around_find(struct hwi_core_around *around, const struct hwi_core_question *question, uint64_t address)
{
  const struct hwi_graph *graph = question->graph;
  *around = (struct hwi_core_around){.behind = HWI_NO_BLOCK, .is_poison = is_poison(graph->memory, address)};
  hwi_graph_place(graph, address, &around->place);
  hwi_core_crash_find(&around->crash, &question->names);
  around->is_fault = around->crash.source == HWI_CRASH_FROM_ACCESS && around->crash.address == address;
  if (question->is_about_crash)
    find_source(around, graph);
  if (around->place.block == HWI_NO_BLOCK)
    around->behind = block_behind_which(graph->heap, address);
  else
    around->is_freed = is_freed(graph, around->place.block);
  if (around->is_freed)
    around->list = list_of(graph, around->place.block);
  find_blocks(around, graph);
  find_damages(around, graph->heap);
  find_registers(around, graph);
}

bool hwi_core_around_is_use_after_free(const struct hwi_core_around *around)
{
  const bool is_jump = around->is_fault && around->crash.cause == HWI_CRASH_JUMP;
  return around->is_poison || (around->is_freed && !is_jump);
}

void hwi_core_around_add_bytes(struct hwi_line *line, const struct hwi_memory *memory, uint64_t address, uint64_t count)
{
  struct hwi_memory_reader reader = {.memory = memory};
  uint64_t letters = 0;
  while (count && !hwi_memory_bytes(&reader, address, count))
    count--;
  const unsigned char *bytes = hwi_memory_bytes(&reader, address, count);
  if (!count || !bytes) {
    hwi_line_puts(line, "not known");
    return;
  }
  while (letters < count && bytes[letters] >= ' ' && bytes[letters] <= '~')
    letters++;
  if (letters == count || (letters >= LEAST_TEXT && bytes[letters] == 0)) {
    hwi_line_puts(line, "\"");
    hwi_line_add(line, (const char *)bytes, letters);
    hwi_line_puts(line, "\"");
    return;
  }
  for (uint64_t i = 0; i < count; i++)
    hwi_line_printf(line, i ? " %02x" : "%02x", bytes[i]);
}
