/* timeline_columns.c - writes and reads the timelines of an epoch or a result */
#include <string.h>

#include "base/error.h"
#include "profile/columns/timeline_columns.h"

#define U64 sizeof(uint64_t)

static const struct hwi_field point_fields[] = {
    HWI_NEAR_FIELD(struct hwi_time_point, ns),          HWI_NEAR_FIELD(struct hwi_time_point, live_bytes),
    HWI_NEAR_FIELD(struct hwi_time_point, live_blocks), HWI_NEAR_FIELD(struct hwi_time_point, max_bytes),
    HWI_FIELD(struct hwi_time_point, allocation_calls), HWI_FIELD(struct hwi_time_point, free_calls),
    HWI_FIELD(struct hwi_time_point, allocated_bytes),
};
_Static_assert(sizeof(struct hwi_time_point) == 7 * U64, "each field is above");
static const struct hwi_fields of_point = HWI_FIELDS_OF(struct hwi_time_point, point_fields);

static const struct hwi_field class_point_fields[] = {
    HWI_NEAR_FIELD(struct hwi_class_point, ns),
    HWI_FIELDS(struct hwi_class_point, live_bytes),
};
_Static_assert(sizeof(struct hwi_class_point) == (1 + HWI_SIZE_CLASSES) * U64, "each field is above");
static const struct hwi_fields of_class_point = HWI_FIELDS_OF(struct hwi_class_point, class_point_fields);

/* --- of an epoch: these can be continued --- */

/* Returns whether this is a valid distance of slices or moments. */
static bool is_grid(uint64_t width_ns)
{
  return width_ns && !(width_ns & (width_ns - 1)) && width_ns <= HWI_TRACE_LATEST_NS / (HWI_CLASS_POINTS / 4);
}

/* Returns whether the timeline can be continued. */
static bool timeline_is_sound(const struct hwi_timeline *t)
{
  return is_grid(t->width_ns) && t->first + t->current < 2 * HWI_TRACE_LATEST_NS / t->width_ns &&
         t->first <= HWI_TRACE_LATEST_NS / t->width_ns && t->slice_end_ns == (t->first + t->current + 1) * t->width_ns;
}

static void pass_timeline(struct hwi_pass *pass, struct hwi_timeline *timeline)
{
  uint64_t count = timeline->current + UINT64_C(1);
  hwi_pass_number(pass, &timeline->first);
  hwi_pass_number(pass, &timeline->width_ns);
  hwi_pass_number(pass, &timeline->slice_end_ns);
  if (!hwi_pass_count(pass, &count))
    return;
  if (count == 0 || count > HWI_TIMELINE_POINTS) {
    hwi_pass_fail(pass, HW_ERR_DAMAGED);
    return;
  }
  timeline->current = (uint32_t)count - 1;
  if (!pass->writes)
    memset(timeline->points, 0, (size_t)count * sizeof *timeline->points);
  hwi_pass_array(pass, &of_point, timeline->points, (size_t)count);
  if (!timeline_is_sound(timeline))
    hwi_pass_fail(pass, HW_ERR_DAMAGED);
}

static void pass_class_timeline(struct hwi_pass *pass, struct hwi_class_timeline *timeline)
{
  uint64_t count = timeline->count;
  hwi_pass_number(pass, &timeline->width_ns);
  hwi_pass_number(pass, &timeline->next_ns);
  if (!hwi_pass_count(pass, &count))
    return;
  if (count >= HWI_CLASS_POINTS) {
    hwi_pass_fail(pass, HW_ERR_DAMAGED);
    return;
  }
  timeline->count = (uint32_t)count;
  if (!pass->writes)
    memset(timeline->points, 0, (size_t)count * sizeof *timeline->points);
  hwi_pass_array(pass, &of_class_point, timeline->points, (size_t)count);
  if (!is_grid(timeline->width_ns) || timeline->next_ns % timeline->width_ns ||
      timeline->next_ns > 2 * HWI_TRACE_LATEST_NS)
    hwi_pass_fail(pass, HW_ERR_DAMAGED);
}

void hwi_pass_timelines(struct hwi_pass *pass, struct hwi_timeline *timeline, struct hwi_class_timeline *classes)
{
  pass_timeline(pass, timeline);
  pass_class_timeline(pass, classes);
}

/* --- of a profile: these are finished --- */

static bool slices_follow(const struct hwi_time_point *points, uint32_t count)
{
  for (uint32_t i = 0; i < count; i++)
    if (points[i].ns > HWI_TRACE_LATEST_NS || (i > 0 && points[i].ns < points[i - 1].ns))
      return false;
  return true;
}

static bool moments_follow(const struct hwi_class_point *points, uint32_t count)
{
  for (uint32_t i = 0; i < count; i++)
    if (points[i].ns > HWI_TRACE_LATEST_NS || (i > 0 && points[i].ns < points[i - 1].ns))
      return false;
  return true;
}

/* Writes or reads the number of points, which is at most `most`. */
static bool pass_point_count(struct hwi_pass *pass, uint32_t *count, uint32_t most)
{
  uint64_t number = *count;
  if (!hwi_pass_count(pass, &number))
    return false;
  if (number > most)
    hwi_pass_fail(pass, HW_ERR_DAMAGED);
  *count = number > most ? 0 : (uint32_t)number;
  return pass->status == 0;
}

void hwi_pass_points(struct hwi_pass *pass, struct hwi_profile *profile, struct hwi_timeline *timeline,
                     struct hwi_class_timeline *classes)
{
  struct hwi_time_point *slices = timeline->points;
  struct hwi_class_point *moments = classes->points;
  profile->timeline = slices;
  profile->class_points = moments;
  if (!pass_point_count(pass, &profile->timeline_count, HWI_TIMELINE_POINTS))
    return;
  hwi_pass_array(pass, &of_point, slices, profile->timeline_count);
  if (!pass_point_count(pass, &profile->class_point_count, HWI_CLASS_POINTS))
    return;
  hwi_pass_array(pass, &of_class_point, moments, profile->class_point_count);
  if (!slices_follow(slices, profile->timeline_count) || !moments_follow(moments, profile->class_point_count))
    hwi_pass_fail(pass, HW_ERR_DAMAGED);
}
