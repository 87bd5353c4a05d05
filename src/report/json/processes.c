/* processes.c - the process images of a run as a member of a JSON object */
#include "report/json/processes.h"

#include <stdlib.h>
#include <string.h>

/* Returns when the run began, on the clock that all images share. */
static uint64_t start_of_run(const struct hwi_profile *profile)
{
  uint64_t ns = UINT64_MAX;
  for (uint32_t i = 0; i < profile->image_count; i++) {
    const struct hwi_trace_info *info = profile->images[i].info;
    if (info && info->header.start.monotonic_ns < ns)
      ns = info->header.start.monotonic_ns;
  }
  return ns;
}

static bool is_forked_from(const struct hw_trace_header *image, const struct hw_trace_header *other)
{
  return memcmp(other->image_id, image->parent_image_id, HW_ID_BYTES) == 0;
}

/* Whether `other` is a program of the same process; an earlier one started this image by exec. */
static bool is_of_process(const struct hw_trace_header *image, const struct hw_trace_header *other)
{
  return other->pid == image->pid && other->pid_namespace == image->pid_namespace &&
         other->process_start == image->process_start && image->process_start != 0;
}

/* Whether `other` is the parent by its PID, for children that were not recorded between fork and exec, as with vfork
 * and posix_spawn. Without /proc, the namespace is not known. */
static bool is_child_of(const struct hw_trace_header *image, const struct hw_trace_header *other)
{
  bool are_apart =
      other->pid_namespace != image->pid_namespace && other->pid_namespace != 0 && image->pid_namespace != 0;
  return other->pid == image->ppid && !are_apart;
}

/* Returns the index of the image that started this one, and so began before it; `image` itself if none is known. */
static uint32_t parent_of(const struct hwi_profile *profile, uint32_t image)
{
  static bool (*const ways[])(const struct hw_trace_header *image,
                              const struct hw_trace_header *other) = {is_forked_from, is_of_process, is_child_of};
  for (size_t way = 0; way < sizeof ways / sizeof *ways; way++) {
    for (uint32_t i = image; i-- > 0;) {
      const struct hwi_trace_info *info = profile->images[i].info;
      if (info && ways[way](&profile->images[image].info->header, &info->header))
        return i;
    }
  }
  return image;
}

/* The listed images, and their places in the list. */
struct list {
  const struct hwi_profile *profile;
  const struct hwi_json_process_list *wanted;
  uint64_t run_ns, all_bytes;
  uint32_t *numbers; /* by image: its index in the list plus 1; 0: not in the list */
};

/* Returns the index in the list, plus 1, of the image's nearest ancestor that is listed; 0 if there is none. */
static uint32_t parent_in_list(const struct list *list, uint32_t image)
{
  uint32_t parent = parent_of(list->profile, image);
  while (parent != image && list->numbers[parent] == 0) {
    image = parent;
    parent = parent_of(list->profile, image);
  }
  return parent != image ? list->numbers[parent] : 0;
}

static void write_process(struct hwi_json *json, const struct list *list, uint32_t index)
{
  const double million = 1e6;
  const struct hwi_image *image = &list->profile->images[index];
  const struct hwi_trace_info *info = image->info;
  uint64_t from_ns = info->header.start.monotonic_ns - list->run_ns;
  uint32_t parent = parent_in_list(list, index);
  hwi_json_begin_object(json, NULL);
  hwi_json_number(json, "pid", info->header.pid);
  hwi_json_number(json, "ppid", info->header.ppid);
  if (parent != 0)
    hwi_json_number(json, "parent", parent - 1);
  hwi_json_short_text(json, "command", info->command, list->wanted->command_most);
  hwi_json_number(json, "from_ns", from_ns);
  hwi_json_number(json, "to_ns", from_ns + info->duration_ns);
  hwi_json_number(json, "allocation_calls", image->totals.allocation_calls);
  hwi_json_number(json, "allocated_bytes", image->totals.allocated_bytes);
  double share = list->all_bytes > 0 ? (double)image->totals.allocated_bytes / (double)list->all_bytes : 0;
  hwi_json_number(json, "share_ppm", (uint64_t)(share * million + 1.0 / 2));
  if (image->counted)
    hwi_json_number(json, "peak_bytes", image->totals.peak_bytes);
  hwi_json_end_object(json);
}

/* --- the choice of images --- */

struct ranked {
  uint64_t bytes;
  uint32_t image;
};

static int compare_ranked(const void *left, const void *right)
{
  const struct ranked *a = left, *b = right;
  if (a->bytes != b->bytes)
    return a->bytes > b->bytes ? -1 : 1;
  return a->image < b->image ? -1 : a->image > b->image;
}

/* Numbers the chosen images in the order in which they began. Returns how many are left out. */
static uint32_t choose(struct list *list, struct ranked *ranked)
{
  const struct hwi_profile *profile = list->profile;
  const uint32_t most = list->wanted->most;
  uint32_t count = 0, number = 0;
  for (uint32_t i = 0; i < profile->image_count; i++) {
    const struct hwi_image *image = &profile->images[i];
    list->all_bytes += image->totals.allocated_bytes;
    if (image->info && (image->counted || !list->wanted->is_of_counted))
      ranked[count++] = (struct ranked){image->totals.allocated_bytes, i};
  }
  if (count > most)
    qsort(ranked, count, sizeof *ranked, compare_ranked);
  for (uint32_t i = 0; i < count && i < most; i++)
    list->numbers[ranked[i].image] = 1;
  for (uint32_t i = 0; i < profile->image_count; i++)
    list->numbers[i] = list->numbers[i] != 0 ? ++number : 0;
  return count - number;
}

void hwi_json_processes(struct hwi_json *json, const struct hwi_profile *profile,
                        const struct hwi_json_process_list *wanted)
{
  struct list list = {.profile = profile, .wanted = wanted, .run_ns = start_of_run(profile)};
  struct ranked *ranked = calloc((size_t)profile->image_count + 1, sizeof *ranked);
  list.numbers = calloc((size_t)profile->image_count + 1, sizeof *list.numbers);
  bool done = ranked && list.numbers;
  json->failed |= !done;
  uint32_t left_out = done ? choose(&list, ranked) : 0;
  hwi_json_begin_array(json, "processes");
  for (uint32_t i = 0; i < profile->image_count && done; i++) {
    if (list.numbers[i] != 0)
      write_process(json, &list, i);
  }
  hwi_json_end_array(json);
  if (left_out > 0)
    hwi_json_number(json, "processes_left_out", left_out);
  free(ranked);
  free(list.numbers);
}
