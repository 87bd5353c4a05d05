/* dropped.c - follows the events before a moment: which of them are left, and the sums of the others
 *
 * A block is counted when it ends, and its allocation then counts for the slice in which it was born. The latest block of
 * a thread that has ended is still left: only with it a reader knows that an older block of the thread, when it ends before
 * the thread's next allocation, is not a temporary one. (In a sample, the free says that.)
 *
 * The base that the trace has is the begin of all this: its sums are added, and its events are replayed as all others.
 */
#include "launch/pack/dropped.h"

#include <stdlib.h>

#include "profile/blocks/sample.h"
#include "profile/profile.h"
#include "trace/grow.h"

void hwi_dropped_release(struct hwi_dropped *d)
{
  hwi_left_release(&d->left);
  hwi_live_release(&d->live);
  free(d->blocks);
  free(d->free_blocks);
  free(d->cells);
  hwi_hash_table_release(&d->cell_indices);
  free(d->threads);
  hwi_hash_table_release(&d->thread_indices);
}

/* --- threads and cells --- */

/* Returns the index, or UINT32_MAX if there is no memory. */
static uint32_t find_thread(struct hwi_dropped *d, uint32_t number)
{
  const uint32_t known = hwi_hash_table_first(&d->thread_indices, number)->number;
  if (known)
    return known - 1;
  const size_t index = d->thread_count;
  if (!hwi_grow((void **)&d->threads, &d->thread_capacity, index + 1, sizeof *d->threads) ||
      !hwi_hash_table_add(&d->thread_indices, number, (uint32_t)index + 1))
    return UINT32_MAX;
  d->threads[index] = (struct hwi_dropped_thread){.sums = {.thread = number}};
  d->thread_count++;
  return (uint32_t)index;
}

static uint32_t hash_of(const struct hw_base_cell *cell)
{
  uint64_t hash = (((uint64_t)cell->thread << 32 | cell->node) * UINT64_C(0x9E3779B97F4A7C15)) ^ cell->size;
  hash = (hash * UINT64_C(0x9E3779B97F4A7C15)) ^ cell->usable;
  return (uint32_t)(hash * UINT64_C(0x9E3779B97F4A7C15) >> 32);
}

/* Returns the index of the cell with these numbers, or UINT32_MAX if there is no memory. */
static uint32_t find_cell(struct hwi_dropped *d, const struct hw_base_cell *wanted)
{
  const uint32_t tag = hash_of(wanted);
  const struct hwi_hash_slot *slot = hwi_hash_table_first(&d->cell_indices, tag);
  for (; slot->number; slot = hwi_hash_table_next(&d->cell_indices, slot)) {
    const struct hw_base_cell *cell = &d->cells[slot->number - 1].sums;
    if (cell->thread == wanted->thread && cell->node == wanted->node && cell->size == wanted->size &&
        cell->usable == wanted->usable)
      return slot->number - 1;
  }
  const size_t index = d->cell_count;
  if (index >= UINT32_MAX - 1 || !hwi_grow((void **)&d->cells, &d->cell_capacity, index + 1, sizeof *d->cells) ||
      !hwi_hash_table_add(&d->cell_indices, tag, (uint32_t)index + 1))
    return UINT32_MAX;
  d->cells[index] = (struct hwi_dropped_cell){
      .sums = {.thread = wanted->thread, .node = wanted->node, .size = wanted->size, .usable = wanted->usable}};
  d->cell_count++;
  return (uint32_t)index;
}

/* To be called before a change of the cell's live blocks. */
static void settle(const struct hwi_dropped *d, struct hwi_dropped_cell *cell)
{
  if (cell->generation != d->generation) {
    cell->sums.peak_blocks = cell->live;
    cell->generation = d->generation;
  }
}

/* --- slices --- */

/* Makes the slices twice as wide. */
static void widen(struct hwi_dropped *d)
{
  for (uint32_t i = 0; i < HW_BASE_SLICES_MAX; i += 2) {
    const struct hw_base_slice *a = &d->slices[i], *b = &d->slices[i + 1];
    d->slices[i / 2] = (struct hw_base_slice){
        .live_bytes = i + 1 <= d->slice ? b->live_bytes : a->live_bytes,
        .live_blocks = i + 1 <= d->slice ? b->live_blocks : a->live_blocks,
        .max_bytes = a->max_bytes > b->max_bytes ? a->max_bytes : b->max_bytes,
        .allocation_calls = a->allocation_calls + b->allocation_calls,
        .free_calls = a->free_calls + b->free_calls,
        .allocated_bytes = a->allocated_bytes + b->allocated_bytes,
    };
  }
  memset(&d->slices[HW_BASE_SLICES_MAX / 2], 0, sizeof d->slices / 2);
  d->slice /= 2;
  d->about.slice_ticks *= 2;
}

static uint32_t slice_of(const struct hwi_dropped *d, uint64_t tick)
{
  const uint64_t at = tick > d->about.first_slice_tick ? (tick - d->about.first_slice_tick) / d->about.slice_ticks : 0;
  return at < HW_BASE_SLICES_MAX ? (uint32_t)at : HW_BASE_SLICES_MAX - 1;
}

/* Goes on to the slice of a moment, of which the base before has nothing. */
static void pass_time(struct hwi_dropped *d, uint64_t tick)
{
  const struct hwi_base *base = hwi_trace_base(d->trace);
  if (base && tick < base->from_tick)
    return;
  while (tick > d->about.first_slice_tick &&
         (tick - d->about.first_slice_tick) / d->about.slice_ticks >= HW_BASE_SLICES_MAX)
    widen(d);
  struct hw_base_slice *now = &d->slices[d->slice];
  now->live_bytes = d->live_bytes;
  now->live_blocks = d->live_blocks;
  for (const uint32_t to = slice_of(d, tick); d->slice < to;)
    d->slices[++d->slice] =
        (struct hw_base_slice){.live_bytes = d->live_bytes, .live_blocks = d->live_blocks, .max_bytes = d->live_bytes};
}

/* --- blocks --- */

static bool take_free_place(struct hwi_dropped *d, uint32_t *place)
{
  if (d->free_count) {
    *place = d->free_blocks[--d->free_count];
    return true;
  }
  if (d->block_count >= UINT32_MAX - 1 ||
      !hwi_grow((void **)&d->blocks, &d->block_capacity, d->block_count + 1, sizeof *d->blocks))
    return false;
  *place = (uint32_t)d->block_count++;
  return true;
}

static void count_block(struct hwi_dropped *d, const struct hwi_dropped_block *block)
{
  struct hw_base_slice *slice = &d->slices[slice_of(d, block->born_tick)];
  slice->allocation_calls += block->weight;
  slice->allocated_bytes += block->weight * d->cells[block->cell].sums.size;
  d->about.calls += block->weight;
}

static void count_free_calls(struct hwi_dropped *d, uint32_t thread, uint64_t tick, uint32_t calls)
{
  d->threads[thread].sums.free_calls += calls;
  d->slices[slice_of(d, tick)].free_calls += calls;
  d->about.calls += calls;
}

/* The thread freed the block, which has ended. */
static void count_freed(struct hwi_dropped *d, const struct hwi_dropped_block *block, uint32_t thread, uint64_t tick)
{
  count_free_calls(d, thread, tick, block->weight);
  d->threads[thread].sums.foreign_frees += block->thread != thread ? block->weight : 0;
}

static void count_ended(struct hwi_dropped *d, const struct hwi_dropped_block *block, uint64_t tick, bool is_temporary)
{
  const uint64_t ns = hwi_trace_tick_ns(d->trace, tick) - hwi_trace_tick_ns(d->trace, block->born_tick);
  d->cells[block->cell].sums.ended[hwi_lifetime_of(is_temporary, ns)] += block->weight;
  count_block(d, block);
}

/* The block is not live any more; its place is free. */
static bool end_live(struct hwi_dropped *d, struct hwi_live_slot *slot, struct hwi_dropped_block *block)
{
  const uint32_t place = slot->number - 1;
  *block = d->blocks[place];
  hwi_live_remove(&d->live, slot);
  if (!hwi_grow((void **)&d->free_blocks, &d->free_capacity, d->free_count + 1, sizeof *d->free_blocks))
    return false;
  d->free_blocks[d->free_count++] = place;
  struct hwi_dropped_cell *cell = &d->cells[block->cell];
  settle(d, cell);
  cell->live -= block->weight;
  d->live_bytes -= block->weight * cell->sums.size;
  d->live_usable -= block->weight * cell->sums.usable;
  d->live_blocks -= block->weight;
  return true;
}

/* The thread's latest block, which has ended, is not its latest any more. */
static void drop_latest(struct hwi_dropped *d, uint32_t thread)
{
  struct hwi_dropped_thread *of = &d->threads[thread];
  if (!of->ended.left)
    return;
  const struct hwi_event *end = &d->left.events[of->ended_left].event;
  const uint32_t freer = find_thread(d, end->thread); /* known */
  count_ended(d, &of->ended, of->ended_tick, true);
  count_freed(d, &of->ended, freer, of->ended_tick);
  hwi_left_drop(&d->left, of->ended.left);
  hwi_left_drop(&d->left, of->ended_left);
  of->ended.left = of->ended_left = 0;
}

static uint32_t weight_of(const struct hwi_dropped *d, const struct hwi_event *event)
{
  const struct hwi_sample_birth birth = {event->size, event->tick, event->address};
  return d->sample_bytes ? hwi_sample_weight(&hwi_trace_info(d->trace)->header, &birth) : 1;
}

static bool take_alloc(struct hwi_dropped *d, const struct hwi_event *event, uint32_t thread)
{
  struct hwi_event kept = *event;
  const struct hw_base_cell wanted = {
      .thread = event->thread, .node = event->node, .size = event->size, .usable = event->usable};
  struct hwi_live_slot *slot = hwi_live_slot(&d->live, event->address);
  struct hwi_dropped_block block;
  uint32_t place;
  kept.moved = false;
  if (slot->address) { /* its free was missed */
    if (!end_live(d, slot, &block))
      return false;
    d->cells[block.cell].sums.missed += block.weight;
    d->about.missed_frees += block.weight;
    count_block(d, &block);
    hwi_left_drop(&d->left, block.left);
  }
  drop_latest(d, thread);
  if (!hwi_live_grow(&d->live) || !take_free_place(d, &place))
    return false;
  block = (struct hwi_dropped_block){.born_tick = event->tick,
                                     .address = event->address,
                                     .thread = thread,
                                     .cell = find_cell(d, &wanted),
                                     .left = hwi_left_keep(&d->left, &kept),
                                     .weight = weight_of(d, event)};
  if (block.cell == UINT32_MAX || !block.left)
    return false;
  d->blocks[place] = block;
  *hwi_live_slot(&d->live, event->address) = (struct hwi_live_slot){.address = event->address, .number = place + 1};
  d->live.count++;
  d->threads[thread].latest_address = event->address;
  struct hwi_dropped_cell *cell = &d->cells[block.cell];
  settle(d, cell);
  cell->live += block.weight;
  d->live_bytes += block.weight * event->size;
  d->live_usable += block.weight * event->usable;
  d->live_blocks += block.weight;
  struct hw_base_slice *slice = &d->slices[d->slice];
  if (d->live_bytes > slice->max_bytes)
    slice->max_bytes = d->live_bytes;
  if (d->live_bytes > d->about.peak_bytes) {
    d->about.peak_tick = event->tick;
    d->about.peak_bytes = d->live_bytes;
    d->about.peak_blocks = d->live_blocks;
    d->about.peak_usable = d->live_usable;
    d->generation++;
  }
  return true;
}

static bool take_free(struct hwi_dropped *d, const struct hwi_event *event, uint32_t freer)
{
  struct hwi_live_slot *slot = hwi_live_slot(&d->live, event->address);
  struct hwi_dropped_block block;
  if (!slot->address) {
    count_free_calls(d, freer, event->tick, 1);
    d->about.inherited_frees += d->forked;
    d->about.unmatched_frees += !d->forked;
    return true;
  }
  if (!end_live(d, slot, &block))
    return false;
  struct hwi_dropped_thread *owner = &d->threads[block.thread];
  if (!d->sample_bytes && owner->latest_address == event->address) {
    struct hwi_event kept = *event;
    kept.moved = false;
    owner->ended = block;
    owner->ended_tick = event->tick;
    owner->ended_left = hwi_left_keep(&d->left, &kept);
    return owner->ended_left;
  }
  count_ended(d, &block, event->tick, d->sample_bytes && event->temporary);
  count_freed(d, &block, freer, event->tick);
  hwi_left_drop(&d->left, block.left);
  return true;
}

static bool take_failed(struct hwi_dropped *d, const struct hwi_event *event)
{
  const uint32_t cell = find_cell(d, &(struct hw_base_cell){.thread = event->thread, .node = event->node});
  if (cell == UINT32_MAX)
    return false;
  d->cells[cell].sums.failed++;
  d->about.calls++;
  return true;
}

bool hwi_dropped_take(struct hwi_dropped *d, const struct hwi_event *events, int count)
{
  bool done = true;
  for (const struct hwi_event *event = events; done && event < events + count; event++) {
    const uint32_t thread = find_thread(d, event->thread);
    if (thread == UINT32_MAX)
      return false;
    pass_time(d, event->tick);
    if (event->kind == HWI_EVENT_ALLOC)
      done = take_alloc(d, event, thread);
    else if (event->kind == HWI_EVENT_FREE)
      done = take_free(d, event, thread);
    else if (event->kind == HWI_EVENT_FAILED)
      done = take_failed(d, event);
    else
      done = hwi_left_take(&d->left, event, thread);
  }
  return done;
}

/* --- the begin and the end --- */

static bool add_base(struct hwi_dropped *d, const struct hwi_base *base)
{
  d->about = base->about;
  memcpy(d->slices, base->slices, base->about.slice_count * sizeof *d->slices);
  d->slice = slice_of(d, base->from_tick ? base->from_tick - 1 : 0);
  for (uint32_t i = 0; i < base->about.cell_count; i++) {
    const uint32_t cell = find_cell(d, &base->cells[i]);
    if (cell == UINT32_MAX)
      return false;
    d->cells[cell].sums = base->cells[i];
    d->cells[cell].earlier_peak_blocks = base->cells[i].peak_blocks;
  }
  for (uint32_t i = 0; i < base->about.thread_count; i++) {
    const uint32_t thread = find_thread(d, base->threads[i].thread);
    if (thread == UINT32_MAX)
      return false;
    d->threads[thread].sums = base->threads[i];
  }
  return true;
}

static bool is_live(void *context, uint64_t address)
{
  const struct hwi_dropped *d = context;
  return hwi_live_slot(&d->live, address)->address;
}

bool hwi_dropped_init(struct hwi_dropped *d, struct hwi_trace *trace)
{
  enum { FIRST_SLICE_TICKS = 1 << 16 };
  const struct hw_trace_header *header = &hwi_trace_info(trace)->header;
  const struct hwi_base *base = hwi_trace_base(trace);
  memset(d, 0, sizeof *d);
  d->trace = trace;
  d->forked = header->origin == HW_ORIGIN_FORK;
  d->sample_bytes = header->sample_bytes;
  d->about.first_slice_tick = header->start.clock >> header->tick_shift;
  d->about.slice_ticks = FIRST_SLICE_TICKS;
  if (!hwi_live_init(&d->live))
    return false;
  hwi_trace_set_liveness(trace, is_live, d);
  return !base || add_base(d, base);
}

/* If there are too many cells, those of a thread and stack become two: sums of calls, bytes and frees stay exact, but not
 * the sizes. Cells that are alone stay. */
static int compare_cells(const void *a, const void *b)
{
  const struct hw_base_cell *left = &((const struct hwi_dropped_cell *)a)->sums;
  const struct hw_base_cell *right = &((const struct hwi_dropped_cell *)b)->sums;
  if (left->thread != right->thread)
    return left->thread < right->thread ? -1 : 1;
  if (left->node != right->node)
    return left->node < right->node ? -1 : 1;
  return left->size < right->size ? -1 : left->size > right->size;
}

static uint64_t calls_of(const struct hw_base_cell *cell)
{
  uint64_t calls = cell->missed;
  for (int i = 0; i < HW_BASE_LIFETIMES; i++)
    calls += cell->ended[i];
  return calls;
}

/* Joins two cells of a thread and stack: *to gets all blocks, with a size that is the mean, rounded down, and *rest as many
 * as are needed for the exact sum of bytes, with one more byte. */
static void join_all(struct hwi_dropped *d, size_t first, size_t end, size_t *kept)
{
  struct hw_base_cell sum = {.thread = d->cells[first].sums.thread, .node = d->cells[first].sums.node};
  uint64_t calls = 0, bytes = 0;
  for (size_t i = first; i < end; i++) {
    const struct hw_base_cell *cell = &d->cells[i].sums;
    calls += calls_of(cell);
    bytes += calls_of(cell) * cell->size;
    for (int k = 0; k < HW_BASE_LIFETIMES; k++)
      sum.ended[k] += cell->ended[k];
    sum.missed += cell->missed;
    sum.failed += cell->failed;
    sum.peak_blocks += cell->peak_blocks;
  }
  struct hw_base_cell larger = {.thread = sum.thread, .node = sum.node};
  sum.size = sum.usable = calls ? bytes / calls : 0;
  larger.size = larger.usable = sum.size + 1;
  uint64_t left = calls ? bytes % calls : 0;
  for (int k = HW_BASE_LIFETIMES; k-- > 0 && left > 0;) {
    const uint64_t moved = sum.ended[k] < left ? sum.ended[k] : left;
    sum.ended[k] -= moved;
    larger.ended[k] += moved;
    left -= moved;
  }
  sum.missed -= left;
  larger.missed += left;
  d->cells[(*kept)++].sums = sum;
  if (calls_of(&larger))
    d->cells[(*kept)++].sums = larger;
}

static void join_cells(struct hwi_dropped *d)
{
  size_t kept = 0;
  qsort(d->cells, d->cell_count, sizeof *d->cells, compare_cells);
  for (size_t first = 0, end; first < d->cell_count; first = end) {
    for (end = first + 1; end < d->cell_count && d->cells[end].sums.thread == d->cells[first].sums.thread &&
                          d->cells[end].sums.node == d->cells[first].sums.node;)
      end++;
    if (end - first > 2)
      join_all(d, first, end, &kept);
    else
      for (size_t i = first; i < end; i++)
        d->cells[kept++] = d->cells[i];
  }
  d->cell_count = kept;
}

static int compare_bytes(const void *a, const void *b)
{
  const struct hw_base_cell *left = &((const struct hwi_dropped_cell *)a)->sums;
  const struct hw_base_cell *right = &((const struct hwi_dropped_cell *)b)->sums;
  const uint64_t left_bytes = calls_of(left) * left->size, right_bytes = calls_of(right) * right->size;
  return left_bytes < right_bytes ? -1 : left_bytes > right_bytes;
}

/* The smallest cells lose their stacks, so that those of a thread become two. */
static void join_stacks(struct hwi_dropped *d, size_t count)
{
  qsort(d->cells, d->cell_count, sizeof *d->cells, compare_bytes);
  for (size_t i = 0; i < count && i < d->cell_count; i++)
    d->cells[i].sums.node = 0;
  join_cells(d);
}

bool hwi_dropped_end(struct hwi_dropped *d, uint64_t until)
{
  pass_time(d, until ? until - 1 : 0);
  size_t kept = 0;
  for (size_t i = 0; i < d->cell_count; i++) {
    struct hwi_dropped_cell *cell = &d->cells[i];
    settle(d, cell);
    if (!d->generation)
      cell->sums.peak_blocks = cell->earlier_peak_blocks;
    if (calls_of(&cell->sums) || cell->sums.failed || cell->sums.peak_blocks)
      d->cells[kept++] = *cell;
  }
  d->cell_count = kept;
  if (d->cell_count > HW_BASE_CELLS_MAX)
    join_cells(d);
  if (d->cell_count > HW_BASE_CELLS_MAX)
    join_stacks(d, d->cell_count - HW_BASE_CELLS_MAX + 2 * d->thread_count);
  if (d->cell_count > HW_BASE_CELLS_MAX) /* of so many threads */
    d->cell_count = HW_BASE_CELLS_MAX;
  d->about.cell_count = (uint32_t)d->cell_count;
  d->about.thread_count = (uint32_t)d->thread_count;
  d->about.slice_count = d->slice + 1;
  return true;
}
