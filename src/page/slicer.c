/* slicer.c - sums up the events of a run by slice, for the rows of a document */
#include "page/slicer.h"

#include <stdlib.h>
#include <string.h>

#include "profile/counters/lifetimes.h"

enum { ENTRIES_MAX = 1 << 20 }; /* with more, a document would be many times too large anyway */

static int no_memory(struct hwi_error *error)
{
  return hwi_error_set(error, HW_ERR_MEMORY, "no memory to follow the recording along its time");
}

/* --- by thread --- */

static uint32_t row_of_stack(const void *context, const struct hwi_profile_cell *cell)
{
  const struct hwi_page_slicer *watch = context;
  return watch->cut->row_of[cell->stack];
}

static uint32_t row_of_size(const void *context, const struct hwi_profile_cell *cell)
{
  const struct hwi_page_slicer *watch = context;
  return hwi_page_sizes_row(watch->sizes, watch->cut->profile->sizes[cell->size].size);
}

static bool has_threads(const struct hwi_page_slicer *watch)
{
  return watch->cut->profile->thread_count > 1;
}

static bool pair_stacks(const struct hwi_page_slicer *watch, struct hwi_page_pairs *pairs)
{
  const struct hwi_page_places places = {row_of_stack, watch, watch->threads->row_of, watch->cut->is_runtime};
  return hwi_page_pairs_init(pairs, watch->cut->profile, &places, watch->cut->row_count);
}

static bool begin_threads(struct hwi_page_slicer *watch)
{
  const struct hwi_page_places places = {row_of_size, watch, watch->threads->row_of, watch->cut->is_runtime};
  return !has_threads(watch) ||
         (pair_stacks(watch, &watch->stack_threads) &&
          hwi_page_pairs_init(&watch->size_threads, watch->cut->profile, &places, watch->sizes->series_count) &&
          hwi_page_series_init(&watch->of_stack_threads, watch->stack_threads.count) &&
          hwi_page_series_init(&watch->of_size_threads, watch->size_threads.count));
}

/* Rows were merged, so merge their pairs with threads, too. The new pairs get the sums of the old ones. */
static bool lower_threads(struct hwi_page_slicer *watch, const uint32_t *to_row)
{
  struct hwi_page_pairs *old = &watch->stack_threads, made = {0};
  uint32_t *to_pair = calloc((size_t)old->count + 1, sizeof *to_pair);
  bool done = to_pair != NULL && pair_stacks(watch, &made);
  for (uint32_t i = 0; i < old->count && done; i++)
    to_pair[i] = hwi_page_pairs_find(&made, to_row[old->items[i].row], (uint32_t)old->items[i].thread);
  if (done)
    hwi_page_series_merge(&watch->of_stack_threads, to_pair, NULL);
  hwi_page_pairs_release(done ? old : &made);
  if (done)
    *old = made;
  free(to_pair);
  return done;
}

/* --- less to show --- */

int hwi_page_slicer_lower(struct hwi_page_slicer *watch, uint32_t nodes_max, struct hwi_error *error)
{
  struct hwi_page_cut *cut = watch->cut;
  size_t stacks = cut->profile->stack_count;
  uint32_t *row_of = malloc((stacks + 1) * sizeof *row_of);
  uint32_t *to_row = calloc((size_t)cut->row_count + 1, sizeof *to_row);
  int status = HW_ERR_MEMORY;
  if (row_of != NULL && to_row != NULL) {
    memcpy(row_of, cut->row_of, stacks * sizeof *row_of);
    status = hwi_page_cut_lower(cut, nodes_max, error);
    for (size_t s = 1; s < stacks && status == HW_OK; s++)
      to_row[row_of[s]] = cut->row_of[s];
  }
  if (status == HW_OK && has_threads(watch) && !lower_threads(watch, to_row))
    status = HW_ERR_MEMORY;
  if (status == HW_OK)
    hwi_page_series_merge(&watch->of_stacks, to_row, NULL);
  free(row_of);
  free(to_row);
  return status == HW_OK ? HW_OK : no_memory(error);
}

void hwi_page_slicer_coarsen(struct hwi_page_slicer *watch)
{
  uint32_t to_slice[HWI_PAGE_SLICES_MAX];
  hwi_page_slices_join(&watch->slices, to_slice);
  hwi_page_series_merge(&watch->of_stacks, NULL, to_slice);
  hwi_page_series_merge(&watch->of_sizes, NULL, to_slice);
  hwi_page_series_merge(&watch->of_threads, NULL, to_slice);
  hwi_page_series_merge(&watch->of_handovers, NULL, to_slice);
  hwi_page_series_merge(&watch->of_stack_threads, NULL, to_slice);
  hwi_page_series_merge(&watch->of_size_threads, NULL, to_slice);
  hwi_page_durations_merge(&watch->durations_along, to_slice);
}

/* --- slices --- */

static void end_slice(struct hwi_page_slicer *watch)
{
  struct hwi_page_slice *slice = &watch->slices.items[watch->slice];
  slice->live_bytes = watch->bytes;
  slice->live_blocks = watch->blocks;
  slice->usable_bytes = watch->usable;
  watch->failed |= !hwi_page_series_end_slice(&watch->of_stacks, watch->slice) ||
                   !hwi_page_series_end_slice(&watch->of_sizes, watch->slice) ||
                   !hwi_page_series_end_slice(&watch->of_threads, watch->slice) ||
                   !hwi_page_series_end_slice(&watch->of_handovers, watch->slice) ||
                   !hwi_page_series_end_slice(&watch->of_stack_threads, watch->slice) ||
                   !hwi_page_series_end_slice(&watch->of_size_threads, watch->slice) ||
                   !hwi_page_durations_end_slice(&watch->durations_along, watch->slice);
  while (!watch->failed && watch->of_stacks.count + watch->of_stack_threads.count > ENTRIES_MAX &&
         watch->cut->node_count > 1)
    watch->failed = hwi_page_slicer_lower(watch, watch->cut->node_count / 2, NULL) < 0;
}

static void begin_slice(struct hwi_page_slicer *watch)
{
  struct hwi_page_slice *slice = &watch->slices.items[watch->slice];
  slice->min_bytes = slice->max_bytes = watch->bytes;
}

static void pass_time(struct hwi_page_slicer *watch, uint64_t ns)
{
  while (watch->slice + 1 < watch->slices.count && ns >= watch->slices.items[watch->slice + 1].from_ns) {
    end_slice(watch);
    watch->slice++;
    begin_slice(watch);
  }
}

/* --- events --- */

static void enter_birth(struct hwi_page_series *ledger, uint32_t row, const struct hwi_block_event *event)
{
  struct hwi_page_entry *entry = hwi_page_series_now(ledger, row);
  entry->calls++;
  entry->bytes += event->size;
  entry->live_bytes += (int64_t)event->size;
}

static int ending_of(const struct hwi_block_event *event)
{
  if (event->kind == HWI_BLOCK_FREE)
    return (int)hwi_lifetime_of(event->temporary, event->ns - event->born_ns);
  return event->kind == HWI_BLOCK_LEFT ? HWI_PAGE_LEFT : HWI_PAGE_UNSEEN;
}

static void enter_death(struct hwi_page_series *ledger, uint32_t row, const struct hwi_block_event *event, int ending)
{
  struct hwi_page_entry *entry = hwi_page_series_now(ledger, row);
  entry->ended[ending]++;
  entry->live_bytes -= (int64_t)event->size;
}

/* The indices of the pairs that a block belongs to. */
struct pair_of {
  uint32_t stack, size;
};

static struct pair_of find_pairs(const struct hwi_page_slicer *watch, const struct hwi_block_event *event)
{
  uint32_t thread = watch->threads->row_of[event->owner];
  return (struct pair_of){
      hwi_page_pairs_find(&watch->stack_threads, watch->cut->row_of[event->stack], thread),
      hwi_page_pairs_find(&watch->size_threads, hwi_page_sizes_row(watch->sizes, event->size), thread)};
}

static void take_birth(struct hwi_page_slicer *watch, const struct hwi_block_event *event)
{
  struct hwi_page_slice *slice = &watch->slices.items[watch->slice];
  slice->allocation_calls++;
  slice->allocated_bytes += event->size;
  watch->bytes += event->size;
  watch->usable += event->usable;
  watch->blocks++;
  slice->max_bytes = watch->bytes > slice->max_bytes ? watch->bytes : slice->max_bytes;
  enter_birth(&watch->of_stacks, watch->cut->row_of[event->stack], event);
  enter_birth(&watch->of_sizes, hwi_page_sizes_row(watch->sizes, event->size), event);
  enter_birth(&watch->of_threads, watch->threads->row_of[event->owner], event);
  if (!has_threads(watch))
    return;
  const struct pair_of pair = find_pairs(watch, event);
  enter_birth(&watch->of_stack_threads, pair.stack, event);
  enter_birth(&watch->of_size_threads, pair.size, event);
}

/* A handed-over block is counted as a call of the pair. */
static void enter_handover(struct hwi_page_slicer *watch, const struct hwi_block_event *event)
{
  const uint32_t *row_of = watch->threads->row_of;
  if (event->kind != HWI_BLOCK_FREE || event->thread == event->owner)
    return;
  uint32_t row = hwi_page_handovers_row(watch->handovers, row_of[event->owner], row_of[event->thread]);
  if (row == UINT32_MAX)
    return;
  struct hwi_page_entry *entry = hwi_page_series_now(&watch->of_handovers, row);
  entry->calls++;
  entry->bytes += event->size;
}

static void take_death(struct hwi_page_slicer *watch, const struct hwi_block_event *event)
{
  struct hwi_page_slice *slice = &watch->slices.items[watch->slice];
  const int ending = ending_of(event);
  slice->free_calls += event->kind == HWI_BLOCK_FREE;
  slice->temporary_calls += event->temporary;
  watch->bytes -= event->size;
  watch->usable -= event->usable;
  watch->blocks--;
  slice->min_bytes = watch->bytes < slice->min_bytes ? watch->bytes : slice->min_bytes;
  enter_death(&watch->of_stacks, watch->cut->row_of[event->stack], event, ending);
  enter_death(&watch->of_sizes, hwi_page_sizes_row(watch->sizes, event->size), event, ending);
  enter_death(&watch->of_threads, watch->threads->row_of[event->owner], event, ending);
  if (!has_threads(watch))
    return;
  enter_handover(watch, event);
  const struct pair_of pair = find_pairs(watch, event);
  enter_death(&watch->of_stack_threads, pair.stack, event, ending);
  enter_death(&watch->of_size_threads, pair.size, event, ending);
}

static bool has_pairs(const struct hwi_page_slicer *watch, const struct hwi_block_event *event, uint32_t size_row)
{
  uint32_t thread = watch->threads->row_of[event->owner];
  return hwi_page_pairs_have(&watch->stack_threads, watch->cut->row_of[event->stack], thread) &&
         hwi_page_pairs_have(&watch->size_threads, size_row, thread);
}

/* Returns whether the first pass also had the items that the event refers to. */
static bool is_known(const struct hwi_page_slicer *watch, const struct hwi_block_event *event)
{
  const struct hwi_profile *profile = watch->cut->profile;
  if (event->kind == HWI_BLOCK_FAILED || event->kind == HWI_BLOCK_FREE_UNKNOWN)
    return true;
  if (event->stack >= profile->stack_count || event->owner >= profile->thread_count ||
      event->thread >= profile->thread_count)
    return false;
  uint32_t size_row = hwi_page_sizes_row(watch->sizes, event->size);
  return size_row != UINT32_MAX && (!has_threads(watch) || has_pairs(watch, event, size_row));
}

/* Calls that the first pass did not see have no row. */
static void time_call(struct hwi_page_slicer *watch, const struct hwi_block_event *event)
{
  const struct hwi_profile *profile = watch->cut->profile;
  if (!watch->is_timed || event->stack >= profile->stack_count || event->thread >= profile->thread_count)
    return;
  watch->failed |=
      !hwi_durations_add(&watch->durations.durations, event) || !hwi_durations_add(&watch->durations_along.now, event);
  if (watch->durations_of_threads != NULL) {
    uint32_t row = watch->threads->row_of[event->thread];
    watch->failed |= !hwi_durations_add(&watch->durations_of_threads[row].durations, event);
  }
}

static bool take(void *context, const struct hwi_block_event *event)
{
  struct hwi_page_slicer *watch = context;
  if (hwi_block_is_call(event) && watch->calls_left == 0) /* the recording has grown since the first pass */
    return false;
  if (!is_known(watch, event)) {
    watch->changed = true;
    return false;
  }
  watch->calls_left -= hwi_block_is_call(event);
  pass_time(watch, event->ns);
  time_call(watch, event);
  if (event->kind == HWI_BLOCK_ALLOC)
    take_birth(watch, event);
  else if (event->kind == HWI_BLOCK_FAILED)
    watch->slices.items[watch->slice].failed_calls++;
  else if (event->kind == HWI_BLOCK_FREE_UNKNOWN)
    watch->slices.items[watch->slice].free_calls++;
  else
    take_death(watch, event);
  return !watch->failed;
}

/* --- the whole --- */

/* Returns false if there is no memory. */
static bool begin_durations(struct hwi_page_slicer *watch)
{
  const struct hwi_profile *profile = watch->cut->profile;
  watch->is_timed = hwi_profile_is_timed(profile);
  hwi_report_durations_begin(&watch->durations, profile, HWI_SLOW_CALLS_JSON);
  if (!watch->is_timed || !has_threads(watch))
    return true;
  watch->durations_of_threads = calloc(watch->threads->row_count, sizeof *watch->durations_of_threads);
  return watch->durations_of_threads != NULL;
}

static bool end_durations(struct hwi_page_slicer *watch)
{
  bool done = hwi_report_durations_end(&watch->durations);
  for (uint32_t i = 0; i < watch->threads->row_count && watch->durations_of_threads != NULL; i++)
    done = done && hwi_report_durations_end(&watch->durations_of_threads[i]);
  return done;
}

int hwi_page_slicer_run(struct hwi_page_slicer *watch, const struct hwi_replayer *replayer, struct hwi_error *error)
{
  const struct hwi_totals *totals = &watch->cut->profile->totals;
  hwi_page_slices_init(&watch->slices, watch->cut->profile);
  if (!hwi_page_series_init(&watch->of_stacks, watch->cut->row_count) ||
      !hwi_page_series_init(&watch->of_sizes, watch->sizes->series_count) ||
      !hwi_page_series_init(&watch->of_threads, watch->threads->row_count) ||
      !hwi_page_series_init(&watch->of_handovers, watch->handovers->count) || !begin_threads(watch) ||
      !begin_durations(watch))
    return no_memory(error);
  watch->calls_left = totals->allocation_calls + totals->free_calls + totals->failed_calls;
  const struct hwi_block_sink sink = {take, watch};
  begin_slice(watch);
  int status = replayer->run(replayer->context, &sink, error);
  pass_time(watch, UINT64_MAX);
  end_slice(watch);
  if (watch->failed || !end_durations(watch))
    return no_memory(error);
  if (status < 0 && status != HW_ERR_LIMIT)
    return status;
  if (watch->changed || watch->calls_left > 0)
    return hwi_error_set(error, HW_ERR_DAMAGED, "the recording became another one while it was read; try again");
  return HW_OK;
}

void hwi_page_slicer_release(struct hwi_page_slicer *watch)
{
  hwi_page_series_release(&watch->of_stacks);
  hwi_page_series_release(&watch->of_sizes);
  hwi_page_series_release(&watch->of_threads);
  hwi_page_series_release(&watch->of_handovers);
  hwi_page_series_release(&watch->of_stack_threads);
  hwi_page_series_release(&watch->of_size_threads);
  hwi_page_pairs_release(&watch->stack_threads);
  hwi_page_pairs_release(&watch->size_threads);
  hwi_report_durations_release(&watch->durations);
  hwi_page_durations_release(&watch->durations_along);
  for (uint32_t i = 0; watch->durations_of_threads != NULL && i < watch->threads->row_count; i++)
    hwi_report_durations_release(&watch->durations_of_threads[i]);
  free(watch->durations_of_threads);
}
