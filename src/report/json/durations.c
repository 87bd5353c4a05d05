/* durations.c - how long calls took, as members of the report's JSON object */

#include "report/json/members.h"
#include "report/selection/entries.h"

/* Writes the buckets that are not empty, as [from_ns, to_ns, calls]; `step` buckets are merged into one. */
static void write_histogram(struct hwi_json *json, const struct hwi_duration_tally *tally, uint32_t step)
{
  hwi_json_begin_array(json, "histogram");
  for (uint32_t i = 0; i < HWI_DURATION_BUCKETS; i += step) {
    uint64_t calls = 0;
    for (uint32_t k = i; k < i + step; k++)
      calls += tally->buckets[k];
    if (calls == 0)
      continue;
    hwi_json_begin_array(json, NULL);
    hwi_json_number(json, NULL, hwi_duration_bucket_from(i));
    hwi_json_number(json, NULL, hwi_duration_bucket_to(i + step - 1));
    hwi_json_number(json, NULL, calls);
    hwi_json_end_array(json);
  }
  hwi_json_end_array(json);
}

/* Writes the members of a tally's object. */
static void write_tally(struct hwi_json *json, const struct hwi_duration_tally *tally, uint32_t step)
{
  hwi_json_figures(json, hwi_duration_call_figures, tally);
  if (tally->calls == 0)
    return;
  hwi_json_figures(json, hwi_duration_figures, tally);
  write_histogram(json, tally, step);
}

void hwi_json_duration_tally(struct hwi_json *json, const struct hwi_duration_tally *tally)
{
  write_tally(json, tally, 1);
}

static void write_entries(struct hwi_json *json, const struct hwi_report_durations *found, uint32_t step)
{
  hwi_json_begin_array(json, "durations");
  for (uint32_t i = 0; i < found->entry_count; i++) {
    hwi_json_begin_object(json, NULL);
    hwi_json_text(json, "entry", hwi_entry_name(found->entries[i]));
    write_tally(json, &found->durations.entries[found->entries[i]], step);
    hwi_json_end_object(json);
  }
  hwi_json_end_array(json);
  hwi_json_begin_object(json, "durations_of_all");
  write_tally(json, &found->all, step);
  hwi_json_end_object(json);
}

static void write_call(struct hwi_json *json, const struct hwi_profile *profile, const struct hwi_slow_call *call,
                       const struct hwi_json_stacks *stacks)
{
  const struct hwi_profile_thread *thread = &profile->threads[call->thread];
  hwi_json_begin_object(json, NULL);
  hwi_json_text(json, "entry", hwi_entry_name(call->entry));
  hwi_json_number(json, "took_ns", call->took_ns);
  hwi_json_number(json, "time_ns", call->ns);
  hwi_json_number(json, "size", call->size);
  hwi_json_number(json, "address", call->address);
  hwi_json_bool(json, "failed", call->failed);
  hwi_json_text(json, "thread", thread->name);
  hwi_json_number(json, "tid", thread->tid);
  hwi_json_text(json, "stack_of", call->is_free ? "block" : "call");
  stacks->write(stacks->context, json, call->stack);
  hwi_json_end_object(json);
  fputc('\n', json->out);
}

void hwi_json_durations_found(struct hwi_json *json, const struct hwi_profile *profile,
                              const struct hwi_report_durations *found, const struct hwi_json_stacks *stacks)
{
  hwi_json_number(json, "clock_cost_ns", found->clock_cost_ns);
  write_entries(json, found, 1);
  hwi_json_begin_array(json, "slowest_calls");
  for (size_t i = 0; i < found->durations.slow_count; i++)
    write_call(json, profile, &found->durations.slowest[i], stacks);
  hwi_json_end_array(json);
}

void hwi_json_durations_in_brief(struct hwi_json *json, const struct hwi_report_durations *found)
{
  const uint32_t step = 16; /* this gives eight for each power of two */
  write_entries(json, found, step);
}

int hwi_json_durations(struct hwi_json *json, const struct hwi_report *report, const struct hwi_narrowing *narrowing,
                       struct hwi_json_frames *frames, struct hwi_error *error)
{
  struct hwi_report_durations found;
  const struct hwi_durations_wanted wanted = {.slow_calls = HWI_SLOW_CALLS_JSON};
  int status = hwi_report_durations_init(&found, report, narrowing, wanted, error);
  const struct hwi_json_stacks stacks = hwi_json_stacks_by_frames(frames);
  if (status == HW_OK)
    hwi_json_durations_found(json, report->profile, &found, &stacks);
  hwi_report_durations_release(&found);
  return status;
}
