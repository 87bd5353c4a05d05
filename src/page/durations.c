/* durations.c - durations of calls in each slice of time */
#include "page/durations.h"

#include <stdlib.h>
#include <string.h>

#include "trace/grow.h"

void hwi_page_durations_release(struct hwi_page_durations *durations)
{
  hwi_durations_release(&durations->now);
  free(durations->parts);
  *durations = (struct hwi_page_durations){0};
}

/* --- parts --- */

static void fill_bands(struct hwi_page_duration_part *part, const struct hwi_duration_tally *tally)
{
  for (uint32_t bucket = 0; bucket < HWI_DURATION_BUCKETS; bucket++)
    if (tally->buckets[bucket] > 0)
      part->bands[hwi_log_bucket_of(hwi_duration_bucket_from(bucket), HWI_PAGE_BAND_BITS)] += tally->buckets[bucket];
}

/* Moves the tally's content into a new part. */
static bool add_part(struct hwi_page_durations *durations, struct hwi_duration_tally *tally, uint8_t entry,
                     uint32_t slice)
{
  if (!hwi_grow((void **)&durations->parts, &durations->capacity, durations->count + 1, sizeof *durations->parts))
    return false;
  struct hwi_page_duration_part *part = &durations->parts[durations->count++];
  *part = (struct hwi_page_duration_part){.slice = slice,
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

bool hwi_page_durations_end_slice(struct hwi_page_durations *durations, uint32_t slice)
{
  bool done = true;
  for (int entry = 0; entry < HW_ENTRY_COUNT && done; entry++) {
    struct hwi_duration_tally *tally = &durations->now.entries[entry];
    if (tally->calls + tally->untimed > 0)
      done = add_part(durations, tally, (uint8_t)entry, slice);
  }
  return done;
}

static void join(struct hwi_page_duration_part *sum, const struct hwi_page_duration_part *part)
{
  sum->calls += part->calls;
  sum->untimed += part->untimed;
  sum->sum_ns += part->sum_ns;
  sum->max_ns = part->max_ns > sum->max_ns ? part->max_ns : sum->max_ns;
  for (uint32_t band = 0; band < HWI_PAGE_BANDS; band++)
    sum->bands[band] += part->bands[band];
}

/* Works in place: the parts from `first` to `kept` belong to the slice that is currently merged. */
void hwi_page_durations_merge(struct hwi_page_durations *durations, const uint32_t *to_slice)
{
  struct hwi_page_duration_part *parts = durations->parts;
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

/* --- JSON --- */

static void pack_part(struct hwi_packed *packed, const struct hwi_page_duration_part *part, uint32_t slice_before)
{
  uint64_t filled = 0;
  for (uint32_t band = 0; band < HWI_PAGE_BANDS; band++)
    filled += part->bands[band] > 0;
  hwi_packed_add(packed, part->slice - slice_before);
  hwi_packed_add(packed, part->untimed);
  hwi_packed_add(packed, part->sum_ns);
  hwi_packed_add(packed, part->max_ns);
  hwi_packed_add(packed, filled);
  for (uint32_t band = 0, before = 0; band < HWI_PAGE_BANDS; band++) {
    if (part->bands[band] == 0)
      continue;
    hwi_packed_add(packed, band - before);
    hwi_packed_add(packed, part->bands[band]);
    before = band;
  }
}

static void pack_entry(struct hwi_packed *packed, const struct hwi_page_durations *durations, uint8_t entry)
{
  uint64_t count = 0;
  uint32_t before = 0;
  for (size_t i = 0; i < durations->count; i++)
    count += durations->parts[i].entry == entry;
  hwi_packed_add(packed, count);
  for (size_t i = 0; i < durations->count; i++) {
    const struct hwi_page_duration_part *part = &durations->parts[i];
    if (part->entry != entry)
      continue;
    pack_part(packed, part, before);
    before = part->slice;
  }
}

void hwi_json_page_durations(struct hwi_json *json, const struct hwi_page_durations *durations,
                             const struct hwi_report_durations *found)
{
  struct hwi_packed packed = {0};
  for (uint32_t i = 0; i < found->entry_count; i++)
    pack_entry(&packed, durations, found->entries[i]);
  hwi_json_packed(json, "durations_series", &packed);
}
