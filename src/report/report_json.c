/* report_json.c - the report for programs: everything the model knows, nothing folded, times in nanoseconds */
#include <stdlib.h>
#include <string.h>

#include "report/evidence.h"
#include "report/findings.h"
#include "report/handover_matrix.h"
#include "report/json.h"
#include "report/json_figures.h"
#include "report/json_frames.h"
#include "report/json_groups.h"
#include "report/json_growing.h"
#include "report/json_steps.h"
#include "report/json_tree.h"
#include "report/lifetimes.h"
#include "report/linked_in.h"
#include "report/processes.h"
#include "report/report.h"
#include "report/rss_parts.h"
#include "report/runtime_blocks.h"
#include "report/selection.h"
#include "report/size_classes.h"

#define SCHEMA "heapwright-report/1"

struct writer {
  struct hwi_json json;
  const struct hwi_report *report;
  const struct hwi_profile *profile;
  struct hwi_named_frames frames;
  struct hwi_selection selection;
  struct hwi_runtime_blocks runtime;
  struct hwi_linked_in linked_in;
};

static const char *const entry_names[] = {
#define ENTRY_NAME(id, name) name,
    HW_ENTRY_LIST(ENTRY_NAME)
#undef ENTRY_NAME
};

/* --- the run --- */

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

/* `linked_in`: the allocator that the program has linked in, or NULL. */
static void write_notes(struct hwi_json *json, const struct hwi_trace_info *info, const char *linked_in)
{
  static const char *const kinds[] = {
      "", "own malloc", "own operator new", "blocks before libc was ready", "static allocator", "imported"};
  hwi_json_begin_array(json, "notes");
  for (uint32_t i = 0; i < info->note_count; i++) {
    if (info->notes[i].kind < sizeof kinds / sizeof *kinds)
      write_note(json, kinds[info->notes[i].kind], info->notes[i].text);
  }
  if (linked_in != NULL)
    write_note(json, kinds[HW_NOTE_STATIC_ALLOCATOR], linked_in);
  hwi_json_end_array(json);
}

/* What the resident set consists of, from the mappings; together mapped_bytes and untouched_bytes. */
static void write_rss_parts(struct hwi_json *json, const struct hwi_profile *profile, const struct hwi_rss_point *point)
{
  struct hwi_rss_parts parts = hwi_rss_parts_of(profile, point);
  hwi_json_number(json, "mapped_bytes", point->sample.mapped);
  hwi_json_number(json, "asked_bytes", parts.asked);
  hwi_json_number(json, "rounding_bytes", parts.rounding);
  hwi_json_number(json, "untouched_bytes", parts.untouched);
  hwi_json_number(json, "free_bytes", parts.free);
  hwi_json_number(json, "code_bytes", parts.files);
  hwi_json_number(json, "other_bytes", parts.other);
}

/* `profile`: of this image alone, and of all of its run; or NULL. */
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
    if (sample->mapped > 0 && profile != NULL)
      write_rss_parts(json, profile, &info->rss[i]);
    hwi_json_end_object(json);
  }
  hwi_json_end_array(json);
}

static void write_image(struct hwi_json *json, const struct hwi_profile *profile, const struct hwi_image *image,
                        const char *linked_in)
{
  const struct hwi_trace_info *info = image->info;
  hwi_json_begin_object(json, NULL);
  hwi_json_text(json, "trace", info->path);
  hwi_json_bool(json, "counted", image->counted);
  hwi_json_number(json, "pid", info->header.pid);
  hwi_json_number(json, "ppid", info->header.ppid);
  hwi_json_text(json, "command", info->command);
  hwi_json_text(json, "executable", info->exe);
  hwi_json_text(json, "directory", info->cwd);
  hwi_json_bool(json, "forked", info->header.origin == HW_ORIGIN_FORK);
  hwi_json_bool(json, "being_written", info->being_written);
  if (info->exit != NULL) {
    hwi_json_number(json, "exit_code", info->exit->code);
    hwi_json_number(json, "exit_signal", info->exit->signal);
  }
  hwi_json_number(json, "start_realtime_ns", info->header.start_realtime_ns);
  hwi_json_number(json, "duration_ns", info->duration_ns);
  hwi_json_number(json, "rss_peak_bytes", info->header.rss_peak_bytes);
  hwi_json_totals(json, &image->totals);
  hwi_json_begin_array(json, "silences");
  hwi_evidence_silences(info, write_silence, json);
  hwi_json_end_array(json);
  write_marks(json, info);
  write_notes(json, info, linked_in);
  uint32_t counted;
  hwi_largest_image(profile, &counted);
  bool is_alone = counted == 1 && image->counted && profile->span.kind == HWI_SPAN_RUN;
  write_rss(json, is_alone ? profile : NULL, info);
  hwi_json_end_object(json);
}

static void write_evidence(struct hwi_json *json, const struct hwi_profile *profile)
{
  struct hwi_evidence sum = hwi_evidence_of(profile);
  hwi_json_number(json, "events", sum.events);
  hwi_json_number(json, "lost_events", sum.lost_events);
  hwi_json_number(json, "audited_stacks", sum.audited_stacks);
  hwi_json_number(json, "audit_differences", sum.audit_differences);
  hwi_json_number(json, "truncated_stacks", sum.truncated_stacks);
  hwi_json_number(json, "unfinished_stacks", sum.unfinished_stacks);
  hwi_json_number(json, "node_limit_hits", sum.node_limit_hits);
  hwi_json_number(json, "children_unseen", sum.children_unseen);
  hwi_json_number(json, "boot_blocks", sum.boot_blocks);
  hwi_json_number(json, "damaged_chunks", sum.damaged_chunks);
  hwi_json_number(json, "missing_chunks", sum.missing_chunks);
}

/* Which part of the run all figures are about; nothing where they are about all of it. */
static void write_span(struct hwi_json *json, const struct hwi_profile *profile)
{
  if (profile->span.kind == HWI_SPAN_RUN)
    return;
  bool moment = profile->span.kind == HWI_SPAN_MOMENT;
  hwi_json_begin_object(json, moment ? "moment" : "interval");
  hwi_json_number(json, moment ? "time_ns" : "from_ns", profile->span.from_ns);
  if (!moment) {
    hwi_json_number(json, "to_ns", profile->span.to_ns);
    hwi_json_number(json, "live_blocks_at_start", profile->totals.live_blocks_at_start);
    hwi_json_number(json, "live_bytes_at_start", profile->totals.live_bytes_at_start);
  }
  hwi_json_end_object(json);
}

static void write_run(struct writer *writer)
{
  struct hwi_json *json = &writer->json;
  const struct hwi_profile *profile = writer->profile;
  uint64_t lifetimes[HWI_LIFETIMES];
  hwi_json_text(json, "schema", SCHEMA);
  hwi_json_run(json, profile);
  write_span(json, profile);
  write_evidence(json, profile);
  hwi_lifetimes_of_run(profile, lifetimes);
  hwi_json_lifetimes(json, lifetimes);
  hwi_json_begin_array(json, "images");
  for (uint32_t i = 0; i < profile->image_count; i++)
    write_image(json, profile, &profile->images[i], writer->linked_in.texts[i]);
  hwi_json_end_array(json);
  hwi_json_processes(json, profile);
}

/* --- lists --- */

static void write_modules(struct hwi_json *json, const struct hwi_profile *profile)
{
  hwi_json_begin_array(json, "modules");
  for (uint32_t i = 1; i < profile->module_count; i++) {
    const struct hwi_profile_module *module = &profile->modules[i];
    hwi_json_begin_object(json, NULL);
    hwi_json_text(json, "path", module->path);
    hwi_json_text(json, "build_id", module->build_id_bytes > 0 ? hwi_build_id_text(module).text : NULL);
    hwi_json_number(json, "bias", module->bias);
    hwi_json_end_object(json);
  }
  hwi_json_end_array(json);
}

/* Narrowed: what is kept of each, and no maximum, which is not known of a part. */
static void write_sizes(struct writer *writer)
{
  struct hwi_json *json = &writer->json;
  const struct hwi_profile *profile = writer->profile;
  const struct hwi_narrowing *filter = &writer->selection.narrowing;
  struct hwi_amount *amounts = hwi_amounts_by_size(profile, filter);
  json->failed |= amounts == NULL;
  hwi_json_begin_array(json, "sizes");
  for (uint32_t i = 0; i < profile->size_count && amounts != NULL; i++) {
    if (filter->rule_count > 0 && hwi_amount_is_nothing(&amounts[i]))
      continue;
    hwi_json_begin_object(json, NULL);
    hwi_json_number(json, "size", profile->sizes[i].size);
    hwi_json_amount(json, &amounts[i]);
    if (!hwi_narrowing_splits_sizes(filter))
      hwi_json_number(json, "own_peak_blocks", profile->sizes[i].own_peak_blocks);
    hwi_json_end_object(json);
  }
  hwi_json_end_array(json);
  free(amounts);
}

static void write_timeline(struct hwi_json *json, const struct hwi_profile *profile)
{
  hwi_json_begin_array(json, "timeline");
  for (uint32_t i = 0; i < profile->timeline_count; i++) {
    const struct hwi_time_point *slice = &profile->timeline[i];
    hwi_json_begin_object(json, NULL);
    hwi_json_number(json, "time_ns", slice->ns);
    hwi_json_number(json, "live_bytes", slice->live_bytes);
    hwi_json_number(json, "live_blocks", slice->live_blocks);
    hwi_json_number(json, "max_bytes", slice->max_bytes);
    hwi_json_number(json, "allocation_calls", slice->allocation_calls);
    hwi_json_number(json, "free_calls", slice->free_calls);
    hwi_json_number(json, "allocated_bytes", slice->allocated_bytes);
    hwi_json_end_object(json);
  }
  hwi_json_end_array(json);
}

/* What is not known of a part of what a thread did. */
static void write_whole_thread(struct hwi_json *json, const struct hwi_profile_thread *thread)
{
  hwi_json_number(json, "free_calls", thread->free_calls);
  hwi_json_number(json, "failed_calls", thread->failed_calls);
  hwi_json_number(json, "own_peak_bytes", thread->own_peak_bytes);
  hwi_json_number(json, "foreign_frees", thread->foreign_frees);
  hwi_json_number(json, "late_allocation_calls", thread->late_allocation_calls);
  hwi_json_number(json, "late_free_calls", thread->late_free_calls);
}

static void write_thread(struct writer *writer, const struct hwi_profile_thread *thread,
                         const struct hwi_amount *amount)
{
  struct hwi_json *json = &writer->json;
  const struct hwi_profile *profile = writer->profile;
  char name[sizeof thread->name + 1] = "";
  memcpy(name, thread->name, sizeof thread->name);
  hwi_json_begin_object(json, NULL);
  hwi_json_text(json, "name", name);
  hwi_json_number(json, "tid", thread->tid);
  if (thread->image < profile->image_count)
    hwi_json_number(json, "pid", profile->images[thread->image].info->header.pid);
  hwi_json_number(json, "policy", thread->policy);
  hwi_json_number(json, "priority", thread->priority);
  hwi_json_number(json, "allocation_calls", amount->calls);
  hwi_json_number(json, "temporary_calls", amount->temporary_calls);
  hwi_json_number(json, "allocated_bytes", amount->bytes);
  hwi_json_number(json, "live_bytes", amount->live_bytes);
  hwi_json_number(json, "live_blocks", amount->live_blocks);
  hwi_json_number(json, "peak_bytes", amount->peak_bytes);
  hwi_json_number(json, "peak_blocks", amount->peak_blocks);
  if (!hwi_narrowing_splits_threads(&writer->selection.narrowing))
    write_whole_thread(json, thread);
  hwi_json_end_object(json);
}

static void write_threads(struct writer *writer)
{
  struct hwi_json *json = &writer->json;
  const struct hwi_profile *profile = writer->profile;
  const struct hwi_narrowing *filter = &writer->selection.narrowing;
  struct hwi_amount *amounts = hwi_amounts_by_thread(profile, filter);
  json->failed |= amounts == NULL;
  hwi_json_begin_array(json, "by_thread");
  for (uint32_t i = 0; i < profile->thread_count && amounts != NULL; i++) {
    if (hwi_narrowing_keeps_thread(filter, i))
      write_thread(writer, &profile->threads[i], &amounts[i]);
  }
  hwi_json_end_array(json);
  free(amounts);
}

/* --- rankings --- */

/* What is not known of a part of a stack's blocks. */
static void write_whole_stack(struct hwi_json *json, const struct hwi_profile *profile, const struct hwi_stack *stack)
{
  if (profile->span.kind == HWI_SPAN_INTERVAL) {
    hwi_json_number(json, "live_blocks_at_start", stack->start_blocks);
    hwi_json_number(json, "live_bytes_at_start", stack->start_bytes);
  }
  hwi_json_number(json, "own_peak_bytes", stack->own_peak_bytes);
  hwi_json_number(json, "free_calls", stack->free_calls);
  hwi_json_number(json, "failed_calls", stack->failed_calls);
  hwi_json_number(json, "usable_bytes", stack->usable);
  hwi_json_number(json, "smallest", stack->smallest);
  hwi_json_number(json, "largest", stack->largest);
  hwi_json_number(json, "first_ns", stack->first_ns);
  hwi_json_number(json, "last_ns", stack->last_ns);
  hwi_json_lifetimes(json, stack->lifetimes);
}

static void write_stack(struct writer *writer, struct hwi_json_frames *frames, uint32_t number)
{
  struct hwi_json *json = &writer->json;
  const struct hwi_stack *stack = &writer->profile->stacks[number];
  hwi_json_begin_object(json, NULL);
  hwi_json_amount(json, &writer->selection.amounts[number]);
  if (!hwi_narrowing_splits_stacks(&writer->selection.narrowing)) {
    write_whole_stack(json, writer->profile, stack);
    hwi_json_steps(json, writer->profile, number);
  }
  hwi_json_text(json, "entry", stack->entry < HW_ENTRY_COUNT ? entry_names[stack->entry] : "");
  hwi_json_begin_array(json, "stack");
  hwi_json_frames_write(frames, json, number);
  hwi_json_end_array(json);
  hwi_json_end_object(json);
  fputc('\n', json->out);
}

static int write_stacks(struct writer *writer, struct hwi_error *error)
{
  struct hwi_json *json = &writer->json;
  struct hwi_json_frames frames;
  int status = hwi_json_frames_init(&frames, &writer->frames, error);
  if (status < 0)
    return status;
  hwi_json_growing(json, writer->profile, &frames);
  if (writer->profile->span.kind == HWI_SPAN_RUN) /* what stands out is about a whole run */
    hwi_json_findings(json, writer->profile, &frames);
  hwi_json_number(json, "stacks", writer->selection.stack_count);
  hwi_json_begin_array(json, "top");
  uint64_t rows = hwi_json_rows(&writer->report->options, writer->selection.stack_count);
  for (uint64_t row = 0; row < rows; row++)
    write_stack(writer, &frames, writer->selection.stacks[row]);
  hwi_json_end_array(json);
  hwi_json_frames_release(&frames);
  return HW_OK;
}

/* What the report is narrowed to, and what that leaves. */
static void write_filter(struct writer *writer)
{
  struct hwi_json *json = &writer->json;
  const struct hwi_narrowing *filter = &writer->selection.narrowing;
  hwi_json_begin_array(json, "filters");
  for (uint32_t i = 0; i < filter->rule_count; i++) {
    const struct hwi_narrowing_rule *rule = &filter->rules[i];
    hwi_json_begin_object(json, NULL);
    hwi_json_text(json, "kind", hwi_narrowing_kind_names[rule->name.kind]);
    hwi_json_text(json, "pattern", rule->name.text);
    hwi_json_bool(json, "ignore", rule->ignores);
    hwi_json_bool(json, "matched", rule->name.matched);
    if (!rule->name.matched)
      hwi_json_text(json, "nearest", rule->name.nearest.bytes > 0 ? hwi_line_text(&rule->name.nearest) : NULL);
    hwi_json_end_object(json);
  }
  hwi_json_end_array(json);
  hwi_json_amount_of(json, "selected", &writer->selection.all);
}

static void write_question(struct writer *writer)
{
  struct hwi_json *json = &writer->json;
  const struct hwi_report_options *options = &writer->report->options;
  hwi_json_text(json, "cost", hwi_cost_names[writer->selection.cost]);
  hwi_json_text(json, "by", hwi_by_names[options->by]);
  hwi_json_number(json, "min_calls", options->min_calls);
  if (options->thread != NULL)
    hwi_json_text(json, "thread", options->thread);
  write_filter(writer);
  if (!options->leaks)
    return;
  hwi_json_begin_object(json, "runtime_blocks");
  hwi_json_number(json, "stacks", writer->runtime.stack_count);
  hwi_json_number(json, "live_blocks", writer->runtime.amount.live_blocks);
  hwi_json_number(json, "live_bytes", writer->runtime.amount.live_bytes);
  hwi_json_end_object(json);
  if (writer->report->suppressions != NULL)
    hwi_json_suppressions(json, writer->report->suppressions);
}

static int write_report(struct writer *writer, struct hwi_error *error)
{
  struct hwi_json *json = &writer->json;
  hwi_json_begin_object(json, NULL);
  write_run(writer);
  write_question(writer);
  write_sizes(writer);
  write_timeline(json, writer->profile);
  write_threads(writer);
  if (writer->selection.narrowing.rule_count == 0) { /* these are known of the whole only */
    hwi_json_size_classes(json, writer->profile);
    hwi_json_handovers(json, writer->profile);
  }
  write_modules(json, writer->profile);
  int status = writer->report->options.tree != HWI_TREE_NONE
                   ? hwi_json_tree(json, writer->report, &writer->selection, &writer->frames, error)
                   : hwi_json_groups(json, writer->report, &writer->selection, &writer->frames, error);
  if (status == HW_OK)
    status = write_stacks(writer, error);
  hwi_json_end_object(json);
  fputc('\n', json->out);
  if (status == HW_OK && json->failed)
    status = hwi_error_set(error, HW_ERR_MEMORY, "no memory: the report is not complete");
  return status;
}

int hwi_report_json(const struct hwi_report *report, FILE *out, struct hwi_error *error)
{
  struct writer writer = {.json = {.out = out, .first = true}, .report = report, .profile = report->profile};
  int status = hwi_linked_in_init(&writer.linked_in, report, error);
  if (status == HW_OK)
    status = hwi_named_frames_init(&writer.frames, report, error);
  if (status < 0) {
    hwi_linked_in_release(&writer.linked_in);
    return status;
  }
  writer.runtime.frames = &writer.frames;
  writer.runtime.suppressions = report->suppressions;
  const struct hwi_stack_filter filter = {hwi_runtime_blocks_keep, &writer.runtime};
  status = hwi_selection_init(&writer.selection, report, report->options.leaks ? &filter : NULL, error);
  if (status == HW_OK)
    status = write_report(&writer, error);
  hwi_selection_release(&writer.selection);
  hwi_named_frames_release(&writer.frames);
  hwi_linked_in_release(&writer.linked_in);
  return status;
}
