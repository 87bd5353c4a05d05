/* durations.c - how long calls took: histograms, also over time, and the slowest calls */
#include "profile/counters/durations.h"

#include <stdlib.h>

#include "base/wide.h"
#include "trace/grow.h"

enum { ALL_PARTS = 10000 };

/* --- buckets --- */

uint64_t hwi_duration_bucket_from(uint32_t bucket)
{
  return hwi_log_bucket_from(bucket, HWI_DURATION_PART_BITS);
}

uint64_t hwi_duration_bucket_to(uint32_t bucket)
{
  return hwi_log_bucket_to(bucket, HWI_DURATION_PART_BITS);
}

/* --- over time --- */

void hwi_durations_along_init(struct hwi_durations_along *along, uint64_t from_ns, uint64_t to_ns)
{
  *along = (struct hwi_durations_along){.from_ns = from_ns};
  along->slice_ns = to_ns > from_ns ? (to_ns - from_ns) / HWI_ALONG_SLICES + 1 : 1;
}

void hwi_durations_along_release(struct hwi_durations_along *along)
{
  for (int entry = 0; entry < HW_ENTRY_COUNT; entry++)
    free(along->entries[entry]);
  *along = (struct hwi_durations_along){0};
}

bool hwi_durations_along_add(struct hwi_durations_along *along, uint8_t entry, uint64_t ns, uint64_t took_ns)
{
  uint64_t **cells = &along->entries[entry];
  if (!*cells)
    *cells = calloc((size_t)HWI_ALONG_SLICES * HWI_ALONG_BANDS, sizeof **cells);
  if (!*cells)
    return false;
  uint64_t slice = ns > along->from_ns ? (ns - along->from_ns) / along->slice_ns : 0;
  slice = slice < HWI_ALONG_SLICES ? slice : HWI_ALONG_SLICES - 1;
  (*cells)[slice * HWI_ALONG_BANDS + hwi_log_bucket_of(took_ns, HWI_ALONG_BAND_BITS)]++;
  return true;
}

uint64_t hwi_durations_along_cell(const struct hwi_durations_along *along, uint8_t entry, uint32_t slice, uint32_t band)
{
  const uint64_t *cells = along->entries[entry];
  return cells ? cells[(size_t)slice * HWI_ALONG_BANDS + band] : 0;
}

/* --- tallies --- */

static bool make_buckets(struct hwi_duration_tally *tally)
{
  if (!tally->buckets)
    tally->buckets = calloc(HWI_DURATION_BUCKETS, sizeof *tally->buckets);
  return tally->buckets;
}

static bool add_time(struct hwi_duration_tally *tally, uint64_t ns)
{
  if (!make_buckets(tally))
    return false;
  tally->calls++;
  tally->sum_ns += ns;
  tally->max_ns = ns > tally->max_ns ? ns : tally->max_ns;
  tally->buckets[hwi_log_bucket_of(ns, HWI_DURATION_PART_BITS)]++;
  return true;
}

void hwi_duration_tally_release(struct hwi_duration_tally *tally)
{
  free(tally->buckets);
  *tally = (struct hwi_duration_tally){0};
}

static bool add_tally(struct hwi_duration_tally *sum, const struct hwi_duration_tally *part)
{
  sum->untimed += part->untimed;
  if (!part->calls)
    return true;
  if (!make_buckets(sum))
    return false;
  sum->calls += part->calls;
  sum->sum_ns += part->sum_ns;
  sum->max_ns = part->max_ns > sum->max_ns ? part->max_ns : sum->max_ns;
  for (uint32_t i = 0; i < HWI_DURATION_BUCKETS; i++)
    sum->buckets[i] += part->buckets[i];
  return true;
}

bool hwi_durations_sum(const struct hwi_durations *durations, struct hwi_duration_tally *sum)
{
  bool done = true;
  *sum = (struct hwi_duration_tally){0};
  for (int entry = 0; entry < HW_ENTRY_COUNT && done; entry++)
    done = add_tally(sum, &durations->entries[entry]);
  return done;
}

uint64_t hwi_duration_quantile(const struct hwi_duration_tally *tally, uint32_t part)
{
  if (tally->calls == 0)
    return 0;
  uint64_t rank = hwi_wide_share(tally->calls, part, ALL_PARTS - 1, ALL_PARTS), passed = 0;
  uint32_t bucket = 0;
  while (bucket + 1 < HWI_DURATION_BUCKETS && (passed += tally->buckets[bucket]) < rank)
    bucket++;
  uint64_t to_ns = hwi_duration_bucket_to(bucket);
  return to_ns < tally->max_ns ? to_ns : tally->max_ns;
}

/* --- the slowest --- */

static bool is_slower(const struct hwi_slow_call *a, const struct hwi_slow_call *b)
{
  return a->took_ns != b->took_ns ? a->took_ns > b->took_ns : a->ns < b->ns;
}

/* Replaces the least slow call with `call`, and restores the order of the heap. */
static void sink_down(struct hwi_durations *d, const struct hwi_slow_call *call)
{
  size_t at = 0;
  for (size_t below = 1; below < d->slow_count; below = 2 * at + 1) {
    below += below + 1 < d->slow_count && is_slower(&d->slowest[below], &d->slowest[below + 1]);
    if (!is_slower(call, &d->slowest[below]))
      break;
    d->slowest[at] = d->slowest[below];
    at = below;
  }
  d->slowest[at] = *call;
}

static void rise(struct hwi_durations *d, const struct hwi_slow_call *call)
{
  size_t at = d->slow_count++;
  for (; at > 0 && is_slower(&d->slowest[(at - 1) / 2], call); at = (at - 1) / 2)
    d->slowest[at] = d->slowest[(at - 1) / 2];
  d->slowest[at] = *call;
}

static bool add_slow(struct hwi_durations *d, const struct hwi_slow_call *call)
{
  if (d->slow_count == d->slow_max) {
    if (d->slow_max && is_slower(call, &d->slowest[0]))
      sink_down(d, call);
    return true;
  }
  if (!hwi_grow((void **)&d->slowest, &d->slow_capacity, d->slow_count + 1, sizeof *d->slowest))
    return false;
  rise(d, call);
  return true;
}

static int compare_calls(const void *left, const void *right)
{
  const struct hwi_slow_call *a = left, *b = right;
  return is_slower(a, b) ? -1 : is_slower(b, a);
}

void hwi_durations_sort(struct hwi_durations *durations)
{
  if (durations->slow_count > 1)
    qsort(durations->slowest, durations->slow_count, sizeof *durations->slowest, compare_calls);
}

/* --- calls --- */

static bool is_call(const struct hwi_block_event *event)
{
  bool is_free = event->kind == HWI_BLOCK_FREE || event->kind == HWI_BLOCK_FREE_UNKNOWN;
  return event->kind == HWI_BLOCK_ALLOC || event->kind == HWI_BLOCK_FAILED || (is_free && !event->moved);
}

bool hwi_durations_add(struct hwi_durations *durations, const struct hwi_block_event *event)
{
  if (!is_call(event))
    return true;
  struct hwi_duration_tally *tally = &durations->entries[event->entry < HW_ENTRY_COUNT ? event->entry : HW_ENTRY_NONE];
  if (!event->timed) {
    tally->untimed++;
    return true;
  }
  const struct hwi_slow_call call = {
      .took_ns = event->took_ns,
      .ns = event->ns,
      .size = event->size,
      .address = event->address,
      .stack = event->stack,
      .thread = event->thread,
      .entry = event->entry,
      .is_free = event->kind == HWI_BLOCK_FREE || event->kind == HWI_BLOCK_FREE_UNKNOWN,
      .failed = event->kind == HWI_BLOCK_FAILED,
  };
  return add_time(tally, event->took_ns) && add_slow(durations, &call) &&
         (!durations->along ||
          hwi_durations_along_add(durations->along, (uint8_t)(tally - durations->entries), event->ns, event->took_ns));
}

bool hwi_durations_add_all(struct hwi_durations *sum, const struct hwi_durations *counted)
{
  bool done = true;
  for (int entry = 0; entry < HW_ENTRY_COUNT && done; entry++)
    done = add_tally(&sum->entries[entry], &counted->entries[entry]);
  for (size_t i = 0; i < counted->slow_count && done; i++)
    done = add_slow(sum, &counted->slowest[i]);
  return done;
}

void hwi_durations_release(struct hwi_durations *durations)
{
  for (int entry = 0; entry < HW_ENTRY_COUNT; entry++)
    hwi_duration_tally_release(&durations->entries[entry]);
  free(durations->slowest);
  *durations = (struct hwi_durations){0};
}
