/* series.c - live bytes over time, by parts */
#include "plot/series.h"

#include <stdlib.h>

#include "base/wide.h"
#include "report/selection/selection.h"
#include "trace/radix_sort.h"

/* --- the parts --- */

enum { SMALLEST_SHARE = 200 }; /* a part below 1/200 of the whole would be in the legend, but not visible */

/* The weights by which the items of a division are chosen: each item's own maximum, so that an item that was large at
 * any time is included. If only parts of the items are shown, their maximum is unknown, and their bytes at the peak are
 * used. */
struct weights {
  struct hwi_sort_item *items;
  uint32_t count;
  uint64_t all; /* the sum that an item is compared with */
};

static uint64_t stack_weight(const struct hwi_selection *selection, const struct hwi_profile *profile, uint32_t stack)
{
  if (selection->cost != HWI_COST_PEAK)
    return hwi_amount_cost(&selection->amounts[stack], selection->cost);
  return hwi_narrowing_splits_stacks(&selection->narrowing) ? selection->amounts[stack].peak_bytes
                                                            : profile->stacks[stack].own_peak_bytes;
}

static void weigh_stacks(struct weights *weights, const struct hwi_selection *selection,
                         const struct hwi_profile *profile)
{
  weights->all = hwi_amount_cost(&selection->selected, selection->cost);
  for (uint32_t i = 0; i < selection->stack_count; i++)
    weights->items[selection->stacks[i]].key = stack_weight(selection, profile, selection->stacks[i]);
}

static bool weigh_classes(struct weights *weights, const struct hwi_selection *selection,
                          const struct hwi_profile *profile)
{
  const struct hwi_narrowing *filter = &selection->narrowing;
  struct hwi_amount *amounts = hwi_amounts_by_size(profile, filter);
  for (uint32_t i = 0; amounts && i < profile->size_count; i++) {
    const struct hwi_size *size = &profile->sizes[i];
    weights->items[hwi_size_class(size->size)].key +=
        hwi_narrowing_splits_sizes(filter) ? amounts[i].peak_bytes : size->own_peak_blocks * size->size;
  }
  free(amounts);
  return amounts;
}

static bool weigh_threads(struct weights *weights, const struct hwi_selection *selection,
                          const struct hwi_profile *profile)
{
  const struct hwi_narrowing *filter = &selection->narrowing;
  struct hwi_amount *amounts = hwi_amounts_by_thread(profile, filter);
  for (uint32_t i = 0; amounts && i < profile->thread_count; i++)
    weights->items[i].key =
        hwi_narrowing_splits_threads(filter) ? amounts[i].peak_bytes : profile->threads[i].own_peak_bytes;
  free(amounts);
  return amounts;
}

/* Takes the items with the largest weights, without very small ones. Returns false if there is no memory. */
static bool choose(struct hwi_parts *parts, const struct weights *weights)
{
  if (!hwi_radix_sort(weights->items, weights->count))
    return false;
  for (parts->count = 0; parts->count < HWI_PARTS_MAX && parts->count < weights->count; parts->count++) {
    const struct hwi_sort_item *next = &weights->items[parts->count];
    if (next->key == 0 || next->key < weights->all / SMALLEST_SHARE)
      break;
    parts->part_of[next->item] = (uint8_t)parts->count;
    parts->items[parts->count] = next->item;
  }
  return true;
}

static int compare_numbers(const void *left, const void *right)
{
  uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
  return a < b ? -1 : a > b;
}

/* Sorts size classes by size. */
static void sort_parts(struct hwi_parts *parts)
{
  qsort(parts->items, parts->count, sizeof *parts->items, compare_numbers);
  for (uint32_t part = 0; part < parts->count; part++)
    parts->part_of[parts->items[part]] = (uint8_t)part;
}

static bool weigh(struct weights *weights, enum hwi_division division, const struct hwi_selection *selection,
                  const struct hwi_profile *profile)
{
  weights->all = selection->selected.peak_bytes;
  if (division == HWI_DIVISION_SIZE)
    return weigh_classes(weights, selection, profile);
  if (division == HWI_DIVISION_THREAD)
    return weigh_threads(weights, selection, profile);
  weigh_stacks(weights, selection, profile);
  return true;
}

/* Returns false if there is no memory. */
static bool begin_parts(struct hwi_series *series, enum hwi_division division, const struct hwi_selection *selection)
{
  const struct hwi_profile *profile = series->profile;
  const uint32_t counts[HWI_DIVISIONS] = {profile->stack_count, HWI_SIZE_CLASSES, profile->thread_count};
  struct hwi_parts *parts = &series->parts[division];
  struct weights weights = {.count = counts[division],
                            .items = calloc((size_t)counts[division] + 1, sizeof *weights.items)};
  parts->part_of = malloc((size_t)weights.count + 1);
  bool done = parts->part_of && weights.items;
  for (uint32_t i = 0; done && i < weights.count; i++) {
    weights.items[i].item = i;
    parts->part_of[i] = HWI_PARTS_REST;
  }
  done = done && weigh(&weights, division, selection, profile) && choose(parts, &weights);
  if (done && division == HWI_DIVISION_SIZE)
    sort_parts(parts);
  free(weights.items);
  return done;
}

/* --- along time --- */

static void add_moment(struct hwi_series *series, uint64_t ns)
{
  struct hwi_series_moment *moment = &series->moments[series->moment_count++];
  *moment = (struct hwi_series_moment){.ns = ns, .kept = series->kept};
  for (int division = 0; division < HWI_DIVISIONS; division++) {
    for (int part = 0; part <= HWI_PARTS_REST; part++)
      moment->live_bytes[division][part] = series->parts[division].live[part].bytes;
  }
}

static uint64_t due_ns(const struct hwi_series *series)
{
  uint64_t span_ns = series->to_ns - series->from_ns;
  return series->from_ns + hwi_wide_share(span_ns, series->due, 0, HWI_MOMENTS);
}

/* Measures all moments before `ns`. */
static void pass_time(struct hwi_series *series, uint64_t ns)
{
  for (; series->due <= HWI_MOMENTS && due_ns(series) < ns; series->due++)
    add_moment(series, due_ns(series));
}

/* A slice ends where the next one begins; the last one includes events at the very end. */
static void enter_slice(struct hwi_series *series, uint64_t ns)
{
  const struct hwi_profile *profile = series->profile;
  if (!series->slice_usable || ns < series->from_ns)
    return;
  if (!series->is_within)
    series->slice_usable[0] = series->kept.usable;
  series->is_within = true;
  for (; series->slice + 1 < profile->timeline_count && ns >= profile->timeline[series->slice].ns; series->slice++)
    series->slice_usable[series->slice + 1] = series->kept.usable;
}

static void note_usable(struct hwi_series *series)
{
  if (series->is_within && series->kept.usable > series->slice_usable[series->slice])
    series->slice_usable[series->slice] = series->kept.usable;
}

/* Counts the block that begins or ends with the event. */
static void count(struct hwi_series *series, const struct hwi_block_event *event)
{
  hwi_live_sum_count(&series->all, event);
  if (!hwi_narrowing_keeps(series->filter,
                           &(struct hwi_narrowing_block){event->owner, event->stack, event->scope, event->size}))
    return;
  hwi_live_sum_count(&series->kept, event);
  const uint32_t items[HWI_DIVISIONS] = {event->stack, hwi_size_class(event->size), event->owner};
  for (int division = 0; division < HWI_DIVISIONS; division++) {
    struct hwi_parts *parts = &series->parts[division];
    hwi_live_sum_count(&parts->live[parts->part_of[items[division]]], event);
  }
}

/* Adds a moment at the peak, which equal steps would miss. */
static void add_peak(struct hwi_series *series, uint64_t ns)
{
  const struct hwi_totals *totals = &series->profile->totals;
  if (series->peak_seen || ns != totals->peak_time_ns || series->all.bytes != totals->peak_bytes)
    return;
  series->peak_seen = true;
  add_moment(series, ns);
}

/* Returns whether the first pass saw the event: the recording may have grown since. */
static bool is_known(const struct hwi_series *series, const struct hwi_block_event *event)
{
  return event->stack < series->profile->stack_count && event->owner < series->profile->thread_count;
}

static bool take(void *context, const struct hwi_block_event *event)
{
  struct hwi_series *series = context;
  if (event->kind == HWI_BLOCK_FAILED || event->kind == HWI_BLOCK_FREE_UNKNOWN)
    return true;
  if (!is_known(series, event))
    return false;
  pass_time(series, event->ns);
  enter_slice(series, event->ns);
  count(series, event);
  if (event->kind == HWI_BLOCK_ALLOC) {
    add_peak(series, event->ns);
    note_usable(series);
  }
  return true;
}

int hwi_series_init(struct hwi_series *series, const struct hwi_plot_request *request,
                    const struct hwi_selection *selection, struct hwi_error *error)
{
  const struct hwi_profile *profile = request->report.profile;
  const struct hwi_narrowing *filter = &selection->narrowing;
  const struct hwi_block_sink sink = {.take = take, .context = series};
  const struct hwi_span *span = &profile->span;
  *series = (struct hwi_series){.profile = profile, .filter = filter, .from_ns = span->from_ns};
  series->to_ns = span->kind == HWI_SPAN_RUN ? profile->duration_ns : span->to_ns;
  for (enum hwi_division division = 0; division < HWI_DIVISIONS; division++) {
    if (!begin_parts(series, division, selection))
      return hwi_error_set(error, HW_ERR_MEMORY, "no memory to follow what is live along time");
  }
  if (profile->timeline_count > 0 &&
      !(series->slice_usable = calloc(profile->timeline_count, sizeof *series->slice_usable)))
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory to follow what is live along time");
  int status = hwi_replayer_run(&request->report.replayer, profile, &sink, error);
  pass_time(series, UINT64_MAX);
  enter_slice(series, UINT64_MAX);
  return status;
}

void hwi_series_release(struct hwi_series *series)
{
  for (int division = 0; division < HWI_DIVISIONS; division++)
    free(series->parts[division].part_of);
  free(series->slice_usable);
}
