/* heap.c - the blocks of a process's heap */
#include "memory/heaps/heap.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory/heaps/annotate.h"
#include "memory/heaps/glibc.h"
#include "memory/heaps/jemalloc/jemalloc.h"
#include "memory/heaps/mimalloc.h"
#include "memory/heaps/musl.h"
#include "memory/heaps/nested.h"
#include "memory/heaps/pool.h"
#include "memory/heaps/tcmalloc/tcmalloc.h"
#include "trace/grow.h"
#include "trace/table.h"

struct hwi_core_heap_part *hwi_core_heap_add_part(struct hwi_core_heap *heap, enum hwi_core_allocator allocator,
                                                  const char *name, uint64_t address)
{
  if (!hwi_grow((void **)&heap->parts, &heap->part_capacity, heap->part_count + 1, sizeof *heap->parts))
    return NULL;
  struct hwi_core_heap_part *part = &heap->parts[heap->part_count++];
  *part = (struct hwi_core_heap_part){.allocator = allocator, .address = address};
  snprintf(part->name, sizeof part->name, "%s", name);
  return part;
}

bool hwi_core_heap_add_block(struct hwi_core_heap *heap, struct hwi_core_heap_part *part, uint64_t address,
                             uint64_t bytes, enum hwi_core_block_state state)
{
  if (!hwi_table_grow((void **)&heap->blocks, &heap->block_capacity, heap->block_count + 1, sizeof *heap->blocks))
    return false;
  heap->blocks[heap->block_count++] = (struct hwi_core_block){address, bytes << HWI_CORE_BLOCK_STATE_BITS | state};
  part->sums[state].blocks++;
  part->sums[state].bytes += bytes;
  return true;
}

bool hwi_core_heap_add_own(struct hwi_core_heap *heap, uint64_t begin, uint64_t end)
{
  if (!hwi_table_grow((void **)&heap->own, &heap->own_capacity, heap->own_count + 1, sizeof *heap->own))
    return false;
  heap->own[heap->own_count++] = (struct hwi_core_own){begin, end};
  return true;
}

static void note(struct hwi_core_heap *heap, const struct hwi_damage *damage, const char *format, va_list words)
{
  if (heap->damage_count++ >= HWI_DAMAGES_MAX)
    return;
  struct hwi_damage *added = &heap->damages[heap->damage_count - 1];
  *added = *damage;
  vsnprintf(added->text, sizeof added->text, format, words);
}

void hwi_core_heap_note_damage(struct hwi_core_heap *heap, uint64_t address, const char *format, ...)
{
  va_list words;
  va_start(words, format);
  note(heap, &(struct hwi_damage){.address = address}, format, words);
  va_end(words);
}

void hwi_core_heap_note_overrun(struct hwi_core_heap *heap, uint64_t address, const char *format, ...)
{
  va_list words;
  va_start(words, format);
  note(heap, &(struct hwi_damage){.address = address, .is_overrun = true}, format, words);
  va_end(words);
}

struct hwi_core_heap_sum hwi_core_heap_sum(const struct hwi_core_heap *heap, enum hwi_core_block_state state)
{
  struct hwi_core_heap_sum sum = {0};
  for (size_t i = 0; i < heap->part_count; i++) {
    sum.blocks += heap->parts[i].sums[state].blocks;
    sum.bytes += heap->parts[i].sums[state].bytes;
  }
  return sum;
}

static int compare(const void *a, const void *b)
{
  const struct hwi_core_block *x = a, *y = b;
  return x->address < y->address ? -1 : x->address > y->address;
}

void hwi_core_heap_sort(struct hwi_core_heap *heap)
{
  for (size_t i = 1; i < heap->block_count; i++)
    if (heap->blocks[i].address < heap->blocks[i - 1].address) {
      qsort(heap->blocks, heap->block_count, sizeof *heap->blocks, compare);
      return;
    }
}

size_t hwi_core_heap_first_from(const struct hwi_core_heap *heap, uint64_t address)
{
  size_t low = 0, high = heap->block_count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (heap->blocks[middle].address < address)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

size_t hwi_core_heap_first_behind(const struct hwi_core_heap *heap, uint64_t address)
{
  return address == UINT64_MAX ? heap->block_count : hwi_core_heap_first_from(heap, address + 1);
}

const struct hwi_core_block *hwi_core_heap_block_at(const struct hwi_core_heap *heap, uint64_t address)
{
  const size_t next = hwi_core_heap_first_behind(heap, address);
  const struct hwi_core_block *block = next ? &heap->blocks[next - 1] : NULL;
  return block && (address < hwi_core_block_end(block) || address == block->address) ? block : NULL;
}

const struct hwi_damage *hwi_core_heap_first_overrun(const struct hwi_core_heap *heap)
{
  for (size_t i = 0; i < heap->damage_count && i < HWI_DAMAGES_MAX; i++)
    if (heap->damages[i].is_overrun)
      return &heap->damages[i];
  return NULL;
}

/* --- allocators --- */

static void name_allocators(struct hwi_core_heap *heap)
{
  static const char *const names[HWI_CORE_ALLOCATORS] = {"glibc",    "mimalloc",        "musl",     "jemalloc",
                                                         "tcmalloc", "heapwright-pool", "annotated"};
  size_t used = 0;
  for (size_t i = 0; i < heap->part_count; i++)
    heap->allocators |= 1U << heap->parts[i].allocator;
  for (unsigned i = 0; i < HWI_CORE_ALLOCATORS; i++)
    if (heap->allocators & 1U << i && used < sizeof heap->allocator)
      used +=
          (size_t)snprintf(heap->allocator + used, sizeof heap->allocator - used, "%s%s", used ? ", " : "", names[i]);
}

/* Each adds what it finds, or returns HW_ERR_USAGE: with a text only if its allocator is there, but unused, or in a
 * version that is not read. A process may have several allocators. */
static int (*const finders[])(struct hwi_core_heap *heap, const struct hwi_memory *memory, struct hwi_error *error) = {
    hwi_glibc_find, hwi_mimalloc_find, hwi_musl_find, hwi_pool_find, hwi_jemalloc_find, hwi_tcmalloc_find,
};

static int find_all(struct hwi_core_heap *heap, const struct hwi_memory *memory, struct hwi_error *error)
{
  struct hwi_error refusal = {0};
  bool is_found = false;
  for (size_t i = 0; i < sizeof finders / sizeof *finders; i++) {
    const int status = finders[i](heap, memory, &refusal);
    if (status < 0 && status != HW_ERR_USAGE)
      return hwi_error_set(error, status, "%s", refusal.text);
    is_found |= status == 0;
  }
  if (is_found && !hwi_core_heap_settle_nested(heap))
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory for the parts of the heap; use a larger machine");
  if (heap->part_count)
    return 0;
  return hwi_error_set(error, HW_ERR_USAGE,
                       "no heap was found: %s; another malloc is read only with "
                       "libheapwright-annotate.so",
                       refusal.text[0] ? refusal.text : "this memory has no malloc whose structures are known");
}

int hwi_core_heap_find(struct hwi_core_heap *heap, const struct hwi_memory *memory, struct hwi_error *error)
{
  *heap = (struct hwi_core_heap){0};
  int status = find_all(heap, memory, error);
  if (status == 0 || status == HW_ERR_USAGE) {
    const int owners_status = hwi_annotate_find(heap, memory, error);
    status = owners_status < 0 || heap->owners ? owners_status : status;
  }
  name_allocators(heap);
  if (status < 0)
    hwi_core_heap_release(heap);
  return status;
}

void hwi_core_heap_release(struct hwi_core_heap *heap)
{
  hwi_table_release(heap->blocks, heap->block_capacity * sizeof *heap->blocks);
  hwi_table_release(heap->own, heap->own_capacity * sizeof *heap->own);
  hwi_table_release(heap->stacks, heap->stack_capacity * sizeof *heap->stacks);
  hwi_table_release(heap->frames, heap->frame_capacity * sizeof *heap->frames);
  free(heap->owners);
  free(heap->parts);
  *heap = (struct hwi_core_heap){0};
}
