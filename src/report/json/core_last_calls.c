/* core_last_calls.c - the members about the last calls of a recorded process whose trace is lost */
#include "report/content/core_last_calls.h"
#include "report/json/core_frames.h"
#include "report/json/members.h"
#include "report/selection/entries.h"

static void write_call(struct hwi_json *json, const struct hwi_report *report, const struct hwi_last_call *call)
{
  struct hwi_last_call_stack stack;
  hwi_last_call_stack_of(report->core->last_calls, call, &stack);
  hwi_json_begin_object(json, NULL);
  hwi_json_text(json, "entry", hwi_entry_name(stack.entry));
  if (!call->has_failed)
    hwi_json_number(json, "address", call->address);
  if (!call->is_free)
    hwi_json_number(json, "bytes", call->size);
  if (!call->is_free) {
    hwi_json_begin_array(json, "stack");
    for (size_t i = 0; i < stack.count; i++)
      hwi_json_core_frame(json, report->core_names,
                          &(struct hwi_thread_frame){.address = stack.addresses[i], .is_return = true});
    hwi_json_end_array(json);
  }
  hwi_json_end_object(json);
}

void hwi_json_core_last_calls(struct hwi_json *json, const struct hwi_report *report)
{
  const struct hwi_core *core = report->core;
  if (core->recorded_to)
    hwi_json_text(json, "recorded_to", core->recorded_to);
  if (!core->last_calls)
    return;
  hwi_json_begin_array(json, "last_calls");
  for (size_t i = 0; i < core->last_calls->count; i++) {
    const struct hwi_last_thread *thread = &core->last_calls->threads[i];
    hwi_json_begin_object(json, NULL);
    hwi_json_number(json, "thread", thread->tid);
    hwi_json_text(json, "name", thread->name);
    hwi_json_bool(json, "ordered", thread->is_ordered);
    hwi_json_begin_array(json, "calls");
    for (size_t k = 0; k < thread->count; k++)
      write_call(json, report, &thread->calls[k]);
    hwi_json_end_array(json);
    hwi_json_end_object(json);
  }
  hwi_json_end_array(json);
}
