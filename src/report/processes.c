/* processes.c - the process images of a run as a list for programs */
#include "report/processes.h"

#include <string.h>

/* When the run began, on the clock that all images share. */
static uint64_t start_of_run(const struct hwi_profile *profile)
{
  uint64_t ns = UINT64_MAX;
  for (uint32_t i = 0; i < profile->image_count; i++) {
    const struct hwi_trace_info *info = profile->images[i].info;
    if (info != NULL && info->header.start.monotonic_ns < ns)
      ns = info->header.start.monotonic_ns;
  }
  return ns;
}

/* The index of the image that began this one, and so began before it; `image` itself: none that is known. */
static uint32_t parent_of(const struct hwi_profile *profile, uint32_t image)
{
  const uint8_t *parent = profile->images[image].info->header.parent_image_id;
  for (uint32_t i = image; i-- > 0;) {
    const struct hwi_trace_info *info = profile->images[i].info;
    if (info != NULL && memcmp(info->header.image_id, parent, HW_ID_BYTES) == 0)
      return i;
  }
  return image;
}

static void write_process(struct hwi_json *json, const struct hwi_profile *profile, uint32_t index, uint64_t run_ns,
                          uint64_t all_bytes)
{
  const double million = 1e6;
  const struct hwi_image *image = &profile->images[index];
  const struct hwi_trace_info *info = image->info;
  uint64_t from_ns = info->header.start.monotonic_ns - run_ns;
  uint32_t parent = parent_of(profile, index);
  hwi_json_begin_object(json, NULL);
  hwi_json_number(json, "pid", info->header.pid);
  hwi_json_number(json, "ppid", info->header.ppid);
  if (parent != index)
    hwi_json_number(json, "parent", parent);
  hwi_json_text(json, "command", info->command);
  hwi_json_number(json, "from_ns", from_ns);
  hwi_json_number(json, "to_ns", from_ns + info->duration_ns);
  hwi_json_number(json, "allocation_calls", image->totals.allocation_calls);
  hwi_json_number(json, "allocated_bytes", image->totals.allocated_bytes);
  double share = all_bytes > 0 ? (double)image->totals.allocated_bytes / (double)all_bytes : 0;
  hwi_json_number(json, "share_ppm", (uint64_t)(share * million + 1.0 / 2));
  if (image->counted)
    hwi_json_number(json, "peak_bytes", image->totals.peak_bytes);
  hwi_json_end_object(json);
}

void hwi_json_processes(struct hwi_json *json, const struct hwi_profile *profile)
{
  uint64_t run_ns = start_of_run(profile), all_bytes = 0;
  for (uint32_t i = 0; i < profile->image_count; i++)
    all_bytes += profile->images[i].totals.allocated_bytes;
  hwi_json_begin_array(json, "processes");
  for (uint32_t i = 0; i < profile->image_count; i++) {
    if (profile->images[i].info != NULL)
      write_process(json, profile, i, run_ns, all_bytes);
  }
  hwi_json_end_array(json);
}
