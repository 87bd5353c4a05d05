/* images.c - the process images of a run, and how complete a recording is, as members of a JSON object */

#include "report/content/control_group.h"
#include "report/content/evidence.h"
#include "report/content/rss_parts.h"
#include "report/json/members.h"

static void write_silence(void *context, const struct hwi_silence *silence)
{
  struct hwi_json *json = context;
  hwi_json_begin_object(json, NULL);
  hwi_json_number(json, "from_ns", silence->from_ns);
  if (silence->to_ns != UINT64_MAX)
    hwi_json_number(json, "to_ns", silence->to_ns);
  hwi_json_text(json, "why", silence->why);
  hwi_json_end_object(json);
}

void hwi_json_silences(struct hwi_json *json, const struct hwi_trace_info *info)
{
  hwi_json_begin_array(json, "silences");
  hwi_evidence_silences(info, write_silence, json);
  hwi_json_end_array(json);
}

static void write_marks(struct hwi_json *json, const struct hwi_trace_info *info)
{
  hwi_json_begin_array(json, "marks");
  for (uint32_t i = 0; i < info->mark_count; i++) {
    if (info->marks[i].type != HW_TOOL_MARK)
      continue;
    hwi_json_begin_object(json, NULL);
    hwi_json_number(json, "time_ns", info->marks[i].ns);
    hwi_json_text(json, "text", info->marks[i].text);
    hwi_json_end_object(json);
  }
  hwi_json_end_array(json);
}

static void write_note(struct hwi_json *json, const char *kind, const char *text)
{
  hwi_json_begin_object(json, NULL);
  hwi_json_text(json, "kind", kind);
  hwi_json_text(json, "text", text);
  hwi_json_end_object(json);
}

void hwi_json_notes(struct hwi_json *json, const struct hwi_trace_info *info, const char *static_allocator)
{
  static const char *const kinds[] = {"",
                                      "own malloc",
                                      "own operator new",
                                      "blocks before libc was ready",
                                      "static allocator",
                                      "imported",
                                      "allocator",
                                      "strict seccomp",
                                      "loaded late",
                                      "ignored",
                                      "read from memory",
                                      "linked-in allocator",
                                      "linked-in allocator not recorded"};
  hwi_json_begin_array(json, "notes");
  for (uint32_t i = 0; i < info->note_count; i++) {
    if (info->notes[i].kind < sizeof kinds / sizeof *kinds)
      write_note(json, kinds[info->notes[i].kind], info->notes[i].text);
  }
  if (static_allocator)
    write_note(json, kinds[HW_NOTE_STATIC_ALLOCATOR], static_allocator);
  hwi_json_end_array(json);
}

/* Writes the parts of the resident memory, from the mappings; their sum is mapped_bytes plus untouched_bytes. */
static void write_rss_parts(struct hwi_json *json, const struct hwi_profile *profile, const struct hwi_rss_point *point)
{
  struct hwi_rss_parts parts = hwi_rss_parts_of(profile, point);
  hwi_json_number(json, "mapped_bytes", point->sample.mapped);
  hwi_json_number(json, "asked_bytes", parts.asked);
  hwi_json_number(json, "rounding_bytes", parts.rounding);
  hwi_json_number(json, "untouched_bytes", parts.untouched);
  hwi_json_number(json, "free_bytes", parts.free);
  hwi_json_number(json, "own_mapped_bytes", parts.own);
  hwi_json_number(json, "code_bytes", parts.files);
  hwi_json_number(json, "other_bytes", parts.other);
}

/* `profile` is of this image only, and of its whole run; or NULL. */
static void write_rss(struct hwi_json *json, const struct hwi_profile *profile, const struct hwi_trace_info *info)
{
  hwi_json_begin_array(json, "rss");
  for (uint32_t i = 0; i < info->rss_count; i++) {
    const struct hw_rss_sample *sample = &info->rss[i].sample;
    hwi_json_begin_object(json, NULL);
    hwi_json_number(json, "time_ns", info->rss[i].ns);
    hwi_json_number(json, "rss_bytes", sample->rss);
    hwi_json_number(json, "anonymous_bytes", sample->anonymous);
    hwi_json_number(json, "file_bytes", sample->file);
    hwi_json_number(json, "shmem_bytes", sample->shmem);
    hwi_json_number(json, "swap_bytes", sample->swap);
    hwi_json_number(json, "recorder_bytes", sample->recorder);
    hwi_json_number(json, "stack_bytes", sample->stacks);
    if (sample->group_current > 0)
      hwi_json_number(json, "group_bytes", sample->group_current);
    if (sample->group_limit > 0)
      hwi_json_number(json, "group_limit_bytes", sample->group_limit);
    if (sample->mapped > 0 && profile && hwi_rss_has_live(profile, &info->rss[i]))
      write_rss_parts(json, profile, &info->rss[i]);
    hwi_json_end_object(json);
  }
  hwi_json_end_array(json);
}

void hwi_json_process(struct hwi_json *json, const struct hwi_trace_info *info)
{
  hwi_json_number(json, "pid", info->header.pid);
  hwi_json_number(json, "ppid", info->header.ppid);
  hwi_json_text(json, "command", info->command);
  hwi_json_text(json, "executable", info->exe);
  hwi_json_text(json, "directory", info->cwd);
  hwi_json_bool(json, "forked", info->header.origin == HW_ORIGIN_FORK);
  hwi_json_bool(json, "being_written", info->being_written);
  if (info->exit) {
    hwi_json_number(json, "exit_code", info->exit->code);
    hwi_json_number(json, "exit_signal", info->exit->signal);
    if (hwi_was_out_of_memory(info))
      hwi_json_bool(json, "out_of_memory", true);
  }
  hwi_json_number(json, "start_realtime_ns", info->header.start_realtime_ns);
  hwi_json_number(json, "duration_ns", info->duration_ns);
  hwi_json_number(json, "rss_peak_bytes", info->header.rss_peak_bytes);
}

void hwi_json_image(struct hwi_json *json, const struct hwi_profile *profile, const struct hwi_image *image,
                    const char *static_allocator)
{
  const struct hwi_trace_info *info = image->info;
  hwi_json_begin_object(json, NULL);
  hwi_json_text(json, "trace", info->path);
  hwi_json_bool(json, "counted", image->counted);
  hwi_json_process(json, info);
  hwi_json_figures(json, hwi_totals_figures, &image->totals);
  hwi_json_silences(json, info);
  write_marks(json, info);
  hwi_json_notes(json, info, static_allocator);
  uint32_t counted;
  hwi_largest_image(profile, &counted);
  bool is_alone = counted == 1 && image->counted && profile->span.kind == HWI_SPAN_RUN;
  write_rss(json, is_alone ? profile : NULL, info);
  hwi_json_end_object(json);
}

void hwi_json_control_group(struct hwi_json *json, const struct hwi_profile *profile)
{
  const struct hwi_control_group group = hwi_control_group_of(profile);
  if (group.peak_bytes == 0 && group.oom_kills == 0)
    return;
  hwi_json_begin_object(json, "control_group");
  if (group.limit_bytes > 0)
    hwi_json_number(json, "limit_bytes", group.limit_bytes);
  hwi_json_number(json, "peak_bytes", group.peak_bytes);
  hwi_json_number(json, "oom_kills", group.oom_kills);
  hwi_json_end_object(json);
}

static void write_program(void *context, const struct hwi_unseen_program *program)
{
  struct hwi_json *json = context;
  hwi_json_begin_object(json, NULL);
  hwi_json_text(json, "program", program->name);
  hwi_json_number(json, "pid", program->pid);
  hwi_json_text(json, "executed_by", program->by->info->command);
  hwi_json_number(json, "executed_by_pid", program->by->info->header.pid);
  hwi_json_end_object(json);
}

void hwi_json_evidence(struct hwi_json *json, const struct hwi_profile *profile)
{
  struct hwi_evidence sum = hwi_evidence_of(profile);
  hwi_json_number(json, "events", sum.events);
  hwi_json_number(json, "lost_events", sum.lost_events);
  hwi_json_begin_object(json, "lost_by_cause");
  for (int loss = 0; loss < HW_LOSSES; loss++)
    hwi_json_number(json, hwi_loss_key((enum hw_loss)loss), sum.lost_by_cause[loss]);
  hwi_json_end_object(json);
  hwi_json_number(json, "audited_stacks", sum.audited_stacks);
  hwi_json_number(json, "audit_differences", sum.audit_differences);
  hwi_json_number(json, "truncated_stacks", sum.truncated_stacks);
  hwi_json_number(json, "unfinished_stacks", sum.unfinished_stacks);
  hwi_json_number(json, "node_limit_hits", sum.node_limit_hits);
  hwi_json_number(json, "children_unseen", sum.children_unseen);
  hwi_json_begin_array(json, "unseen_programs");
  hwi_evidence_unseen_programs(profile, write_program, json);
  hwi_json_end_array(json);
  hwi_json_number(json, "unreadable_images", sum.unreadable_images);
  hwi_json_number(json, "boot_blocks", sum.boot_blocks);
  hwi_json_number(json, "damaged_chunks", sum.damaged_chunks);
  hwi_json_number(json, "missing_chunks", sum.missing_chunks);
  hwi_json_number(json, "dropped_until_ns", sum.dropped_until_ns);
  if (sum.peak_is_of_kept)
    hwi_json_bool(json, "peak_of_kept_events", true);
}

void hwi_json_rss_along_time(struct hwi_json *json, const struct hwi_profile *profile)
{
  uint64_t moments_ns[HWI_RSS_MOMENTS];
  uint32_t count = hwi_rss_moments(profile, moments_ns);
  hwi_json_begin_array(json, "rss_along_time");
  for (uint32_t i = 0; i < count; i++) {
    struct hwi_rss_sum sum = hwi_rss_sum_at(profile, moments_ns[i]);
    hwi_json_begin_object(json, NULL);
    hwi_json_number(json, "time_ns", moments_ns[i]);
    hwi_json_number(json, "processes", sum.processes);
    hwi_json_number(json, "unknown_processes", sum.unknown);
    hwi_json_number(json, "recorder_bytes", sum.point.sample.recorder);
    hwi_json_number(json, "stack_bytes", sum.point.sample.stacks);
    if (sum.unknown == 0 && hwi_rss_has_live(profile, &sum.point))
      write_rss_parts(json, profile, &sum.point);
    else
      hwi_json_number(json, "mapped_bytes", sum.point.sample.mapped);
    hwi_json_end_object(json);
  }
  hwi_json_end_array(json);
}

/* --- the list of processes --- */

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
