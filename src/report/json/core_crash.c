/* core_crash.c - the members of a report on a core dump about the signal that ended the process */
#include <signal.h>
#include <stdio.h>

#include "report/content/core_crash.h"
#include "report/json/core_frames.h"
#include "report/json/members.h"

enum { FRAMES_MAX = 64, NAME_BYTES = 32 };

static void write_name(struct hwi_json *json, int signal)
{
  char name[NAME_BYTES];
  const char *const short_name = sigabbrev_np(signal);
  snprintf(name, sizeof name, "SIG%s", short_name ? short_name : "");
  hwi_json_text(json, "signal_name", short_name ? name : NULL);
}

static void write_text(struct hwi_json *json, const struct hwi_core_crash *crash, const struct hwi_memory *memory)
{
  struct hwi_line line = {0};
  hwi_core_crash_add_cause(&line, crash, memory);
  hwi_json_text(json, "signal_text", hwi_line_text(&line));
  json->failed |= line.failed;
  hwi_line_release(&line);
}

static void write_stack(struct hwi_json *json, const struct hwi_core_crash *crash, const struct hwi_core_names *names)
{
  const size_t count = crash->stack ? crash->stack->count - crash->first : 0;
  hwi_json_begin_array(json, "signal_stack");
  for (size_t i = 0; i < count && i < FRAMES_MAX; i++)
    hwi_json_core_frame(json, names, &crash->stack->frames[crash->first + i]);
  if (count > FRAMES_MAX)
    hwi_json_core_frames_left_out(json, count - FRAMES_MAX);
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
  write_name(json, memory->signal);
  hwi_json_text(json, "signal_cause", hwi_crash_cause_names[crash.cause]);
  write_text(json, &crash, memory);
  if (memory->is_fault_known)
    hwi_json_number(json, "fault_address", memory->fault_address);
  if (memory->has_fault)
    hwi_json_text(json, "fault_function", function ? function->function : NULL);
  if (crash.source)
    hwi_json_number(json, "crash_address", crash.address);
  write_stack(json, &crash, report->core_names);
}
