/* report.c - the report for programs: everything in the model, nothing folded, times in nanoseconds */
#include <stdlib.h>

#include "report/content/static_allocators.h"
#include "report/json/frames.h"
#include "report/json/json.h"
#include "report/json/members.h"
#include "report/report.h"
#include "report/selection/entries.h"
#include "report/selection/figures.h"
#include "report/selection/leaks.h"
#include "report/selection/selection.h"

struct writer {
  struct hwi_json json;
  const struct hwi_report *report;
  const struct hwi_profile *profile;
  struct hwi_named_frames frames;
  struct hwi_selection selection;
  struct hwi_runtime_blocks runtime;
  struct hwi_static_allocators static_allocators;
};

/* --- the run --- */

/* Writes which part of the run all figures are about; nothing if they are about the whole run. */
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
  hwi_json_text(json, "schema", HWI_REPORT_SCHEMA);
  hwi_json_run(json, profile);
  write_span(json, profile);
  hwi_json_heaps(json, profile, UINT32_MAX);
  hwi_json_control_group(json, profile);
  hwi_json_evidence(json, profile);
  hwi_lifetimes_of_run(profile, lifetimes);
  hwi_json_lifetimes(json, lifetimes);
  hwi_json_begin_array(json, "images");
  for (uint32_t i = 0; i < profile->image_count; i++)
    if (profile->images[i].info)
      hwi_json_image(json, profile, &profile->images[i], writer->static_allocators.texts[i]);
  hwi_json_end_array(json);
  const struct hwi_json_process_list all = {.most = UINT32_MAX, .command_most = SIZE_MAX};
  hwi_json_processes(json, profile, &all);
  if (profile->span.kind == HWI_SPAN_RUN)
    hwi_json_rss_along_time(json, profile);
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

static void write_timeline(struct hwi_json *json, const struct hwi_profile *profile)
{
  hwi_json_begin_array(json, "timeline");
  for (uint32_t i = 0; i < profile->timeline_count; i++) {
    hwi_json_begin_object(json, NULL);
    hwi_json_figures(json, hwi_time_figures, &profile->timeline[i]);
    hwi_json_end_object(json);
  }
  hwi_json_end_array(json);
}

/* --- stacks --- */

static int compare_resizes(const void *key, const void *item)
{
  uint32_t stack = *(const uint32_t *)key, other = ((const struct hwi_stack_resizes *)item)->stack;
  return stack < other ? -1 : stack > other;
}

static int compare_together(const void *key, const void *item)
{
  uint32_t stack = *(const uint32_t *)key, other = ((const struct hwi_together *)item)->stack;
  return stack < other ? -1 : stack > other;
}

static const struct hwi_stack_resizes *resizes_of(const struct hwi_profile *profile, uint32_t stack)
{
  if (profile->resize_count == 0)
    return NULL;
  return bsearch(&stack, profile->resizes, profile->resize_count, sizeof *profile->resizes, compare_resizes);
}

static const struct hwi_together *together_of(const struct hwi_profile *profile, uint32_t stack)
{
  if (profile->together_count == 0)
    return NULL;
  return bsearch(&stack, profile->together, profile->together_count, sizeof *profile->together, compare_together);
}

/* Writes how the blocks grow (realloc) and are freed together, if they do. */
static void write_steps(struct hwi_json *json, const struct hwi_profile *profile, uint32_t stack)
{
  const struct hwi_stack_resizes *resizes = resizes_of(profile, stack);
  if (resizes) {
    hwi_json_begin_object(json, "resizes");
    hwi_json_bool(json, "estimated", resizes->estimated);
    hwi_json_number(json, "steps", resizes->steps.steps);
    hwi_json_number(json, "moved", resizes->steps.moved);
    hwi_json_number(json, "copied_bytes", resizes->steps.copied_bytes);
    hwi_json_number(json, "grown", resizes->steps.grown);
    hwi_json_number(json, "grown_copied_bytes", resizes->steps.grown_copied_bytes);
    hwi_json_number(json, "final_blocks", resizes->final_blocks);
    hwi_json_number(json, "final_median", resizes->final_median);
    hwi_json_number(json, "final_largest", resizes->final_largest);
    hwi_json_end_object(json);
  }
  const struct hwi_together *together = together_of(profile, stack);
  if (together) {
    hwi_json_begin_object(json, "together");
    hwi_json_number(json, "blocks", together->blocks);
    hwi_json_number(json, "generations", together->generations);
    hwi_json_number(json, "largest_bytes", together->largest_bytes);
    hwi_json_end_object(json);
  }
}

/* Writes the figures that are known only for all of a stack's blocks. */
static void write_whole_stack(struct hwi_json *json, const struct hwi_profile *profile, const struct hwi_stack *stack)
{
  if (profile->span.kind == HWI_SPAN_INTERVAL) {
    hwi_json_number(json, "live_blocks_at_start", stack->start_blocks);
    hwi_json_number(json, "live_bytes_at_start", stack->start_bytes);
  }
  hwi_json_figures(json, hwi_whole_stack_figures, stack);
  if (profile->sample_bytes)
    hwi_json_figures(json, hwi_whole_stack_errors, stack);
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
    write_steps(json, writer->profile, number);
  }
  hwi_json_text(json, "entry", hwi_entry_name(stack->entry));
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
  const struct hwi_json_stacks stacks = hwi_json_stacks_by_frames(&frames);
  hwi_json_growing(json, writer->profile, &stacks);
  if (writer->profile->span.kind == HWI_SPAN_RUN) /* findings are about a whole run */
    hwi_json_findings(json, writer->report, &stacks);
  hwi_json_breaches(json, writer->profile, &stacks);
  hwi_json_number(json, "stacks", writer->selection.stack_count);
  hwi_json_begin_array(json, "top");
  uint64_t rows = hwi_json_rows(&writer->report->options, writer->selection.stack_count);
  for (uint64_t row = 0; row < rows; row++)
    write_stack(writer, &frames, writer->selection.stacks[row]);
  hwi_json_end_array(json);
  if (writer->report->core && writer->report->core->leaks)
    status = hwi_json_core_leaks(json, writer->report, &stacks, error);
  if (writer->report->options.durations)
    status = hwi_json_durations(json, writer->report, &writer->selection.narrowing, &frames, error);
  hwi_json_frames_release(&frames);
  return status;
}

/* Writes what the report is narrowed to, and what is kept. */
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
  if (options->thread)
    hwi_json_text(json, "thread", options->thread);
  write_filter(writer);
  if (!options->leaks)
    return;
  hwi_json_begin_object(json, "runtime_blocks");
  hwi_json_number(json, "stacks", writer->runtime.stack_count);
  hwi_json_number(json, "live_blocks", writer->runtime.amount.live_blocks);
  hwi_json_number(json, "live_bytes", writer->runtime.amount.live_bytes);
  hwi_json_end_object(json);
  if (writer->report->suppressions)
    hwi_json_suppressions(json, writer->report->suppressions);
}

static int write_report(struct writer *writer, struct hwi_error *error)
{
  struct hwi_json *json = &writer->json;
  hwi_json_begin_object(json, NULL);
  write_run(writer);
  if (writer->report->core)
    hwi_json_core(json, writer->report);
  write_question(writer);
  hwi_json_sizes(json, writer->profile, &writer->selection.narrowing);
  write_timeline(json, writer->profile);
  hwi_json_threads(json, writer->profile, &writer->selection.narrowing);
  hwi_json_entries(json, writer->profile, &writer->selection);
  hwi_json_scopes(json, writer->report, &writer->selection.narrowing);
  hwi_json_marks(json, writer->profile);
  hwi_json_counters(json, writer->profile, UINT32_MAX);
  if (writer->selection.narrowing.rule_count == 0) { /* these are known only for the whole */
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
  int status = hwi_static_allocators_init(&writer.static_allocators, report, error);
  if (status == HW_OK)
    status = hwi_named_frames_init(&writer.frames, report, error);
  if (status < 0) {
    hwi_static_allocators_release(&writer.static_allocators);
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
  hwi_static_allocators_release(&writer.static_allocators);
  return status;
}
