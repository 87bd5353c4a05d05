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
  return slicer->cut->row_of[cell->stack];
}

static uint32_t row_of_size(const void *context, const struct hwi_profile_cell *cell)
{
  const struct hwi_page_slicer *slicer = context;
  return hwi_page_sizes_row(slicer->sizes, slicer->cut->profile->sizes[cell->size].size);
}

static bool has_threads(const struct hwi_page_slicer *slicer)
{
  return slicer->cut->profile->thread_count > 1;
}

static bool pair_stacks(const struct hwi_page_slicer *slicer, struct hwi_page_pairs *pairs)
{
  const struct hwi_page_places places = {row_of_stack, slicer, slicer->threads->row_of, slicer->cut->is_runtime};
  return hwi_page_pairs_init(pairs, slicer->cut->profile, &places, slicer->cut->row_count);
}

static bool begin_threads(struct hwi_page_slicer *slicer)
{
  const struct hwi_page_places places = {row_of_size, slicer, slicer->threads->row_of, slicer->cut->is_runtime};
  return !has_threads(slicer) ||
         (pair_stacks(slicer, &slicer->stack_threads) &&
          hwi_page_pairs_init(&slicer->size_threads, slicer->cut->profile, &places, slicer->sizes->series_count) &&
          hwi_page_series_init(&slicer->of_stack_threads, slicer->stack_threads.count) &&
          hwi_page_series_init(&slicer->of_size_threads, slicer->size_threads.count));
}

/* Rows were merged, so merge their pairs with threads, too. The new pairs get the sums of the old ones. */
static bool lower_threads(struct hwi_page_slicer *slicer, const uint32_t *to_row)
{
  struct hwi_page_pairs *old = &slicer->stack_threads, made = {0};
  uint32_t *to_pair = calloc((size_t)old->count + 1, sizeof *to_pair);
  bool done = to_pair && pair_stacks(slicer, &made);
  for (uint32_t i = 0; i < old->count && done; i++)
    to_pair[i] = hwi_page_pairs_find(&made, to_row[old->items[i].row], (uint32_t)old->items[i].thread);
  if (done)
    hwi_page_series_merge(&slicer->of_stack_threads, to_pair, NULL);
  hwi_page_pairs_release(done ? old : &made);
  if (done)
    *old = made;
  free(to_pair);
  return done;
}

/* --- less to show --- */

int hwi_page_slicer_lower(struct hwi_page_slicer *slicer, uint32_t nodes_max, struct hwi_error *error)
{
  struct hwi_page_cut *cut = slicer->cut;
  size_t stacks = cut->profile->stack_count;
  uint32_t *row_of = malloc((stacks + 1) * sizeof *row_of);
  uint32_t *to_row = calloc((size_t)cut->row_count + 1, sizeof *to_row);
  int status = HW_ERR_MEMORY;
  if (row_of && to_row) {
    memcpy(row_of, cut->row_of, stacks * sizeof *row_of);
    status = hwi_page_cut_lower(cut, nodes_max, error);
    for (size_t s = 1; s < stacks && status == HW_OK; s++)
      to_row[row_of[s]] = cut->row_of[s];
  }
  if (status == HW_OK && has_threads(slicer) && !lower_threads(slicer, to_row))
    status = HW_ERR_MEMORY;
  if (status == HW_OK)
    hwi_page_series_merge(&slicer->of_stacks, to_row, NULL);
  free(row_of);
  free(to_row);
  return status == HW_OK ? HW_OK : no_memory(error);
}

void hwi_page_slicer_coarsen(struct hwi_page_slicer *slicer)
{
  uint32_t to_slice[HWI_PAGE_SLICES_MAX];
  hwi_page_slices_join(&slicer->slices, to_slice);
  hwi_page_series_merge(&slicer->of_stacks, NULL, to_slice);
  hwi_page_series_merge(&slicer->of_sizes, NULL, to_slice);
  hwi_page_series_merge(&slicer->of_threads, NULL, to_slice);
  hwi_page_series_merge(&slicer->of_handovers, NULL, to_slice);
  hwi_page_series_merge(&slicer->of_stack_threads, NULL, to_slice);
  hwi_page_series_merge(&slicer->of_size_threads, NULL, to_slice);
  hwi_page_durations_merge(&slicer->durations_along, to_slice);
}

/* --- slices --- */

static void end_slice(struct hwi_page_slicer *slicer)
{
  struct hwi_page_slice *slice = &slicer->slices.items[slicer->slice];
  slice->live_bytes = slicer->bytes;
  slice->live_blocks = slicer->blocks;
  slice->usable_bytes = slicer->usable;
  slicer->failed |= !hwi_page_series_end_slice(&slicer->of_stacks, slicer->slice) ||
                    !hwi_page_series_end_slice(&slicer->of_sizes, slicer->slice) ||
                    !hwi_page_series_end_slice(&slicer->of_threads, slicer->slice) ||
                    !hwi_page_series_end_slice(&slicer->of_handovers, slicer->slice) ||
                    !hwi_page_series_end_slice(&slicer->of_stack_threads, slicer->slice) ||
                    !hwi_page_series_end_slice(&slicer->of_size_threads, slicer->slice) ||
                    !hwi_page_durations_end_slice(&slicer->durations_along, slicer->slice);
  while (!slicer->failed && slicer->of_stacks.count + slicer->of_stack_threads.count > ENTRIES_MAX &&
         slicer->cut->node_count > 1)
    slicer->failed = hwi_page_slicer_lower(slicer, slicer->cut->node_count / 2, NULL) < 0;
}

static void begin_slice(struct hwi_page_slicer *slicer)
{
  struct hwi_page_slice *slice = &slicer->slices.items[slicer->slice];
  slice->min_bytes = slice->max_bytes = slicer->bytes;
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

static void enter_birth(struct hwi_page_series *series, uint32_t row, const struct hwi_block_event *event)
{
  struct hwi_page_entry *entry = hwi_page_series_now(series, row);
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

static void enter_death(struct hwi_page_series *series, uint32_t row, const struct hwi_block_event *event, int ending)
{
  struct hwi_page_entry *entry = hwi_page_series_now(series, row);
  entry->ended[ending]++;
  entry->live_bytes -= (int64_t)event->size;
}

/* The indices of the pairs that a block belongs to. */
struct pair_of {
  uint32_t stack, size;
};

static struct pair_of find_pairs(const struct hwi_page_slicer *slicer, const struct hwi_block_event *event)
{
  uint32_t thread = slicer->threads->row_of[event->owner];
  return (struct pair_of){
      hwi_page_pairs_find(&slicer->stack_threads, slicer->cut->row_of[event->stack], thread),
      hwi_page_pairs_find(&slicer->size_threads, hwi_page_sizes_row(slicer->sizes, event->size), thread)};
}

static void take_birth(struct hwi_page_slicer *slicer, const struct hwi_block_event *event)
{
  struct hwi_page_slice *slice = &slicer->slices.items[slicer->slice];
  slice->allocation_calls++;
  slice->allocated_bytes += event->size;
  slicer->bytes += event->size;
  slicer->usable += event->usable;
  slicer->blocks++;
  slice->max_bytes = slicer->bytes > slice->max_bytes ? slicer->bytes : slice->max_bytes;
  enter_birth(&slicer->of_stacks, slicer->cut->row_of[event->stack], event);
  enter_birth(&slicer->of_sizes, hwi_page_sizes_row(slicer->sizes, event->size), event);
  enter_birth(&slicer->of_threads, slicer->threads->row_of[event->owner], event);
  if (!has_threads(slicer))
    return;
  const struct pair_of pair = find_pairs(slicer, event);
  enter_birth(&slicer->of_stack_threads, pair.stack, event);
  enter_birth(&slicer->of_size_threads, pair.size, event);
}

/* A handed-over block is counted as a call of the pair. */
static void enter_handover(struct hwi_page_slicer *slicer, const struct hwi_block_event *event)
{
  const uint32_t *row_of = slicer->threads->row_of;
  if (event->kind != HWI_BLOCK_FREE || event->thread == event->owner)
    return;
  uint32_t row = hwi_page_handovers_row(slicer->handovers, row_of[event->owner], row_of[event->thread]);
  if (row == UINT32_MAX)
    return;
  struct hwi_page_entry *entry = hwi_page_series_now(&slicer->of_handovers, row);
  entry->calls++;
  entry->bytes += event->size;
}

static void take_death(struct hwi_page_slicer *slicer, const struct hwi_block_event *event)
{
  struct hwi_page_slice *slice = &slicer->slices.items[slicer->slice];
  const int ending = ending_of(event);
  slice->free_calls += event->kind == HWI_BLOCK_FREE;
  slice->temporary_calls += event->temporary;
  slicer->bytes -= event->size;
  slicer->usable -= event->usable;
  slicer->blocks--;
  slice->min_bytes = slicer->bytes < slice->min_bytes ? slicer->bytes : slice->min_bytes;
  enter_death(&slicer->of_stacks, slicer->cut->row_of[event->stack], event, ending);
  enter_death(&slicer->of_sizes, hwi_page_sizes_row(slicer->sizes, event->size), event, ending);
  enter_death(&slicer->of_threads, slicer->threads->row_of[event->owner], event, ending);
  if (!has_threads(slicer))
    return;
  enter_handover(slicer, event);
  const struct pair_of pair = find_pairs(slicer, event);
  enter_death(&slicer->of_stack_threads, pair.stack, event, ending);
  enter_death(&slicer->of_size_threads, pair.size, event, ending);
}

static bool has_pairs(const struct hwi_page_slicer *slicer, const struct hwi_block_event *event, uint32_t size_row)
{
  uint32_t thread = slicer->threads->row_of[event->owner];
  return hwi_page_pairs_have(&slicer->stack_threads, slicer->cut->row_of[event->stack], thread) &&
         hwi_page_pairs_have(&slicer->size_threads, size_row, thread);
}

/* Returns whether the first pass also had the items that the event refers to. */
static bool is_known(const struct hwi_page_slicer *slicer, const struct hwi_block_event *event)
{
  const struct hwi_profile *profile = slicer->cut->profile;
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
  const struct hwi_profile *profile = slicer->cut->profile;
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
  slicer->calls_left -= hwi_block_is_call(event);
  pass_time(slicer, event->ns);
  time_call(slicer, event);
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

/* --- the whole --- */

/* Returns false if there is no memory. */
static bool begin_durations(struct hwi_page_slicer *slicer)
{
  const struct hwi_profile *profile = slicer->cut->profile;
  slicer->is_timed = hwi_profile_is_timed(profile);
  hwi_report_durations_begin(&slicer->durations, profile, HWI_SLOW_CALLS_JSON);
  if (!slicer->is_timed || !has_threads(slicer))
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

int hwi_page_slicer_run(struct hwi_page_slicer *slicer, const struct hwi_replayer *replayer, struct hwi_error *error)
{
  const struct hwi_totals *totals = &slicer->cut->profile->totals;
  hwi_page_slices_init(&slicer->slices, slicer->cut->profile);
  if (!hwi_page_series_init(&slicer->of_stacks, slicer->cut->row_count) ||
      !hwi_page_series_init(&slicer->of_sizes, slicer->sizes->series_count) ||
      !hwi_page_series_init(&slicer->of_threads, slicer->threads->row_count) ||
      !hwi_page_series_init(&slicer->of_handovers, slicer->handovers->count) || !begin_threads(slicer) ||
      !begin_durations(slicer))
    return no_memory(error);
  slicer->calls_left = totals->allocation_calls + totals->free_calls + totals->failed_calls;
  const struct hwi_block_sink sink = {take, slicer};
  begin_slice(slicer);
  int status = replayer->run(replayer->context, &sink, error);
  pass_time(slicer, UINT64_MAX);
  end_slice(slicer);
  if (slicer->failed || !end_durations(slicer))
    return no_memory(error);
  if (status < 0 && status != HW_ERR_LIMIT)
    return status;
  if (slicer->changed || slicer->calls_left > 0)
    return hwi_error_set(error, HW_ERR_DAMAGED, "the recording became another one while it was read; try again");
  return HW_OK;
}

void hwi_page_slicer_release(struct hwi_page_slicer *slicer)
{
  hwi_page_series_release(&slicer->of_stacks);
  hwi_page_series_release(&slicer->of_sizes);
  hwi_page_series_release(&slicer->of_threads);
  hwi_page_series_release(&slicer->of_handovers);
  hwi_page_series_release(&slicer->of_stack_threads);
  hwi_page_series_release(&slicer->of_size_threads);
  hwi_page_pairs_release(&slicer->stack_threads);
  hwi_page_pairs_release(&slicer->size_threads);
  hwi_report_durations_release(&slicer->durations);
  hwi_page_durations_release(&slicer->durations_along);
  for (uint32_t i = 0; slicer->durations_of_threads && i < slicer->threads->row_count; i++)
    hwi_report_durations_release(&slicer->durations_of_threads[i]);
  free(slicer->durations_of_threads);
}
