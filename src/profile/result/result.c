/* result.c - the result of a replay, in the form of the profile
 *
 * Cells are sorted by their stacks with a counting sort, so that one pass over them is also one pass over the stacks;
 * sizes are sorted by comparison. The result also stores the numbers of cells and sizes in the tally, for a summary
 * whose epochs use these numbers.
 */
#include "profile/result/result.h"

#include <stdlib.h>
#include <string.h>

#include "profile/counters/base_sums.h"
#include "trace/grow.h"
#include "trace/table.h"

/* --- stacks --- */

/* If counting was restarted: adds the blocks that were live then. */
static void add_starts(struct hwi_stack *stacks, const struct hwi_tally *tally)
{
  for (uint32_t i = 1; i < tally->cell_count && i < tally->before_capacity; i++) {
    const struct hwi_cell *cell = hwi_tally_cell(tally, i);
    stacks[cell->stack].start_blocks += tally->before[i];
    stacks[cell->stack].start_bytes += tally->before[i] * cell->size;
  }
}

/* The figures of stacks that are not sums over cells. */
static bool fill_stacks(struct hwi_result *result)
{
  const struct hwi_tally *tally = &result->replay.tally;
  const struct hwi_frame *frames = result->replay.resolver.frames.frames;
  struct hwi_stack *stacks = hwi_table_calloc(tally->stack_count, sizeof *stacks);
  result->profile.stacks = stacks;
  if (!stacks)
    return false;
  for (size_t s = 1; s < tally->stack_count; s++) {
    const struct hwi_stack_tally *from = &tally->stacks[s];
    struct hwi_stack *stack = &stacks[s];
    stack->missed_frees = from->missed_frees;
    stack->failed_calls = from->failed_calls;
    memcpy(stack->lifetimes, from->ended, sizeof from->ended);
    stack->own_peak_bytes = from->own_peak_bytes;
    stack->first_ns = from->first_ns;
    stack->last_ns = from->last_ns;
    stack->frame = from->frame;
    stack->entry = from->frame ? frames[from->frame].entry : HW_ENTRY_NONE;
  }
  add_starts(stacks, tally);
  result->profile.stack_count = (uint32_t)tally->stack_count;
  return true;
}

/* --- growing stacks --- */

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
  if (result->has_base) /* what lives on would seem to have grown */
    return true;
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
    memcpy(threads[i].name, described->name, sizeof described->name);
  }
  result->profile.thread_count = (uint32_t)tally->thread_count;
  return true;
}

static void fill_dropped(struct hwi_result *result)
{
  const struct hwi_dropped_sums *dropped = &result->replay.dropped;
  result->profile.dropped = dropped->items;
  result->profile.dropped_count = dropped->count;
  result->profile.dropped_slices = dropped->slices;
  result->profile.dropped_slice_count = dropped->slice_count;
  result->profile.dropped_free_calls = dropped->free_calls;
  result->profile.dropped_failed_calls = dropped->failed_calls;
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
  if (result->has_base && result->trace_count == 1)
    hwi_base_add_to_timeline(result->traces[0], replay->timeline.points, profile->timeline_count);
  profile->class_points = replay->class_timeline.points;
  profile->class_point_count = hwi_class_timeline_finish(&replay->class_timeline, end_ns, &replay->tally);
}

/* --- sizes --- */

static int compare_sizes(const void *left, const void *right, void *context)
{
  const struct hwi_size_tally *sizes = context;
  uint64_t a = sizes[*(const uint32_t *)left].size, b = sizes[*(const uint32_t *)right].size;
  return a < b ? -1 : a > b;
}

static bool fill_sizes(struct hwi_result *result)
{
  const struct hwi_tally *tally = &result->replay.tally;
  uint32_t count = (uint32_t)tally->size_count - 1;
  struct hwi_size *sizes = calloc(tally->size_count, sizeof *sizes);
  uint32_t *numbers = calloc(tally->size_count, sizeof *numbers);
  result->profile.sizes = sizes;
  result->size_numbers = numbers;
  if (!sizes || !numbers)
    return false;
  for (uint32_t i = 0; i < count; i++)
    numbers[i] = i + 1;
  qsort_r(numbers, count, sizeof *numbers, compare_sizes, tally->sizes);
  for (uint32_t i = 0; i < count; i++) {
    sizes[i].size = tally->sizes[numbers[i]].size;
    sizes[i].own_peak_blocks = tally->sizes[numbers[i]].own_peak;
  }
  result->profile.size_count = count;
  return true;
}

/* --- cells --- */

/* Returns the cells' numbers, sorted by stack. */
static bool order_by_stack(struct hwi_result *result)
{
  const struct hwi_tally *tally = &result->replay.tally;
  uint32_t *numbers = calloc(tally->cell_count, sizeof *numbers);
  uint32_t *next = calloc(tally->stack_count + 1, sizeof *next); /* index for the next cell of the stack */
  result->cell_numbers = numbers;
  for (uint32_t i = 1; i < tally->cell_count && numbers && next; i++)
    next[hwi_tally_cell(tally, i)->stack + 1]++;
  for (size_t s = 1; s <= tally->stack_count && next; s++)
    next[s] += next[s - 1];
  for (uint32_t i = 1; i < tally->cell_count && numbers && next; i++)
    numbers[next[hwi_tally_cell(tally, i)->stack]++] = i;
  bool done = numbers && next;
  free(next);
  return done;
}

/* Returns, for each size number, its index among the sizes. Returns NULL if there is no memory. */
static uint32_t *index_sizes(const struct hwi_result *result)
{
  uint32_t *indices = calloc(result->replay.tally.size_count, sizeof *indices);
  for (uint32_t i = 0; indices && i < result->profile.size_count; i++)
    indices[result->size_numbers[i]] = i;
  return indices;
}

static bool fill_cells(struct hwi_result *result)
{
  const struct hwi_tally *tally = &result->replay.tally;
  uint32_t *sizes = index_sizes(result);
  struct hwi_profile_cell *cells = hwi_table_calloc(tally->cell_count, sizeof *cells);
  bool done = sizes && cells;
  for (uint32_t i = 0; done && i + 1 < tally->cell_count; i++) {
    const uint32_t number = result->cell_numbers[i];
    const struct hwi_cell *cell = hwi_tally_cell(tally, number);
    const struct hwi_scopes *scopes = tally->scopes;
    cells[i] = (struct hwi_profile_cell){.thread = hwi_tally_thread_of(tally, cell),
                                         .scope = scopes ? hwi_scopes_context_at(scopes, cell->context).path : 0,
                                         .stack = cell->stack,
                                         .size = sizes[cell->size_number],
                                         .usable = cell->usable,
                                         .calls = cell->calls,
                                         .temporary_calls = cell->temporary_calls,
                                         .peak_blocks = cell->peak_live,
                                         .live_blocks = hwi_tally_live_at_end(tally, number)};
  }
  result->profile.cells = cells;
  result->profile.cell_count = done ? tally->cell_count - 1 : 0;
  free(sizes);
  return done;
}

/* Gives the changes along time the numbers of the profile's cells. */
static bool fill_history(struct hwi_result *result)
{
  struct hwi_history *history = &result->replay.history;
  if (!history->is_kept)
    return true;
  uint32_t *index_of = hwi_table_calloc(result->replay.tally.cell_count, sizeof *index_of);
  for (uint32_t i = 0; index_of && i < result->profile.cell_count; i++)
    index_of[result->cell_numbers[i]] = i;
  const bool done = index_of && hwi_history_publish(history, index_of, &result->profile);
  free(index_of);
  return done;
}

static bool fill_cells_and_sizes(struct hwi_result *result)
{
  return fill_sizes(result) && order_by_stack(result) && fill_cells(result) && fill_history(result);
}

/* --- all lists --- */

static void fill_scopes(struct hwi_result *result)
{
  struct hwi_replay *replay = &result->replay;
  if (!replay->tally.scopes)
    return;
  struct hwi_scope *scopes = hwi_scopes_paths(replay->tally.scopes, &result->profile.scope_count);
  for (uint32_t i = 1; i < result->profile.scope_count; i++)
    scopes[i].name = replay->resolver.scope_names.strings[hwi_scopes_name(replay->tally.scopes, i)].text;
  result->profile.scopes = scopes;
  result->profile.breaches = hwi_scopes_breaches(replay->tally.scopes, &result->profile.breach_count);
}

static bool fill_notes(struct hwi_result *result)
{
  const struct hwi_tally *tally = &result->replay.tally;
  const struct hwi_store *names = &result->replay.resolver.scope_names;
  fill_scopes(result);
  return (!tally->annotations || hwi_annotations_publish(tally->annotations, names, &result->profile)) &&
         (!tally->heaps || hwi_heap_tally_publish(tally->heaps, names, &result->profile));
}

bool hwi_result_fill(struct hwi_result *result)
{
  struct hwi_replay *replay = &result->replay;
  if (!hwi_replay_end_history(replay, result->profile.duration_ns))
    return false;
  hwi_replay_freeze(replay); /* memory use is highest here, so tables of the replay are released as soon as possible */
  hwi_tally_settle_all(&replay->tally);
  hwi_result_publish_frames(result);
  fill_timeline(result);
  fill_dropped(result);
  if (!fill_notes(result) || !fill_stacks(result) || !fill_growing(result) || !hwi_result_fill_lists(result))
    return false;
  hwi_tally_drop_stacks(&replay->tally);
  bool done = fill_cells_and_sizes(result) && fill_threads(result);
  hwi_tally_drop_cells(&replay->tally);
  return done;
}

void hwi_result_publish_frames(struct hwi_result *result)
{
  const struct hwi_frames *frames = &result->replay.resolver.frames;
  struct hwi_profile *profile = &result->profile;
  profile->frames = frames->frames;
  profile->frame_count = (uint32_t)frames->count;
  profile->modules = frames->modules;
  profile->module_count = (uint32_t)frames->module_count;
}

/* --- sums over cells, by stack, by size and by thread --- */

static void add_to_stack(struct hwi_stack *stack, const struct hwi_profile_cell *cell, uint64_t size)
{
  if (cell->calls) {
    if (!stack->calls || size < stack->smallest)
      stack->smallest = size;
    if (size > stack->largest)
      stack->largest = size;
  }
  stack->calls += cell->calls;
  stack->bytes += cell->calls * size;
  stack->usable += cell->calls * cell->usable;
  stack->temporary_calls += cell->temporary_calls;
  stack->live_blocks += cell->live_blocks;
  stack->live_bytes += cell->live_blocks * size;
  stack->peak_blocks += cell->peak_blocks;
  stack->peak_bytes += cell->peak_blocks * size;
  stack->peak_usable += cell->peak_blocks * cell->usable;
}

static void add_to_size(struct hwi_size *size, const struct hwi_profile_cell *cell)
{
  size->calls += cell->calls;
  size->live_blocks += cell->live_blocks;
  size->peak_blocks += cell->peak_blocks;
  size->temporary_calls += cell->temporary_calls;
  size->peak_usable += cell->peak_blocks * cell->usable;
}

static void add_to_thread(struct hwi_profile_thread *thread, const struct hwi_profile_cell *cell, uint64_t size)
{
  thread->allocation_calls += cell->calls;
  thread->allocated_bytes += cell->calls * size;
  thread->temporary_calls += cell->temporary_calls;
  thread->live_blocks += cell->live_blocks;
  thread->live_bytes += cell->live_blocks * size;
  thread->peak_bytes += cell->peak_blocks * size;
}

/* In a sample, all calls of the threads may be known. */
static void take_all_calls(const struct hwi_result *result, struct hwi_profile_thread *threads)
{
  const struct hwi_profile *profile = &result->profile;
  for (uint32_t i = 0; i < profile->thread_count && profile->sample_bytes && profile->calls_are_exact; i++) {
    const struct hwi_call_counts *calls = &result->replay.tally.threads[i].calls;
    threads[i].allocation_calls = calls->allocation_calls;
    threads[i].allocated_bytes = calls->allocated_bytes;
    threads[i].free_calls = calls->free_calls;
  }
}

void hwi_result_sum_up(struct hwi_result *result)
{
  const struct hwi_profile *profile = &result->profile;
  struct hwi_stack *stacks = (struct hwi_stack *)profile->stacks; /* owned by the result; so are the next ones */
  struct hwi_size *sizes = (struct hwi_size *)profile->sizes;
  struct hwi_profile_thread *threads = (struct hwi_profile_thread *)profile->threads;
  for (uint32_t i = 0; i < profile->cell_count; i++) {
    const struct hwi_profile_cell *cell = &profile->cells[i];
    const uint64_t size = sizes[cell->size].size;
    add_to_stack(&stacks[cell->stack], cell, size);
    add_to_size(&sizes[cell->size], cell);
    add_to_thread(&threads[cell->thread], cell, size);
    if (profile->sample_bytes)
      hwi_variance_add_cell(&stacks[cell->stack].variance, profile, cell);
  }
  take_all_calls(result, threads);
  for (uint32_t s = 1; s < profile->stack_count; s++) {
    struct hwi_stack *stack = &stacks[s];
    stack->free_calls = stack->start_blocks + stack->calls - stack->live_blocks - stack->missed_frees;
    stack->lifetimes[HWI_LIFETIME_UNTIL_END] = stack->live_blocks;
  }
}

/* --- the end --- */

void hwi_result_release_lists(struct hwi_result *result)
{
  struct hwi_profile *profile = &result->profile;
  const void *const lists[] = {profile->stacks, profile->growing, profile->together, profile->resizes,
                               profile->cells,  profile->sizes,   profile->threads};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    free((void *)lists[i]);
  profile->stacks = NULL;
  profile->growing = NULL;
  profile->together = NULL;
  profile->resizes = NULL;
  profile->cells = NULL;
  profile->sizes = NULL;
  profile->threads = NULL;
  profile->stack_count = profile->growing_count = profile->together_count = profile->resize_count = 0;
  profile->cell_count = profile->size_count = profile->thread_count = 0;
}

void hwi_result_release(struct hwi_result *result)
{
  hwi_result_release_lists(result);
  free((void *)result->profile.images);
  for (uint32_t i = 0; i < result->trace_count; i++)
    hwi_trace_close(result->traces[i]);
  free(result->traces);
  free(result->described);
  free(result->cell_numbers);
  free(result->size_numbers);
  hwi_list_release(&result->epoch_rows);
  hwi_list_release(&result->nodes);
  hwi_store_release(&result->instance_texts);
  hwi_restored_images_release(&result->restored);
  hwi_restored_scopes_release(&result->restored_scopes);
  hwi_replay_release(&result->replay);
}
