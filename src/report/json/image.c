/* image.c - a process image, and how complete a recording is, as members of a JSON object */
#include "report/json/image.h"

#include "report/evidence.h"
#include "report/json/figures.h"
#include "report/rss_parts.h"

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

void hwi_json_notes(struct hwi_json *json, const struct hwi_trace_info *info, const char *linked_in)
{
  static const char *const kinds[] = {
      "",         "own malloc", "own operator new", "blocks before libc was ready", "static allocator",
      "imported", "allocator",  "strict seccomp"};
  hwi_json_begin_array(json, "notes");
  for (uint32_t i = 0; i < info->note_count; i++) {
    if (info->notes[i].kind < sizeof kinds / sizeof *kinds)
      write_note(json, kinds[info->notes[i].kind], info->notes[i].text);
  }
  if (linked_in)
    write_note(json, kinds[HW_NOTE_STATIC_ALLOCATOR], linked_in);
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
  }
  hwi_json_number(json, "start_realtime_ns", info->header.start_realtime_ns);
  hwi_json_number(json, "duration_ns", info->duration_ns);
  hwi_json_number(json, "rss_peak_bytes", info->header.rss_peak_bytes);
}

void hwi_json_image(struct hwi_json *json, const struct hwi_profile *profile, const struct hwi_image *image,
                    const char *linked_in)
{
  const struct hwi_trace_info *info = image->info;
  hwi_json_begin_object(json, NULL);
  hwi_json_text(json, "trace", info->path);
  hwi_json_bool(json, "counted", image->counted);
  hwi_json_process(json, info);
  hwi_json_totals(json, &image->totals);
  hwi_json_silences(json, info);
  write_marks(json, info);
  hwi_json_notes(json, info, linked_in);
  uint32_t counted;
  hwi_largest_image(profile, &counted);
  bool is_alone = counted == 1 && image->counted && profile->span.kind == HWI_SPAN_RUN;
  write_rss(json, is_alone ? profile : NULL, info);
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
