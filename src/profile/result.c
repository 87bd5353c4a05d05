/* result.c - sums the cells of a replay up: by stack, size and thread, and by pairs of these
 *
 * Cells are put in order of their stacks by counting, once; pairs are then formed within one stack at a time, so that sorting
 * stays small.
 */
#include "profile/result.h"

#include <stdlib.h>
#include <string.h>

#include "trace/grow.h"

/* The cells, stack by stack: those of stack s are numbers[start[s]] to numbers[start[s + 1] - 1]. */
struct by_stack {
  uint32_t *numbers;
  uint32_t *start;
};

static bool order_by_stack(const struct hwi_tally *tally, struct by_stack *order)
{
  size_t stacks = tally->stack_count;
  order->numbers = calloc(tally->cell_count, sizeof *order->numbers);
  order->start = calloc(stacks + 2, sizeof *order->start);
  if (!order->numbers || !order->start)
    return false;
  uint32_t *next = order->start + 1; /* while filling: where the next cell of stack s goes is next[s] */
  for (uint32_t i = 1; i < tally->cell_count; i++)
    next[hwi_tally_cell(tally, i)->stack + 1]++;
  for (size_t s = 1; s <= stacks; s++)
    next[s] += next[s - 1];
  for (uint32_t i = 1; i < tally->cell_count; i++)
    order->numbers[next[hwi_tally_cell(tally, i)->stack]++] = i;
  return true;
}

/* --- stacks --- */

static void add_to_stack(struct hwi_stack *stack, const struct hwi_tally *tally, uint32_t number)
{
  const struct hwi_cell *cell = hwi_tally_cell(tally, number);
  uint64_t at_start = hwi_tally_live_at_start(tally, number), at_end = hwi_tally_live_at_end(tally, number);
  if (cell->calls) {
    if (!stack->calls || cell->size < stack->smallest)
      stack->smallest = cell->size;
    if (cell->size > stack->largest)
      stack->largest = cell->size;
  }
  stack->calls += cell->calls;
  stack->bytes += cell->calls * cell->size;
  stack->usable += cell->calls * cell->usable;
  stack->temporary_calls += cell->temporary_calls;
  stack->start_blocks += at_start;
  stack->start_bytes += at_start * cell->size;
  stack->live_blocks += at_end;
  stack->live_bytes += at_end * cell->size;
  stack->peak_blocks += cell->peak_live;
  stack->peak_bytes += cell->peak_live * cell->size;
  stack->peak_usable += cell->peak_live * cell->usable;
}

static bool fill_stacks(struct hwi_result *result)
{
  const struct hwi_tally *tally = &result->replay.tally;
  const struct hwi_frames *frames = &result->replay.frames;
  struct hwi_stack *stacks = calloc(tally->stack_count, sizeof *stacks);
  uint32_t *depth = calloc(frames->count, sizeof *depth);
  result->profile.stacks = stacks;
  if (!stacks || !depth) {
    free(depth);
    return false;
  }
  for (size_t f = 1; f < frames->count; f++) /* callers come first */
    depth[f] = depth[frames->frames[f].caller] + !frames->frames[f].cut;
  for (uint32_t i = 1; i < tally->cell_count; i++)
    add_to_stack(&stacks[hwi_tally_cell(tally, i)->stack], tally, i);
  for (size_t s = 1; s < tally->stack_count; s++) {
    const struct hwi_stack_tally *from = &tally->stacks[s];
    struct hwi_stack *stack = &stacks[s];
    stack->free_calls = stack->start_blocks + stack->calls - stack->live_blocks - from->missed_frees;
    stack->failed_calls = from->failed_calls;
    memcpy(stack->lifetimes, from->ended, sizeof from->ended);
    stack->lifetimes[HWI_LIFETIME_UNTIL_END] = stack->live_blocks;
    stack->own_peak_bytes = from->own_peak_bytes;
    stack->first_ns = from->first_ns;
    stack->last_ns = from->last_ns;
    stack->frame = from->frame;
    stack->depth = depth[from->frame];
    stack->entry = from->frame ? frames->frames[from->frame].entry : HW_ENTRY_NONE;
  }
  result->profile.stack_count = (uint32_t)tally->stack_count;
  free(depth);
  return true;
}

/* --- what grows --- */

static int compare_growing(const void *left, const void *right)
{
  const struct hwi_growing *a = left, *b = right;
  uint64_t gain_a = a->to_bytes - a->from_bytes, gain_b = b->to_bytes - b->from_bytes;
  if (gain_a != gain_b)
    return gain_a > gain_b ? -1 : 1;
  return a->stack < b->stack ? -1 : a->stack > b->stack;
}

static bool fill_growing(struct hwi_result *result)
{
  struct hwi_tally *tally = &result->replay.tally;
  struct hwi_growing *list = NULL, growing;
  size_t count = 0, capacity = 0;
  for (size_t s = 1; s < tally->stack_count; s++) {
    struct hwi_stack_tally *stack = &tally->stacks[s];
    if (!hwi_growth_finish(&stack->growth, &result->replay.tenths, stack->live_bytes, &growing))
      continue;
    if (!hwi_grow((void **)&list, &capacity, count + 1, sizeof *list)) {
      free(list);
      return false;
    }
    growing.stack = (uint32_t)s;
    list[count++] = growing;
  }
  if (count)
    qsort(list, count, sizeof *list, compare_growing);
  result->profile.growing = list;
  result->profile.growing_count = (uint32_t)count;
  return true;
}

/* --- pairs --- */

/* qsort has no context, and one comparison at a time is under way. */
static int compare_sizes(const void *left, const void *right)
{
  const struct hwi_stack_size *a = left, *b = right;
  return a->size < b->size ? -1 : a->size > b->size;
}

static int compare_weights(const void *left, const void *right)
{
  const struct hwi_stack_size *a = left, *b = right;
  if (a->peak_blocks != b->peak_blocks)
    return a->peak_blocks > b->peak_blocks ? -1 : 1;
  if (a->calls != b->calls)
    return a->calls > b->calls ? -1 : 1;
  return compare_sizes(left, right);
}

static int compare_threads(const void *left, const void *right)
{
  const struct hwi_thread_stack *a = left, *b = right;
  return a->thread < b->thread ? -1 : a->thread > b->thread;
}

/* Joins neighbours of one size; returns how many are left. */
static uint32_t join_sizes(struct hwi_stack_size *list, uint32_t count)
{
  uint32_t kept = 0;
  for (uint32_t i = 0; i < count; i++) {
    struct hwi_stack_size *last = &list[kept - (kept > 0)];
    if (!kept || last->size != list[i].size) {
      list[kept++] = list[i];
      continue;
    }
    last->calls += list[i].calls;
    last->peak_blocks += list[i].peak_blocks;
    last->live_blocks += list[i].live_blocks;
  }
  return kept;
}

static uint32_t join_threads(struct hwi_thread_stack *list, uint32_t count)
{
  uint32_t kept = 0;
  for (uint32_t i = 0; i < count; i++) {
    struct hwi_thread_stack *last = &list[kept - (kept > 0)];
    if (!kept || last->thread != list[i].thread) {
      list[kept++] = list[i];
      continue;
    }
    last->calls += list[i].calls;
    last->bytes += list[i].bytes;
    last->temporary_calls += list[i].temporary_calls;
    last->live_blocks += list[i].live_blocks;
    last->live_bytes += list[i].live_bytes;
    last->peak_blocks += list[i].peak_blocks;
    last->peak_bytes += list[i].peak_bytes;
  }
  return kept;
}

/* With room for all pairs. */
struct pairs {
  struct hwi_stack_size *sizes;
  struct hwi_thread_stack *threads;
};

static void fill_pairs_of_stack(struct hwi_result *result, const struct pairs *pairs, const struct by_stack *order,
                                uint32_t stack)
{
  const struct hwi_tally *tally = &result->replay.tally;
  struct hwi_profile *profile = &result->profile;
  struct hwi_stack_size *sizes = pairs->sizes + profile->stack_size_count;
  struct hwi_thread_stack *threads = pairs->threads + profile->thread_stack_count;
  uint32_t count = 0;
  for (uint32_t i = order->start[stack]; i < order->start[stack + 1]; i++, count++) {
    const struct hwi_cell *cell = hwi_tally_cell(tally, order->numbers[i]);
    uint64_t at_end = hwi_tally_live_at_end(tally, order->numbers[i]);
    sizes[count] = (struct hwi_stack_size){stack, cell->size, cell->calls, cell->peak_live, at_end};
    threads[count] = (struct hwi_thread_stack){
        .thread = cell->thread,
        .stack = stack,
        .calls = cell->calls,
        .bytes = cell->calls * cell->size,
        .temporary_calls = cell->temporary_calls,
        .live_bytes = at_end * cell->size,
        .live_blocks = at_end,
        .peak_bytes = cell->peak_live * cell->size,
        .peak_blocks = cell->peak_live,
    };
  }
  if (count > 1) {
    qsort(sizes, count, sizeof *sizes, compare_sizes);
    qsort(threads, count, sizeof *threads, compare_threads);
  }
  uint32_t size_count = join_sizes(sizes, count);
  if (size_count > 1)
    qsort(sizes, size_count, sizeof *sizes, compare_weights);
  profile->stack_size_count += size_count;
  profile->thread_stack_count += join_threads(threads, count);
}

static bool fill_pairs(struct hwi_result *result)
{
  const struct hwi_tally *tally = &result->replay.tally;
  struct by_stack order = {0};
  struct pairs pairs = {calloc(tally->cell_count, sizeof *pairs.sizes),
                        calloc(tally->cell_count, sizeof *pairs.threads)};
  bool done = pairs.sizes && pairs.threads && order_by_stack(tally, &order);
  for (uint32_t s = 1; done && s < tally->stack_count; s++)
    fill_pairs_of_stack(result, &pairs, &order, s);
  result->profile.stack_sizes = pairs.sizes;
  result->profile.thread_stacks = pairs.threads;
  free(order.numbers);
  free(order.start);
  return done;
}

/* --- sizes --- */

static int compare_size_rows(const void *left, const void *right)
{
  const struct hwi_size *a = left, *b = right;
  return a->size < b->size ? -1 : a->size > b->size;
}

static bool fill_sizes(struct hwi_result *result)
{
  const struct hwi_tally *tally = &result->replay.tally;
  struct hwi_size *sizes = calloc(tally->size_count, sizeof *sizes);
  result->profile.sizes = sizes;
  if (!sizes)
    return false;
  for (size_t i = 1; i < tally->size_count; i++) {
    sizes[i - 1].size = tally->sizes[i].size;
    sizes[i - 1].own_peak_blocks = tally->sizes[i].own_peak;
  }
  for (uint32_t i = 1; i < tally->cell_count; i++) {
    const struct hwi_cell *cell = hwi_tally_cell(tally, i);
    struct hwi_size *size = &sizes[cell->size_number - 1];
    size->calls += cell->calls;
    size->live_blocks += hwi_tally_live_at_end(tally, i);
    size->peak_blocks += cell->peak_live;
    size->temporary_calls += cell->temporary_calls;
    size->peak_usable += cell->peak_live * cell->usable;
  }
  result->profile.size_count = (uint32_t)tally->size_count - 1;
  qsort(sizes, result->profile.size_count, sizeof *sizes, compare_size_rows);
  return true;
}

/* --- cells --- */

/* By size number: its index among the sizes. NULL: no memory. */
static uint32_t *index_sizes(const struct hwi_result *result)
{
  const struct hwi_tally *tally = &result->replay.tally;
  const struct hwi_profile *profile = &result->profile;
  uint32_t *indices = calloc(tally->size_count + 1, sizeof *indices);
  for (size_t i = 1; indices && i < tally->size_count; i++) {
    const struct hwi_size wanted = {.size = tally->sizes[i].size};
    const struct hwi_size *found =
        bsearch(&wanted, profile->sizes, profile->size_count, sizeof *profile->sizes, compare_size_rows);
    indices[i] = (uint32_t)(found - profile->sizes);
  }
  return indices;
}

/* After the sizes, to which the cells refer. */
static bool fill_cells(struct hwi_result *result)
{
  const struct hwi_tally *tally = &result->replay.tally;
  struct by_stack order = {0};
  uint32_t *sizes = index_sizes(result);
  struct hwi_profile_cell *cells = calloc(tally->cell_count, sizeof *cells);
  bool done = sizes && cells && order_by_stack(tally, &order);
  for (uint32_t i = 0; done && i + 1 < tally->cell_count; i++) {
    const struct hwi_cell *cell = hwi_tally_cell(tally, order.numbers[i]);
    cells[i] = (struct hwi_profile_cell){.thread = cell->thread,
                                         .stack = cell->stack,
                                         .size = sizes[cell->size_number],
                                         .usable = cell->usable,
                                         .calls = cell->calls,
                                         .temporary_calls = cell->temporary_calls,
                                         .peak_blocks = cell->peak_live,
                                         .live_blocks = hwi_tally_live_at_end(tally, order.numbers[i])};
  }
  result->profile.cells = cells;
  result->profile.cell_count = done ? tally->cell_count - 1 : 0;
  free(sizes);
  free(order.numbers);
  free(order.start);
  return done;
}

/* --- threads --- */

bool hwi_result_describe_threads(struct hwi_result *result)
{
  const struct hwi_tally *tally = &result->replay.tally;
  result->described = calloc(tally->thread_count + 1, sizeof *result->described);
  if (!result->described)
    return false;
  for (size_t i = 0; i < tally->thread_count; i++)
    result->described[i] = hwi_trace_thread(result->traces[tally->threads[i].image], tally->threads[i].number);
  result->described_count = tally->thread_count;
  return true;
}

static bool fill_threads(struct hwi_result *result)
{
  const struct hwi_tally *tally = &result->replay.tally;
  struct hwi_profile_thread *threads = calloc(tally->thread_count + 1, sizeof *threads);
  result->profile.threads = threads;
  if (!threads)
    return false;
  for (size_t i = 0; i < tally->thread_count; i++) {
    const struct hwi_thread_tally *from = &tally->threads[i];
    const struct hwi_thread *described = &result->described[i];
    threads[i] = (struct hwi_profile_thread){
        .image = from->image,
        .number = from->number,
        .tid = described->tid,
        .policy = described->policy,
        .priority = described->priority,
        .free_calls = from->free_calls,
        .failed_calls = from->failed_calls,
        .foreign_frees = from->foreign_frees,
        .late_allocation_calls = from->late_allocation_calls,
        .late_free_calls = from->late_free_calls,
        .own_peak_bytes = from->own_peak_bytes,
    };
    memcpy(threads[i].name, described->name, sizeof threads[i].name);
  }
  for (uint32_t i = 1; i < tally->cell_count; i++) {
    const struct hwi_cell *cell = hwi_tally_cell(tally, i);
    struct hwi_profile_thread *thread = &threads[cell->thread];
    uint64_t at_end = hwi_tally_live_at_end(tally, i);
    thread->allocation_calls += cell->calls;
    thread->allocated_bytes += cell->calls * cell->size;
    thread->temporary_calls += cell->temporary_calls;
    thread->live_blocks += at_end;
    thread->live_bytes += at_end * cell->size;
    thread->peak_bytes += cell->peak_live * cell->size;
  }
  result->profile.thread_count = (uint32_t)tally->thread_count;
  return true;
}

static void fill_timeline(struct hwi_result *result)
{
  struct hwi_replay *replay = &result->replay;
  struct hwi_profile *profile = &result->profile;
  if (profile->span.kind == HWI_SPAN_MOMENT)
    return;
  uint64_t end_ns = profile->span.kind == HWI_SPAN_RUN ? profile->duration_ns : profile->span.to_ns;
  profile->timeline = replay->timeline.points;
  profile->timeline_count = hwi_timeline_finish(&replay->timeline, end_ns, replay->level.bytes, replay->level.blocks);
  profile->class_points = replay->class_timeline.points;
  profile->class_point_count = hwi_class_timeline_finish(&replay->class_timeline, end_ns, &replay->tally);
}

bool hwi_result_fill(struct hwi_result *result)
{
  struct hwi_replay *replay = &result->replay;
  struct hwi_profile *profile = &result->profile;
  hwi_frames_freeze(&replay->frames); /* the most memory is needed here: tables of the replay go as soon as they can */
  hwi_tally_freeze(&replay->tally);
  hwi_tally_settle_all(&replay->tally);
  profile->frames = replay->frames.frames;
  profile->frame_count = (uint32_t)replay->frames.count;
  profile->modules = replay->frames.modules;
  profile->module_count = (uint32_t)replay->frames.module_count;
  fill_timeline(result);
  if (!fill_stacks(result) || !fill_growing(result) || !hwi_result_fill_lists(result))
    return false;
  hwi_tally_drop_stacks(&replay->tally);
  return fill_pairs(result) && fill_sizes(result) && fill_cells(result) && fill_threads(result);
}

void hwi_result_release(struct hwi_result *result)
{
  free((void *)result->profile.stacks);
  free((void *)result->profile.growing);
  free((void *)result->profile.together);
  free((void *)result->profile.resizes);
  free((void *)result->profile.stack_sizes);
  free((void *)result->profile.thread_stacks);
  free((void *)result->profile.cells);
  free((void *)result->profile.sizes);
  free((void *)result->profile.threads);
  free((void *)result->profile.images);
  for (uint32_t i = 0; i < result->trace_count; i++)
    hwi_trace_close(result->traces[i]);
  free(result->traces);
  free(result->described);
  hwi_summary_images_release(&result->kept);
  hwi_replay_release(&result->replay);
}
