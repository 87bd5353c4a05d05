/* rss.c - the resident set over time, for a chart */
#include "page/rss.h"

#include <stddef.h>
#include <string.h>

#include "report/content/control_group.h"
#include "report/content/evidence.h"
#include "report/input/moment.h"

static void add_sample(struct hwi_page_rss_point *point, const struct hw_rss_sample *sample)
{
  point->rss_bytes += sample->rss;
  point->anonymous_bytes += sample->anonymous;
  point->file_bytes += sample->file;
  point->shmem_bytes += sample->shmem;
  point->stack_bytes += sample->stacks;
  point->recorder_bytes += sample->recorder;
  point->swap_bytes += sample->swap;
  if (sample->group_current > point->group_bytes) { /* several processes are in the same one, as a rule */
    point->group_bytes = sample->group_current;
    point->group_limit_bytes = sample->group_limit;
  }
}

/* --- one process --- */

static void take_samples(struct hwi_page_rss *rss, const struct hwi_trace_info *info, uint64_t offset_ns)
{
  uint32_t step = (info->rss_count + HWI_PAGE_RSS_POINTS - 1) / HWI_PAGE_RSS_POINTS;
  for (uint32_t i = 0; i < info->rss_count; i++) {
    const struct hwi_rss_point *sample = &info->rss[i];
    bool is_first = i % step == 0;
    if (!is_first && sample->sample.rss <= rss->points[rss->count - 1].rss_bytes)
      continue;
    rss->count += is_first;
    rss->points[rss->count - 1] = (struct hwi_page_rss_point){.time_ns = offset_ns + sample->ns};
    add_sample(&rss->points[rss->count - 1], &sample->sample);
  }
}

/* --- several processes --- */

/* Returns an image's latest sample at a moment of the run; its first one, if that comes later: else the sum would be too small
 * after each start of a process. NULL if there is none, or the image was not running then. */
static const struct hw_rss_sample *sample_at(const struct hwi_trace_info *info, uint64_t from_ns, uint64_t moment_ns)
{
  if (moment_ns < from_ns || moment_ns - from_ns > info->duration_ns)
    return NULL;
  uint32_t low = 0, high = info->rss_count; /* samples before `low` are not later than the moment */
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (info->rss[middle].ns <= moment_ns - from_ns)
      low = middle + 1;
    else
      high = middle;
  }
  if (info->rss_count == 0)
    return NULL;
  return &info->rss[low > 0 ? low - 1 : 0].sample;
}

static void sum_samples(struct hwi_page_rss *rss, const struct hwi_profile *profile)
{
  uint64_t step_ns = profile->duration_ns / (HWI_PAGE_RSS_POINTS - 1) + 1;
  for (uint64_t ns = 0; ns <= profile->duration_ns; ns += step_ns) {
    struct hwi_page_rss_point point = {.time_ns = ns};
    for (uint32_t i = 0; i < profile->image_count; i++) {
      const struct hwi_image *image = &profile->images[i];
      const struct hw_rss_sample *sample =
          image->counted ? sample_at(image->info, hwi_image_offset_ns(profile, image), ns) : NULL;
      if (sample)
        add_sample(&point, sample);
    }
    if (point.rss_bytes > 0)
      rss->points[rss->count++] = point;
  }
}

void hwi_page_rss_init(struct hwi_page_rss *rss, const struct hwi_profile *profile)
{
  uint32_t counted;
  const struct hwi_image *image = hwi_largest_image(profile, &counted);
  rss->count = 0;
  if (counted == 1)
    take_samples(rss, image->info, 0);
  else if (counted > 1)
    sum_samples(rss, profile);
  rss->has_limit = hwi_control_group_of(profile).limit_bytes > 0;
}

/* --- JSON --- */

void hwi_json_page_rss(struct hwi_json *json, const struct hwi_page_rss *rss)
{
  enum { GROUP = 8 };
  static const struct hwi_column columns[] = {HWI_COLUMN(struct hwi_page_rss_point, time_ns),
                                              HWI_COLUMN(struct hwi_page_rss_point, rss_bytes),
                                              HWI_COLUMN(struct hwi_page_rss_point, anonymous_bytes),
                                              HWI_COLUMN(struct hwi_page_rss_point, file_bytes),
                                              HWI_COLUMN(struct hwi_page_rss_point, shmem_bytes),
                                              HWI_COLUMN(struct hwi_page_rss_point, stack_bytes),
                                              HWI_COLUMN(struct hwi_page_rss_point, recorder_bytes),
                                              HWI_COLUMN(struct hwi_page_rss_point, swap_bytes),
                                              [GROUP] = HWI_COLUMN(struct hwi_page_rss_point, group_bytes),
                                              HWI_COLUMN(struct hwi_page_rss_point, group_limit_bytes),
                                              {NULL, 0}};
  struct hwi_column shown[sizeof columns / sizeof *columns];
  memcpy(shown, columns, sizeof shown);
  if (!rss->has_limit)
    shown[GROUP] = (struct hwi_column){NULL, 0};
  const struct hwi_table_rows rows = {rss->points, rss->count, sizeof *rss->points};
  hwi_json_begin_object(json, "rss");
  hwi_json_plain_columns(json, &rows, shown);
  hwi_json_end_object(json);
}

static void write_extremes(struct hwi_json *json, const struct hwi_page_rss *rss, const struct hwi_page_slices *slices,
                           bool most)
{
  uint32_t at = 0;
  hwi_json_begin_array(json, most ? "rss_max_bytes" : "rss_min_bytes");
  for (uint32_t i = 0; i < slices->count; i++) {
    uint64_t end_ns = i + 1 < slices->count ? slices->items[i + 1].from_ns : UINT64_MAX;
    uint64_t found = most ? 0 : UINT64_MAX;
    uint32_t first = at;
    for (; at < rss->count && rss->points[at].time_ns < end_ns; at++) {
      uint64_t bytes = rss->points[at].rss_bytes;
      found = (bytes > found) == most ? bytes : found;
    }
    if (at > first)
      hwi_json_number(json, NULL, found);
    else
      hwi_json_raw(json, "null");
  }
  hwi_json_end_array(json);
}

void hwi_json_page_rss_of_slices(struct hwi_json *json, const struct hwi_page_rss *rss,
                                 const struct hwi_page_slices *slices)
{
  write_extremes(json, rss, slices, false);
  write_extremes(json, rss, slices, true);
}
