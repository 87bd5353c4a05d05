/* timed_calls.c - durations of calls in each slice of time; and, of a run that is followed, also of all and by thread */
#include "profile/counters/timed_calls.h"

#include <stdlib.h>
#include <string.h>

#include "trace/grow.h"

void hwi_sliced_durations_release(struct hwi_sliced_durations *durations)
{
  hwi_durations_release(&durations->now);
  free(durations->parts);
  *durations = (struct hwi_sliced_durations){0};
}

/* --- by slice --- */

static void fill_bands(struct hwi_duration_part *part, const struct hwi_duration_tally *tally)
{
  for (uint32_t bucket = 0; bucket < HWI_DURATION_BUCKETS; bucket++)
    if (tally->buckets[bucket] > 0)
      part->bands[hwi_log_bucket_of(hwi_duration_bucket_from(bucket), HWI_PART_BAND_BITS)] += tally->buckets[bucket];
}

/* Moves the tally's content into a new part. */
static bool add_part(struct hwi_sliced_durations *durations, struct hwi_duration_tally *tally, uint8_t entry,
                     uint32_t slice)
{
  if (!hwi_grow((void **)&durations->parts, &durations->capacity, durations->count + 1, sizeof *durations->parts))
    return false;
  struct hwi_duration_part *part = &durations->parts[durations->count++];
  *part = (struct hwi_duration_part){.slice = slice,
                                     .entry = entry,
                                     .calls = tally->calls,
                                     .untimed = tally->untimed,
                                     .sum_ns = tally->sum_ns,
                                     .max_ns = tally->max_ns};
  uint64_t *buckets = tally->buckets;
  if (buckets) {
    fill_bands(part, tally);
    memset(buckets, 0, HWI_DURATION_BUCKETS * sizeof *buckets);
  }
  *tally = (struct hwi_duration_tally){.buckets = buckets};
  return true;
}

bool hwi_sliced_durations_end_slice(struct hwi_sliced_durations *durations, uint32_t slice)
{
  bool done = true;
  for (int entry = 0; entry < HW_ENTRY_COUNT && done; entry++) {
    struct hwi_duration_tally *tally = &durations->now.entries[entry];
    if (tally->calls + tally->untimed > 0)
      done = add_part(durations, tally, (uint8_t)entry, slice);
  }
  return done;
}

bool hwi_sliced_durations_copy(const struct hwi_sliced_durations *durations, struct hwi_sliced_durations *to)
{
  if (!hwi_grow((void **)&to->parts, &to->capacity, durations->count, sizeof *to->parts))
    return false;
  if (durations->count > 0)
    memcpy(to->parts, durations->parts, durations->count * sizeof *to->parts);
  to->count = durations->count;
  return true;
}

static void join(struct hwi_duration_part *sum, const struct hwi_duration_part *part)
{
  sum->calls += part->calls;
  sum->untimed += part->untimed;
  sum->sum_ns += part->sum_ns;
  sum->max_ns = part->max_ns > sum->max_ns ? part->max_ns : sum->max_ns;
  for (uint32_t band = 0; band < HWI_PART_BANDS; band++)
    sum->bands[band] += part->bands[band];
}

/* Works in place: the parts from `first` to `kept` belong to the slice that is currently merged. */
void hwi_sliced_durations_merge(struct hwi_sliced_durations *durations, const uint32_t *to_slice)
{
  struct hwi_duration_part *parts = durations->parts;
  size_t first = 0, kept = 0;
  for (size_t i = 0; i < durations->count; i++) {
    uint32_t slice = to_slice[parts[i].slice];
    if (first < kept && parts[first].slice != slice)
      first = kept;
    size_t at = first;
    while (at < kept && parts[at].entry != parts[i].entry)
      at++;
    if (at < kept) {
      join(&parts[at], &parts[i]);
      continue;
    }
    parts[kept] = parts[i];
    parts[kept++].slice = slice;
  }
  durations->count = kept;
}

/* --- of a run that is followed --- */

static void release_threads(struct hwi_timed_calls *calls)
{
  for (size_t i = 0; i < calls->thread_count; i++)
    hwi_durations_release(&calls->of_threads[i]);
  free(calls->of_threads);
  calls->of_threads = NULL;
  calls->thread_count = calls->thread_capacity = 0;
}

void hwi_timed_calls_release(struct hwi_timed_calls *calls)
{
  release_threads(calls);
  hwi_durations_release(&calls->all);
  hwi_sliced_durations_release(&calls->along);
  *calls = (struct hwi_timed_calls){0};
}

static bool add_to_thread(struct hwi_timed_calls *calls, const struct hwi_block_event *event)
{
  if (event->thread >= HWI_TIMED_THREADS_MAX && !calls->has_too_many_threads) {
    calls->has_too_many_threads = true;
    release_threads(calls);
  }
  if (calls->has_too_many_threads)
    return true;
  if (!hwi_grow((void **)&calls->of_threads, &calls->thread_capacity, (size_t)event->thread + 1,
                sizeof *calls->of_threads))
    return false;
  if (calls->thread_count <= event->thread)
    calls->thread_count = (size_t)event->thread + 1;
  return hwi_durations_add(&calls->of_threads[event->thread], event);
}

bool hwi_timed_calls_add(struct hwi_timed_calls *calls, const struct hwi_block_event *event)
{
  return hwi_durations_add(&calls->all, event) && hwi_durations_add(&calls->along.now, event) &&
         add_to_thread(calls, event);
}
