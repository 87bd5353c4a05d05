/* rss_parts.c - what the resident memory of a process consisted of at a moment
 *
 * The mappings tell how much of the allocator's memory is resident, the model how much of it is in blocks. What is not
 * resident is known only of large blocks, which have mappings of their own; where less is resident than is in blocks, the rest
 * must be untouched, too. What is resident beyond the blocks is free.
 */
#include "report/rss_parts.h"

/* Live bytes at the end of the slice that holds the moment; of a profile of one moment, what was live then. */
static uint64_t live_at(const struct hwi_profile *profile, uint64_t ns)
{
  uint32_t i = 0;
  while (i + 1 < profile->timeline_count && profile->timeline[i].ns < ns)
    i++;
  return profile->timeline_count > 0 ? profile->timeline[i].live_bytes : profile->totals.peak_bytes;
}

/* The most that blocks with mappings of their own can have held. Mappings of others than the allocator look the same. */
static uint64_t large_bytes_at_most(const struct hwi_profile *profile)
{
  const uint64_t large_block_bytes = UINT64_C(128) << 10; /* where glibc begins to map blocks one by one */
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < profile->size_count; i++) {
    if (profile->sizes[i].size >= large_block_bytes)
      bytes += profile->sizes[i].size * profile->sizes[i].own_peak_blocks;
  }
  return bytes;
}

struct hwi_rss_parts hwi_rss_parts_of(const struct hwi_profile *profile, const struct hwi_rss_point *point)
{
  const struct hw_rss_sample *sample = &point->sample;
  const struct hwi_totals *totals = &profile->totals;
  struct hwi_rss_parts parts = {.asked = live_at(profile, point->ns),
                                .untouched = sample->untouched,
                                .files = sample->files,
                                .stacks = sample->stacks,
                                .recorder = sample->recorder};
  if (totals->peak_usable_bytes >
      totals->peak_bytes) /* known at the peak: elsewhere its share is taken to be the same */
    parts.rounding = (uint64_t)((double)parts.asked * (double)(totals->peak_usable_bytes - totals->peak_bytes) /
                                (double)totals->peak_bytes);
  uint64_t blocks = parts.asked + parts.rounding;
  uint64_t at_most = large_bytes_at_most(profile);
  at_most = at_most < blocks ? at_most : blocks;
  if (parts.untouched > at_most)
    parts.untouched = at_most;
  if (sample->heap > blocks - parts.untouched)
    parts.free = sample->heap - (blocks - parts.untouched);
  else
    parts.untouched = blocks - sample->heap;
  uint64_t named = sample->heap + parts.files + parts.stacks + parts.recorder;
  parts.other = sample->mapped > named ? sample->mapped - named : 0;
  return parts;
}

const struct hwi_rss_point *hwi_rss_point_at(const struct hwi_trace_info *info, uint64_t moment_ns)
{
  enum { NEAR_MS = 1500 };
  const uint64_t near_ns = UINT64_C(1000000) * NEAR_MS;
  const struct hwi_rss_point *best = NULL;
  uint64_t best_ns = near_ns;
  for (uint32_t i = 0; i < info->rss_count; i++) {
    const struct hwi_rss_point *point = &info->rss[i];
    uint64_t ns = point->ns > moment_ns ? point->ns - moment_ns : moment_ns - point->ns;
    bool tells_more = best == NULL || (best->sample.mapped == 0 && point->sample.mapped > 0);
    bool tells_less = best != NULL && best->sample.mapped > 0 && point->sample.mapped == 0;
    if (ns < near_ns && !tells_less && (tells_more || ns < best_ns)) {
      best = point;
      best_ns = ns;
    }
  }
  return best;
}
