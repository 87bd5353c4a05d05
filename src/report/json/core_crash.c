/* core_crash.c - the members of a report on a core dump about the signal that ended the process */
#include "report/content/core_crash.h"
#include "report/json/members.h"

enum { FRAMES_MAX = 64 };

static void write_raw(struct hwi_json *json, struct hwi_line *line)
{
  json->failed |= line->failed;
  if (!line->failed)
    hwi_json_raw(json, hwi_line_text(line));
  hwi_line_release(line);
}

static void write_frame(struct hwi_json *json, const struct hwi_core_names *names, const struct hwi_thread_frame *frame)
{
  const struct hwi_core_module *module;
  const struct hwi_symbol *symbols;
  const uint32_t count = hwi_core_names_code(names, frame->address, frame->is_return, &module, &symbols);
  for (uint32_t i = 0; i < count; i++) {
    struct hwi_line line = {0};
    json->failed |= !hwi_json_frame_add(&line, &symbols[i], module ? module->path : NULL, frame->address);
    write_raw(json, &line);
  }
}

static void write_stack(struct hwi_json *json, const struct hwi_core_crash *crash, const struct hwi_core_names *names)
{
  const size_t count = crash->stack ? crash->stack->count - crash->first : 0;
  hwi_json_begin_array(json, "signal_stack");
  for (size_t i = 0; i < count && i < FRAMES_MAX; i++)
    write_frame(json, names, &crash->stack->frames[crash->first + i]);
  if (count > FRAMES_MAX) {
    struct hwi_line line = {0};
    hwi_json_frames_left_out_add(&line, count - FRAMES_MAX);
    write_raw(json, &line);
  }
  hwi_json_end_array(json);
}

void hwi_json_core_crash(struct hwi_json *json, const struct hwi_report *report)
{
  const struct hwi_memory *memory = report->core->memory;
  struct hwi_core_crash crash;
  hwi_json_number(json, "signal", (uint64_t)memory->signal);
  hwi_core_crash_find(&crash, report->core_names);
  if (!crash.is_known)
    return;
  const struct hwi_symbol *function = hwi_core_crash_function(&crash, report->core_names);
  hwi_json_number(json, "signal_thread", memory->threads[0].tid);
  hwi_json_text(json, "signal_cause", hwi_crash_cause_names[crash.cause]);
  if (memory->is_fault_known)
    hwi_json_number(json, "fault_address", memory->fault_address);
  if (memory->has_fault)
    hwi_json_text(json, "fault_function", function ? function->function : NULL);
  if (crash.source)
    hwi_json_number(json, "crash_address", crash.address);
  write_stack(json, &crash, report->core_names);
}
