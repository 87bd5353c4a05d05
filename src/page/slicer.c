/* slicer.c - sums up the events of a run by slice, for the rows of a document */
#include "page/slicer.h"

#include <stdlib.h>
#include <string.h>

#include "profile/profile.h"

enum { ENTRIES_MAX = 1 << 20 }; /* with more, a document would be many times too large anyway */

static int no_memory(struct hwi_error *error)
{
  return hwi_error_set(error, HW_ERR_MEMORY, "no memory to follow the recording along its time");
}

/* --- by thread --- */

static uint32_t row_of_stack(const void *context, const struct hwi_profile_cell *cell)
{
  const struct hwi_page_slicer *slicer = context;
  return slicer->tree->row_of[cell->stack];
}

static uint32_t row_of_size(const void *context, const struct hwi_profile_cell *cell)
{
  const struct hwi_page_slicer *slicer = context;
  return hwi_page_sizes_row(slicer->sizes, slicer->tree->profile->sizes[cell->size].size);
}

static bool has_threads(const struct hwi_page_slicer *slicer)
{
  return slicer->tree->profile->thread_count > 1;
}

static bool pair_stacks(const struct hwi_page_slicer *slicer, struct hwi_page_pairs *pairs)
{
  const struct hwi_page_places places = {row_of_stack, slicer, slicer->threads->row_of, slicer->tree->is_runtime};
  return hwi_page_pairs_init(pairs, slicer->tree->profile, &places, slicer->tree->row_count);
}

static bool pair_sizes(const struct hwi_page_slicer *slicer, struct hwi_page_pairs *pairs)
{
  const struct hwi_page_places places = {row_of_size, slicer, slicer->threads->row_of, slicer->tree->is_runtime};
  return hwi_page_pairs_init(pairs, slicer->tree->profile, &places, slicer->sizes->series_count);
}

/* Rows were merged, so merge their pairs with threads, too. The new pairs get the sums of the old ones. */
static bool reduce_threads(struct hwi_page_slicer *slicer, const uint32_t *to_row)
{
  struct hwi_page_pairs *old = &slicer->stack_threads, made = {0};
  uint32_t *to_pair = calloc((size_t)old->count + 1, sizeof *to_pair);
  bool done = to_pair && pair_stacks(slicer, &made);
  for (uint32_t i = 0; i < old->count && done; i++)
    to_pair[i] = hwi_page_pairs_find(&made, to_row[old->items[i].row], (uint32_t)old->items[i].thread);
  if (done)
    hwi_page_series_merge(&slicer->series[HWI_PAGE_OF_STACK_THREADS], to_pair, NULL);
  hwi_page_pairs_release(done ? old : &made);
  if (done)
    *old = made;
  free(to_pair);
  return done;
}

/* --- less to show --- */

int hwi_page_slicer_reduce(struct hwi_page_slicer *slicer, uint32_t nodes_max, struct hwi_error *error)
{
  struct hwi_page_tree *tree = slicer->tree;
  size_t stacks = tree->profile->stack_count;
  uint32_t *row_of = malloc((stacks + 1) * sizeof *row_of);
  uint32_t *to_row = calloc((size_t)tree->row_count + 1, sizeof *to_row);
  int status = HW_ERR_MEMORY;
  if (row_of && to_row) {
    memcpy(row_of, tree->row_of, stacks * sizeof *row_of);
    status = hwi_page_tree_reduce(tree, nodes_max, error);
    for (size_t s = 1; s < stacks && status == HW_OK; s++)
      to_row[row_of[s]] = tree->row_of[s];
  }
  if (status == HW_OK && has_threads(slicer) && !reduce_threads(slicer, to_row))
    status = HW_ERR_MEMORY;
  if (status == HW_OK)
    hwi_page_series_merge(&slicer->series[HWI_PAGE_OF_STACKS], to_row, NULL);
  free(row_of);
  free(to_row);
  return status == HW_OK ? HW_OK : no_memory(error);
}

void hwi_page_slicer_coarsen(struct hwi_page_slicer *slicer)
{
  uint32_t to_slice[HWI_PAGE_SLICES_MAX];
  hwi_page_slices_join(&slicer->slices, to_slice);
  for (int table = 0; table < HWI_PAGE_TABLES; table++)
    hwi_page_series_merge(&slicer->series[table], NULL, to_slice);
  hwi_sliced_durations_merge(&slicer->durations_along, to_slice);
}

/* --- slices --- */

static bool has_too_many_entries(const struct hwi_page_slicer *slicer)
{
  const struct hwi_page_series *series = slicer->series;
  return series[HWI_PAGE_OF_STACKS].count + series[HWI_PAGE_OF_STACK_THREADS].count > ENTRIES_MAX &&
         slicer->tree->node_count > 1;
}

static void end_series(struct hwi_page_slicer *slicer)
{
  for (int table = 0; table < HWI_PAGE_TABLES; table++)
    slicer->failed |= !hwi_page_series_end_slice(&slicer->series[table], slicer->slice);
  slicer->failed |= !hwi_sliced_durations_end_slice(&slicer->durations_along, slicer->slice);
  while (!slicer->failed && has_too_many_entries(slicer))
    slicer->failed = hwi_page_slicer_reduce(slicer, slicer->tree->node_count / 2, NULL) < 0;
}

static void end_slice(struct hwi_page_slicer *slicer)
{
  struct hwi_slice *slice = &slicer->slices.items[slicer->slice];
  slice->live_bytes = slicer->live.bytes;
  slice->live_blocks = slicer->live.blocks;
  slice->usable_bytes = slicer->live.usable;
  end_series(slicer);
}

static void begin_slice(struct hwi_page_slicer *slicer)
{
  struct hwi_slice *slice = &slicer->slices.items[slicer->slice];
  slice->min_bytes = slice->max_bytes = slicer->live.bytes;
}

static void pass_time(struct hwi_page_slicer *slicer, uint64_t ns)
{
  while (slicer->slice + 1 < slicer->slices.count && ns >= slicer->slices.items[slicer->slice + 1].from_ns) {
    end_slice(slicer);
    slicer->slice++;
    begin_slice(slicer);
  }
}

/* --- events --- */

static int ending_of(const struct hwi_block_event *event)
{
  if (event->kind == HWI_BLOCK_FREE)
    return (int)hwi_lifetime_of(event->temporary, event->ns - event->born_ns);
  return event->kind == HWI_BLOCK_LEFT ? HWI_ENDING_LEFT : HWI_ENDING_UNSEEN;
}

/* The rows that a block belongs to, by table. The first `count` tables have one. */
struct rows {
  uint32_t numbers[HWI_PAGE_TABLES];
  int count;
};

static struct rows find_rows(const struct hwi_page_slicer *slicer, uint32_t of_stack, uint64_t of_size, uint32_t owner)
{
  uint32_t stack = slicer->tree->row_of[of_stack], size = hwi_page_sizes_row(slicer->sizes, of_size),
           thread = slicer->threads->row_of[owner];
  struct rows rows = {.numbers = {stack, size, thread}, .count = HWI_PAGE_OF_STACK_THREADS};
  if (!has_threads(slicer))
    return rows;
  rows.numbers[HWI_PAGE_OF_STACK_THREADS] = hwi_page_pairs_find(&slicer->stack_threads, stack, thread);
  rows.numbers[HWI_PAGE_OF_SIZE_THREADS] = hwi_page_pairs_find(&slicer->size_threads, size, thread);
  rows.count = HWI_PAGE_OF_HANDOVERS;
  return rows;
}

static void take_birth(struct hwi_page_slicer *slicer, const struct hwi_block_event *event)
{
  struct hwi_slice *slice = &slicer->slices.items[slicer->slice];
  const uint64_t bytes = hwi_block_bytes(event);
  slice->allocation_calls += event->weight;
  slice->allocated_bytes += bytes;
  slice->max_bytes = slicer->live.bytes > slice->max_bytes ? slicer->live.bytes : slice->max_bytes;
  slicer->failed |= !hwi_class_peaks_begin(&slicer->class_peaks, event->owner, event->size, event->weight);
  const struct rows rows = find_rows(slicer, event->stack, event->size, event->owner);
  for (int table = 0; table < rows.count; table++) {
    struct hwi_page_entry *entry = hwi_page_series_now(&slicer->series[table], rows.numbers[table]);
    entry->calls += event->weight;
    entry->bytes += bytes;
    entry->live_bytes += (int64_t)bytes;
  }
}

static void enter_handover(struct hwi_page_slicer *slicer, const struct hwi_handover *handover)
{
  const uint32_t *row_of = slicer->threads->row_of;
  uint32_t row = hwi_page_handovers_row(slicer->handovers, row_of[handover->owner], row_of[handover->freer]);
  if (row == UINT32_MAX)
    return;
  struct hwi_page_entry *entry = hwi_page_series_now(&slicer->series[HWI_PAGE_OF_HANDOVERS], row);
  entry->calls += handover->blocks;
  entry->bytes += handover->bytes;
}

static void take_death(struct hwi_page_slicer *slicer, const struct hwi_block_event *event)
{
  struct hwi_slice *slice = &slicer->slices.items[slicer->slice];
  const int ending = ending_of(event);
  hwi_class_peaks_end(&slicer->class_peaks, event->owner, event->size, event->weight);
  slice->free_calls += event->kind == HWI_BLOCK_FREE ? event->weight : 0;
  slice->temporary_calls += event->temporary ? event->weight : 0;
  slice->min_bytes = slicer->live.bytes < slice->min_bytes ? slicer->live.bytes : slice->min_bytes;
  const struct rows rows = find_rows(slicer, event->stack, event->size, event->owner);
  for (int table = 0; table < rows.count; table++) {
    struct hwi_page_entry *entry = hwi_page_series_now(&slicer->series[table], rows.numbers[table]);
    entry->ended[ending] += event->weight;
    entry->live_bytes -= (int64_t)hwi_block_bytes(event);
  }
  if (event->kind == HWI_BLOCK_FREE && event->thread != event->owner)
    enter_handover(slicer, &(struct hwi_handover){event->owner, event->thread, event->weight, hwi_block_bytes(event)});
}

static bool has_pairs(const struct hwi_page_slicer *slicer, const struct hwi_block_event *event, uint32_t size_row)
{
  uint32_t thread = slicer->threads->row_of[event->owner];
  return hwi_page_pairs_have(&slicer->stack_threads, slicer->tree->row_of[event->stack], thread) &&
         hwi_page_pairs_have(&slicer->size_threads, size_row, thread);
}

/* Returns whether the first pass also had the items that the event refers to. */
static bool is_known(const struct hwi_page_slicer *slicer, const struct hwi_block_event *event)
{
  const struct hwi_profile *profile = slicer->tree->profile;
  if (event->kind == HWI_BLOCK_FAILED || event->kind == HWI_BLOCK_FREE_UNKNOWN)
    return true;
  if (event->stack >= profile->stack_count || event->owner >= profile->thread_count ||
      event->thread >= profile->thread_count)
    return false;
  uint32_t size_row = hwi_page_sizes_row(slicer->sizes, event->size);
  return size_row != UINT32_MAX && (!has_threads(slicer) || has_pairs(slicer, event, size_row));
}

/* Calls that the first pass did not see have no row. */
static void time_call(struct hwi_page_slicer *slicer, const struct hwi_block_event *event)
{
  const struct hwi_profile *profile = slicer->tree->profile;
  if (!slicer->is_timed || event->stack >= profile->stack_count || event->thread >= profile->thread_count)
    return;
  slicer->failed |= !hwi_durations_add(&slicer->durations.durations, event) ||
                    !hwi_durations_add(&slicer->durations_along.now, event);
  if (slicer->durations_of_threads) {
    uint32_t row = slicer->threads->row_of[event->thread];
    slicer->failed |= !hwi_durations_add(&slicer->durations_of_threads[row].durations, event);
  }
}

static bool take(void *context, const struct hwi_block_event *event)
{
  struct hwi_page_slicer *slicer = context;
  if (hwi_block_is_call(event) && slicer->calls_left == 0) /* the recording has grown since the first pass */
    return false;
  if (!is_known(slicer, event)) {
    slicer->changed = true;
    return false;
  }
  const uint64_t calls = hwi_block_calls(event);
  slicer->calls_left -= calls < slicer->calls_left ? calls : slicer->calls_left;
  pass_time(slicer, event->ns);
  time_call(slicer, event);
  hwi_instance_list_count(slicer->instances, event);
  hwi_live_sum_count(&slicer->live, event);
  if (event->kind == HWI_BLOCK_ALLOC)
    take_birth(slicer, event);
  else if (event->kind == HWI_BLOCK_FAILED)
    slicer->slices.items[slicer->slice].failed_calls++;
  else if (event->kind == HWI_BLOCK_FREE_UNKNOWN)
    slicer->slices.items[slicer->slice].free_calls++;
  else
    take_death(slicer, event);
  return !slicer->failed;
}

/* --- durations --- */

/* Returns false if there is no memory; so do the next two functions. */
static bool begin_durations(struct hwi_page_slicer *slicer)
{
  const struct hwi_profile *profile = slicer->tree->profile;
  slicer->is_timed = hwi_profile_is_timed(profile);
  hwi_report_durations_begin(&slicer->durations, profile, HWI_SLOW_CALLS_JSON);
  if (!slicer->is_timed || !has_threads(slicer) || (profile->timed_calls && profile->timed_calls->has_too_many_threads))
    return true;
  slicer->durations_of_threads = calloc(slicer->threads->row_count, sizeof *slicer->durations_of_threads);
  return slicer->durations_of_threads;
}

static bool end_durations(struct hwi_page_slicer *slicer)
{
  bool done = hwi_report_durations_end(&slicer->durations);
  for (uint32_t i = 0; i < slicer->threads->row_count && slicer->durations_of_threads; i++)
    done = done && hwi_report_durations_end(&slicer->durations_of_threads[i]);
  return done;
}

/* Takes those that were counted while the run was followed. */
static bool take_durations(struct hwi_page_slicer *slicer)
{
  const struct hwi_timed_calls *calls = slicer->tree->profile->timed_calls;
  bool done = begin_durations(slicer) && hwi_durations_add_all(&slicer->durations.durations, &calls->all) &&
              hwi_sliced_durations_copy(&calls->along, &slicer->durations_along);
  for (uint32_t i = 0; i < calls->thread_count && slicer->durations_of_threads && done; i++)
    done = hwi_durations_add_all(&slicer->durations_of_threads[slicer->threads->row_of[i]].durations,
                                 &calls->of_threads[i]);
  return done && end_durations(slicer);
}

/* --- what was dropped --- */

/* Adds it to the first slice: only its sums are known, and of all of it calls along time. */
static void take_dropped(struct hwi_page_slicer *slicer)
{
  const struct hwi_profile *profile = slicer->tree->profile;
  struct hwi_slice *slice = &slicer->slices.items[0];
  for (size_t i = 0; i < profile->dropped_count; i++) {
    const struct hwi_dropped_blocks *blocks = &profile->dropped[i];
    const struct rows rows = find_rows(slicer, blocks->stack, blocks->size, blocks->thread);
    for (int table = 0; table < rows.count; table++) {
      struct hwi_page_entry *entry = hwi_page_series_now(&slicer->series[table], rows.numbers[table]);
      entry->calls += blocks->calls;
      entry->bytes += blocks->calls * blocks->size;
      for (int ending = 0; ending < HWI_ENDINGS; ending++)
        entry->ended[ending] += blocks->ended[ending];
    }
    slice->allocation_calls += blocks->calls;
    slice->allocated_bytes += blocks->calls * blocks->size;
    slice->temporary_calls += blocks->ended[HWI_LIFETIME_TEMPORARY];
  }
  slice->free_calls += profile->dropped_free_calls;
  slice->failed_calls += profile->dropped_failed_calls;
  hwi_page_slices_spread_dropped(&slicer->slices, profile);
}

/* --- of a run that is followed --- */

static void take_change(struct hwi_page_slicer *slicer, const struct hwi_cell_change *change)
{
  const struct hwi_profile *profile = slicer->tree->profile;
  const struct hwi_profile_cell *cell = &profile->cells[change->cell];
  const uint64_t size = profile->sizes[cell->size].size;
  const struct rows rows = find_rows(slicer, cell->stack, size, cell->thread);
  for (int table = 0; table < rows.count; table++) {
    struct hwi_page_entry *entry = hwi_page_series_now(&slicer->series[table], rows.numbers[table]);
    uint64_t ended = 0;
    for (int ending = 0; ending < HWI_ENDINGS; ending++) {
      entry->ended[ending] += change->ended[ending];
      ended += change->ended[ending];
    }
    entry->calls += change->calls;
    entry->bytes += change->calls * size;
    entry->live_bytes += (int64_t)(change->calls * size) - (int64_t)(ended * size);
  }
}

/* Takes the slices that were counted while the run was followed. */
static void take_history(struct hwi_page_slicer *slicer)
{
  const struct hwi_profile *profile = slicer->tree->profile;
  struct hwi_page_slices *slices = &slicer->slices;
  hwi_page_slices_take(slices, profile);
  size_t at = 0, handover = 0;
  take_dropped(slicer);
  for (uint32_t i = 0; i < slices->count && !slicer->failed; i++) {
    for (; at < profile->history[i].changes_end; at++)
      take_change(slicer, &profile->changes[at]);
    for (; handover < profile->history[i].handovers_end; handover++)
      enter_handover(slicer, &profile->handovers_along[handover]);
    slicer->slice = i;
    end_series(slicer);
  }
  hwi_page_slices_level_dropped(slices, profile);
}

static bool take_scope(void *context, const struct hwi_scope_event *event)
{
  struct hwi_page_slicer *slicer = context;
  const struct hwi_profile *profile = slicer->tree->profile;
  if (event->thread < profile->thread_count && event->path < profile->scope_count) /* the first pass had it */
    slicer->failed |= !hwi_instance_list_take(slicer->instances, event);
  return !slicer->failed;
}

/* --- the whole --- */

static bool begin_series(struct hwi_page_slicer *slicer)
{
  bool done = !has_threads(slicer) ||
              (pair_stacks(slicer, &slicer->stack_threads) && pair_sizes(slicer, &slicer->size_threads));
  const uint32_t row_counts[HWI_PAGE_TABLES] = {slicer->tree->row_count,    slicer->sizes->series_count,
                                                slicer->threads->row_count, slicer->stack_threads.count,
                                                slicer->size_threads.count, slicer->handovers->count};
  for (int table = 0; table < HWI_PAGE_TABLES && done; table++)
    done = hwi_page_series_init(&slicer->series[table], row_counts[table]);
  return done;
}

/* Returns how many of the profile's calls have no events any more. */
static uint64_t dropped_calls(const struct hwi_page_slicer *slicer)
{
  const struct hwi_profile *profile = slicer->tree->profile;
  uint64_t sum = 0;
  for (uint32_t i = 0; profile->span.kind == HWI_SPAN_RUN && i < profile->image_count; i++)
    sum += profile->images[i].counted ? profile->images[i].info->dropped_calls : 0;
  return sum;
}

int hwi_page_slicer_run(struct hwi_page_slicer *slicer, const struct hwi_replayer *replayer, struct hwi_error *error)
{
  if (slicer->tree->profile->history) {
    if (begin_series(slicer))
      take_history(slicer);
    else
      slicer->failed = true;
    return slicer->failed || !take_durations(slicer) ? no_memory(error) : HW_OK;
  }
  if (!hwi_page_slices_init(&slicer->slices, slicer->tree->profile) || !begin_series(slicer) ||
      !begin_durations(slicer))
    return no_memory(error);
  slicer->calls_left = hwi_profile_event_calls(slicer->tree->profile) - dropped_calls(slicer);
  const struct hwi_block_sink sink = {
      .take = take, .context = slicer, .take_scope = slicer->instances->most > 0 ? take_scope : NULL};
  begin_slice(slicer);
  take_dropped(slicer);
  int status = replayer->run(replayer->context, &sink, error);
  pass_time(slicer, UINT64_MAX);
  end_slice(slicer);
  hwi_page_slices_level_dropped(&slicer->slices, slicer->tree->profile);
  if (slicer->failed || !end_durations(slicer) ||
      !hwi_instance_list_end(slicer->instances, slicer->tree->profile->duration_ns))
    return no_memory(error);
  if (status < 0 && status != HW_ERR_LIMIT)
    return status;
  if (slicer->changed || slicer->calls_left > 0)
    return hwi_error_set(error, HW_ERR_DAMAGED, "the recording became another one while it was read; try again");
  return HW_OK;
}

void hwi_page_slicer_release(struct hwi_page_slicer *slicer)
{
  for (int table = 0; table < HWI_PAGE_TABLES; table++)
    hwi_page_series_release(&slicer->series[table]);
  hwi_class_peaks_release(&slicer->class_peaks);
  hwi_page_pairs_release(&slicer->stack_threads);
  hwi_page_pairs_release(&slicer->size_threads);
  hwi_report_durations_release(&slicer->durations);
  hwi_sliced_durations_release(&slicer->durations_along);
  for (uint32_t i = 0; slicer->durations_of_threads && i < slicer->threads->row_count; i++)
    hwi_report_durations_release(&slicer->durations_of_threads[i]);
  free(slicer->durations_of_threads);
}
