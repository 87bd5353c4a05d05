/* rss_parts.c - what the resident memory of a process consisted of at a moment
 *
 * The mappings show how much of the allocator's memory is resident, the model how much of it is in blocks. Which
 * part of the blocks is not resident is known only for large blocks, which have separate mappings; if less is
 * resident than is in blocks, the rest must be untouched too. Memory that is resident beyond the blocks is free, or
 * mapped by the program itself: apart from its arenas, which are recognized, every large mapping of glibc's malloc
 * is a block.
 */
#include "report/content/rss_parts.h"

#include "platform/os_tools.h"
#include "report/content/evidence.h"
#include "report/input/moment.h"

/* Returns the live bytes at the end of the slice that contains the moment; for a profile of one moment, the live
 * bytes at it. */
static uint64_t live_at(const struct hwi_profile *profile, uint64_t ns)
{
  uint32_t i = 0;
  while (i + 1 < profile->timeline_count && profile->timeline[i].ns < ns)
    i++;
  return profile->timeline_count > 0 ? profile->timeline[i].live_bytes : profile->totals.peak_bytes;
}

/* Returns the bytes of large blocks at a point of the classes' timeline, including the whole class in which the
 * limit is. */
static uint64_t large_bytes_of(const struct hwi_class_point *point)
{
  uint64_t bytes = 0;
  for (unsigned class = hwi_size_class(HWI_OS_LARGE_BLOCK_BYTES); class < HWI_SIZE_CLASSES; class ++)
    bytes += point->live_bytes[class];
  return bytes;
}

/* Returns the larger of the bytes of large blocks at the points before and after the moment; UINT64_MAX if there are
 * no points. */
static uint64_t large_bytes_about(const struct hwi_profile *profile, uint64_t ns)
{
  uint32_t i = 0;
  while (i < profile->class_point_count && profile->class_points[i].ns < ns)
    i++;
  if (i == profile->class_point_count)
    return UINT64_MAX;
  uint64_t before = i > 0 ? large_bytes_of(&profile->class_points[i - 1]) : 0;
  uint64_t after = large_bytes_of(&profile->class_points[i]);
  return before > after ? before : after;
}

/* Returns the most bytes that blocks with separate mappings can have had then. Mappings by the program itself look
 * the same. */
static uint64_t large_bytes_at_most(const struct hwi_profile *profile, const struct hwi_rss_point *point)
{
  uint64_t ever = 0, at_peak = 0, then = large_bytes_about(profile, point->ns);
  for (uint32_t i = 0; i < profile->size_count; i++) {
    const struct hwi_size *size = &profile->sizes[i];
    if (size->size >= HWI_OS_LARGE_BLOCK_BYTES) {
      ever += size->size * size->own_peak_blocks;
      at_peak += size->size * size->peak_blocks;
    }
  }
  if (hwi_rss_is_of_peak(profile, point) && at_peak > then)
    then = at_peak;
  return then < ever ? then : ever;
}

static bool is_of_time(const struct hwi_rss_point *point, uint64_t ns)
{
  enum { SAME_MS = 10 };
  return (point->ns > ns ? point->ns - ns : ns - point->ns) <= UINT64_C(1000000) * SAME_MS;
}

bool hwi_rss_has_live(const struct hwi_profile *profile, const struct hwi_rss_point *point)
{
  const char *why;
  bool frees;
  if (profile->heap || hwi_moment_of_doubt(profile, &why, &frees) < point->ns)
    return false;
  switch (profile->span.kind) {
  case HWI_SPAN_RUN:
    return true;
  case HWI_SPAN_INTERVAL:
    return point->ns >= profile->span.from_ns && point->ns <= profile->span.to_ns;
  case HWI_SPAN_MOMENT:
    return is_of_time(point, profile->totals.peak_time_ns);
  }
  return false;
}

/* Rounding is known at the peak; elsewhere the same ratio to the requested bytes is assumed. Blocks of 0 bytes
 * consist of rounding only. */
static uint64_t rounding_of(const struct hwi_totals *totals, uint64_t asked_bytes)
{
  uint64_t at_peak =
      totals->peak_usable_bytes > totals->peak_bytes ? totals->peak_usable_bytes - totals->peak_bytes : 0;
  if (totals->peak_bytes == 0)
    return at_peak;
  return (uint64_t)((double)asked_bytes * (double)at_peak / (double)totals->peak_bytes);
}

/* Other allocators have mappings of any size for blocks of any size. */
static bool is_glibc(const struct hwi_profile *profile)
{
  for (uint32_t i = 0; i < profile->image_count; i++) {
    const struct hwi_trace_info *info = profile->images[i].info;
    for (uint32_t k = 0; profile->images[i].counted && k < info->note_count; k++) {
      if (info->notes[k].kind == HW_NOTE_ALLOCATOR || info->notes[k].kind == HW_NOTE_REDIRECTED ||
          info->notes[k].kind == HW_NOTE_OWN_MALLOC)
        return false;
    }
  }
  return true;
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
  parts.rounding = rounding_of(totals, parts.asked);
  uint64_t blocks = parts.asked + parts.rounding;
  uint64_t at_most = large_bytes_at_most(profile, point);
  at_most = at_most < blocks ? at_most : blocks;
  if (parts.untouched > at_most)
    parts.untouched = at_most;
  if (sample->heap > blocks - parts.untouched)
    parts.free = sample->heap - (blocks - parts.untouched);
  else
    parts.untouched = blocks - sample->heap;
  uint64_t beyond = sample->large > at_most ? sample->large - at_most : 0;
  if (beyond > 0 && is_glibc(profile))
    parts.own = beyond < parts.free ? beyond : parts.free;
  parts.free -= parts.own;
  uint64_t named = sample->heap + parts.files + parts.stacks + parts.recorder;
  parts.other = sample->mapped > named ? sample->mapped - named : 0;
  return parts;
}

bool hwi_rss_can_be_free(const struct hwi_profile *profile, uint64_t free_bytes)
{
  enum { TIMES = 2, AT_HAND_BYTES = 16 << 20 };
  const struct hwi_totals *totals = &profile->totals;
  uint64_t most = totals->peak_usable_bytes > totals->peak_bytes ? totals->peak_usable_bytes : totals->peak_bytes;
  return free_bytes / TIMES <= most + AT_HAND_BYTES;
}

/* Whether a sample is comparable with the peak: at least half as much was live. */
static bool is_like_peak(const struct hwi_profile *profile, const struct hwi_rss_point *point)
{
  return hwi_rss_has_live(profile, point) && live_at(profile, point->ns) >= profile->totals.peak_bytes / 2;
}

/* Returns the sample nearest to the moment, one with mappings if there is any; NULL if none is near enough to be
 * compared with it. `like_peak`: consider only samples comparable with this profile's peak; NULL: all samples. */
static const struct hwi_rss_point *nearest(const struct hwi_trace_info *info, uint64_t moment_ns,
                                           const struct hwi_profile *like_peak)
{
  enum { NEAR_MS = 1500 };
  const uint64_t near_ns = UINT64_C(1000000) * NEAR_MS;
  const struct hwi_rss_point *best = NULL;
  uint64_t best_ns = near_ns;
  for (uint32_t i = 0; i < info->rss_count; i++) {
    const struct hwi_rss_point *point = &info->rss[i];
    uint64_t ns = point->ns > moment_ns ? point->ns - moment_ns : moment_ns - point->ns;
    bool tells_more = !best || (best->sample.mapped == 0 && point->sample.mapped > 0);
    bool tells_less = best && best->sample.mapped > 0 && point->sample.mapped == 0;
    if (ns < near_ns && !tells_less && (tells_more || ns < best_ns) && (!like_peak || is_like_peak(like_peak, point))) {
      best = point;
      best_ns = ns;
    }
  }
  return best;
}

bool hwi_rss_is_of_peak(const struct hwi_profile *profile, const struct hwi_rss_point *point)
{
  enum { SAME_PERCENT = 2 };
  uint64_t peak = profile->totals.peak_bytes;
  if (point->sample.mapped > 0 && hwi_rss_has_live(profile, point))
    return live_at(profile, point->ns) >= peak - peak * SAME_PERCENT / 100; /* a peak may be very short */
  return is_of_time(point, profile->totals.peak_time_ns);
}

const struct hwi_rss_point *hwi_rss_point_of_peak(const struct hwi_profile *profile, const struct hwi_trace_info *info)
{
  const struct hwi_rss_point *best = NULL;
  bool is_whole = profile->span.kind == HWI_SPAN_RUN; /* the live bytes are known at every time */
  for (uint32_t i = 0; i < info->rss_count && is_whole; i++) {
    const struct hwi_rss_point *point = &info->rss[i];
    if (point->sample.mapped > (best ? best->sample.mapped : 0) && hwi_rss_is_of_peak(profile, point))
      best = point;
  }
  if (!best && is_whole)
    best = nearest(info, profile->totals.peak_time_ns, profile);
  return best ? best : nearest(info, profile->totals.peak_time_ns, NULL);
}

/* --- several processes, along time --- */

static bool is_alive(const struct hwi_profile *profile, const struct hwi_image *image, uint64_t moment_ns)
{
  if (!image->counted)
    return false;
  uint64_t from_ns = hwi_image_offset_ns(profile, image);
  return moment_ns >= from_ns && moment_ns - from_ns <= image->info->duration_ns;
}

static void add_sample(struct hw_rss_sample *to, const struct hw_rss_sample *sample)
{
  to->rss += sample->rss;
  to->anonymous += sample->anonymous;
  to->file += sample->file;
  to->shmem += sample->shmem;
  to->swap += sample->swap;
  to->recorder += sample->recorder;
  to->stacks += sample->stacks;
  to->mapped += sample->mapped;
  to->heap += sample->heap;
  to->files += sample->files;
  to->untouched += sample->untouched;
  to->large += sample->large;
}

struct hwi_rss_sum hwi_rss_sum_at(const struct hwi_profile *profile, uint64_t moment_ns)
{
  struct hwi_rss_sum sum = {.point = {.ns = moment_ns}};
  for (uint32_t i = 0; i < profile->image_count; i++) {
    const struct hwi_image *image = &profile->images[i];
    if (!is_alive(profile, image, moment_ns))
      continue;
    sum.processes++;
    const struct hwi_rss_point *point = nearest(image->info, moment_ns - hwi_image_offset_ns(profile, image), NULL);
    if (point && point->sample.mapped > 0)
      add_sample(&sum.point.sample, &point->sample);
    else
      sum.unknown++;
  }
  return sum;
}

uint32_t hwi_rss_moments(const struct hwi_profile *profile, uint64_t moments_ns[HWI_RSS_MOMENTS])
{
  uint64_t largest[HWI_RSS_MOMENTS] = {0}, tenth_ns = profile->duration_ns / HWI_RSS_MOMENTS + 1;
  for (uint32_t i = 0; i < profile->image_count; i++) {
    const struct hwi_image *image = &profile->images[i];
    for (uint32_t k = 0; image->counted && k < image->info->rss_count; k++) {
      const struct hwi_rss_point *point = &image->info->rss[k];
      uint64_t ns = hwi_image_offset_ns(profile, image) + point->ns, tenth = ns / tenth_ns;
      if (tenth >= HWI_RSS_MOMENTS || point->sample.mapped <= largest[tenth])
        continue;
      largest[tenth] = point->sample.mapped;
      moments_ns[tenth] = ns;
    }
  }
  uint32_t count = 0;
  for (uint32_t i = 0; i < HWI_RSS_MOMENTS; i++) {
    if (largest[i] > 0)
      moments_ns[count++] = moments_ns[i];
  }
  return count;
}
