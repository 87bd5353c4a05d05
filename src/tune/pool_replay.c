/* pool_replay.c - repeats the calls of one process on a pool */
#include "tune/pool_replay.h"

#include <stdlib.h>

#include "allocators/process/settings.h"
#include "heapwright/detail/entry_list.h"
#include "platform/os.h"
#include "trace/grow.h"

enum { HEADER_BYTES = sizeof(size_t), FENCE_BYTES = sizeof(size_t) };

bool hwi_pool_replay_init(struct hwi_pool_replay *replay, size_t bytes)
{
  *replay = (struct hwi_pool_replay){.memory_bytes = bytes};
  if (!hwi_live_init(&replay->where))
    return false;
  replay->memory = hwi_os_map(bytes);
  replay->pool = hw_pool_init(replay->memory, bytes, HWI_HEAP_LARGEST_BYTES);
  if (!replay->pool) {
    hwi_pool_replay_release(replay);
    return false;
  }
  struct hw_pool_stats stats;
  hw_pool_get_stats(replay->pool, &stats);
  replay->figures.tables_bytes = replay->figures.extent_bytes = bytes - stats.capacity_bytes;
  return true;
}

void hwi_pool_replay_release(struct hwi_pool_replay *replay)
{
  if (replay->memory)
    hwi_os_unmap(replay->memory, replay->memory_bytes);
  hwi_live_release(&replay->where);
  free(replay->blocks);
  replay->memory = NULL;
  replay->blocks = NULL;
}

/* --- slots --- */

static uint32_t new_slot(struct hwi_pool_replay *replay)
{
  uint32_t slot = replay->unused;
  if (slot) {
    replay->unused = replay->blocks[slot].next;
    return slot;
  }
  if (replay->block_count == UINT32_MAX - 1 || !hwi_grow((void **)&replay->blocks, &replay->block_capacity,
                                                         (size_t)replay->block_count + 2, sizeof *replay->blocks))
    return 0;
  return ++replay->block_count;
}

static void free_slot(struct hwi_pool_replay *replay, uint32_t slot)
{
  replay->blocks[slot] = (struct hwi_replayed_block){.next = replay->unused};
  replay->unused = slot;
}

static bool keep(struct hwi_pool_replay *replay, uint64_t address, const struct hwi_replayed_block *block)
{
  uint32_t slot = hwi_live_grow(&replay->where) ? new_slot(replay) : 0;
  if (!slot)
    return false;
  replay->blocks[slot] = *block;
  *hwi_live_slot(&replay->where, address) = (struct hwi_live_slot){.address = address, .number = slot};
  replay->where.count++;
  return true;
}

uint32_t hwi_pool_replay_take(struct hwi_pool_replay *replay, uint64_t address)
{
  struct hwi_live_slot *found = hwi_live_slot(&replay->where, address);
  if (!found->address)
    return 0;
  uint32_t slot = found->number;
  hwi_live_remove(&replay->where, found);
  return slot;
}

/* --- in the pool --- */

static size_t size_in_pool(struct hwi_pool_replay *replay, void *place)
{
  return hw_pool_usable_bytes(replay->pool, place) + HEADER_BYTES;
}

static void count_in(struct hwi_pool_replay *replay, const struct hwi_replayed_block *block)
{
  struct hwi_pool_figures *figures = &replay->figures;
  size_t size = size_in_pool(replay, block->place);
  uint64_t extent = (uintptr_t)block->place - HEADER_BYTES + size + FENCE_BYTES - (uintptr_t)replay->memory;
  replay->used_bytes += size;
  replay->asked_bytes += block->asked_bytes;
  if (replay->used_bytes > figures->used_bytes) {
    figures->used_bytes = replay->used_bytes;
    figures->asked_bytes = replay->asked_bytes;
  }
  if (extent > figures->extent_bytes)
    figures->extent_bytes = extent;
}

static void count_out(struct hwi_pool_replay *replay, const struct hwi_replayed_block *block)
{
  replay->used_bytes -= size_in_pool(replay, block->place);
  replay->asked_bytes -= block->asked_bytes;
}

void hwi_pool_replay_free(struct hwi_pool_replay *replay, uint32_t slot)
{
  struct hwi_replayed_block *block = &replay->blocks[slot];
  if (block->place) {
    count_out(replay, block);
    hw_pool_free(replay->pool, block->place);
  }
  free_slot(replay, slot);
}

/* The request that the library passes to its pool when the program makes this call. 0 bytes: too large for any pool. */
struct request {
  size_t bytes, align;
};

static struct request request_of(const struct hwi_block_event *event)
{
  enum { ALIGNMENT_LOG2_MAX = 45 };
  struct request request = {event->size ? event->size : 1, 1};
  if (event->size > HWI_HEAP_LARGEST_BYTES || event->alignment_log2 > ALIGNMENT_LOG2_MAX)
    return (struct request){0};
  request.align = (size_t)1 << event->alignment_log2;
  if (event->entry == HW_ENTRY_VALLOC || event->entry == HW_ENTRY_PVALLOC)
    request.align = HWI_OS_PAGE_BYTES;
  if (event->entry == HW_ENTRY_PVALLOC)
    request.bytes = (request.bytes + HWI_OS_PAGE_BYTES - 1) & ~(size_t)(HWI_OS_PAGE_BYTES - 1);
  return request;
}

static void *place(struct hwi_pool_replay *replay, const struct request *request)
{
  if (!request->bytes)
    return NULL;
  return request->align <= HW_POOL_ALIGN ? hw_pool_alloc(replay->pool, request->bytes)
                                         : hw_pool_alloc_aligned(replay->pool, request->align, request->bytes);
}

/* Resizes the block in slot `old` in place. */
static bool resize(struct hwi_pool_replay *replay, uint32_t old, const struct request *request)
{
  struct hwi_replayed_block *block = &replay->blocks[old];
  if (!block->place || !request->bytes)
    return false;
  size_t size = size_in_pool(replay, block->place);
  if (!hw_pool_resize(replay->pool, block->place, request->bytes))
    return false;
  replay->used_bytes -= size;
  replay->asked_bytes -= block->asked_bytes;
  return true;
}

bool hwi_pool_replay_alloc(struct hwi_pool_replay *replay, const struct hwi_block_event *event, uint32_t old)
{
  struct request request = request_of(event);
  struct hwi_replayed_block block = {.asked_bytes = event->size};
  replay->figures.request_count++;
  uint32_t before = hwi_pool_replay_take(replay, event->address);
  if (before) /* inherited, and its free was not recorded */
    hwi_pool_replay_free(replay, before);
  if (old && resize(replay, old, &request)) {
    block.place = replay->blocks[old].place;
    free_slot(replay, old);
    old = 0;
  } else {
    block.place = place(replay, &request);
  }
  if (block.place)
    count_in(replay, &block);
  else
    replay->figures.refused_count++;
  if (old) /* only now, because a block that moves is in the pool twice while it is copied */
    hwi_pool_replay_free(replay, old);
  return keep(replay, event->address, &block);
}

/* --- fork --- */

struct heir {
  uint64_t address;
  struct hwi_replayed_block block;
};

static int by_place(const void *left, const void *right)
{
  const struct heir *a = left, *b = right;
  return ((uintptr_t)a->block.place > (uintptr_t)b->block.place) -
         ((uintptr_t)a->block.place < (uintptr_t)b->block.place);
}

static bool inherit_one(struct hwi_pool_replay *child, const struct hwi_pool_replay *parent, const struct heir *heir)
{
  struct hwi_replayed_block block = heir->block;
  if (block.place) {
    block.place = hw_pool_alloc(child->pool, hw_pool_usable_bytes(parent->pool, block.place));
    if (block.place)
      count_in(child, &block);
    else
      child->figures.refused_count++;
  }
  return keep(child, heir->address, &block);
}

bool hwi_pool_replay_inherit(struct hwi_pool_replay *child, const struct hwi_pool_replay *parent)
{
  size_t count = 0;
  struct heir *heirs = calloc(parent->where.count + 1, sizeof *heirs);
  bool done = heirs;
  for (size_t i = 0; done && i <= parent->where.mask; i++) {
    const struct hwi_live_slot *slot = &parent->where.slots[i];
    if (slot->address)
      heirs[count++] = (struct heir){slot->address, parent->blocks[slot->number]};
  }
  if (done)
    qsort(heirs, count, sizeof *heirs, by_place);
  for (size_t i = 0; done && i < count; i++)
    done = inherit_one(child, parent, &heirs[i]);
  free(heirs);
  return done;
}
