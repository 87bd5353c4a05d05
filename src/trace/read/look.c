/* look.c - a trace that is read while its program writes it: hwi_trace_look */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "platform/os.h"
#include "platform/os_tools.h"
#include "trace/read/alive.h"
#include "trace/read/hold.h"
#include "trace/read/trace.h"

/* A thread may be stopped in the middle of an event for so long. */
static const uint64_t EVENT_DELAY_MAX_NS = 200000000;

/* Reads what tools have written since. */
static int read_tools(struct hwi_trace *trace)
{
  int status = hwi_tool_area_read(&trace->tool, trace->source.fd, &trace->header, &trace->index);
  if (status == 0)
    hwi_clock_init(&trace->clock, &trace->header, trace->tool.anchors, (uint32_t)trace->tool.anchor_count);
  return status;
}

/* What the index has of raw chunks is found again: they may grow. */
static int begin_to_follow(struct hwi_trace *trace)
{
  const struct hwi_liveness liveness = trace->merge.liveness;
  trace->follows = true;
  trace->begun_off = hwi_index_sections_off(&trace->header);
  hwi_merge_release(&trace->merge);
  trace->merge = (struct hwi_merge){.liveness = liveness};
  trace->definitions->limit = HWI_TRACE_NODE_SLACK;
  trace->index.damaged = trace->index.first_damage = 0;
  return hwi_growing_take_sections(&trace->growing, &trace->index) ? 0 : HW_ERR_MEMORY;
}

/* Adds the damage outside of chunks that were read. */
static int find_damage(struct hwi_trace *trace)
{
  struct hwi_index index;
  const off_t file_bytes = lseek(trace->source.fd, 0, SEEK_END);
  int status = file_bytes < 0 ? HW_ERR_IO : 0;
  if (status == 0)
    status = hwi_index_build(&index, trace->source.fd, &trace->header, (uint64_t)file_bytes);
  if (status == 0) {
    if (index.damaged && (!trace->index.damaged || index.first_damage < trace->index.first_damage))
      trace->index.first_damage = index.first_damage;
    trace->index.damaged += index.damaged;
    hwi_index_release(&index);
  }
  return status;
}

/* --- whether more may come --- */

enum { OLD_GAPS_EVERY = 16 }; /* looks */
static const uint64_t CHECK_EVERY_NS = 1000000000;

/* Reading the process's mappings slows it down, so it is not done at each look. */
static bool is_check_due(const struct hwi_trace *trace)
{
  return !trace->checked_ns || trace->header.state == HW_STATE_EXITED || trace->replaced_ns != UINT64_MAX ||
         hwi_os_monotonic_ns() - trace->checked_ns >= CHECK_EVERY_NS;
}

/* To be called before anything is read: what is not being written then is read to its end. */
static void check_writer(struct hwi_trace *trace)
{
  if (!trace->may_go_on || !is_check_due(trace))
    return;
  trace->checked_ns = hwi_os_monotonic_ns();
  trace->info.being_written = hwi_trace_writer(trace->source.fd, &trace->header) != 0;
  const bool may_begin_again = trace->replaced_ns == UINT64_MAX && trace->header.kind == HW_TRACE_RAW;
  trace->may_go_on =
      trace->info.being_written || (may_begin_again && hwi_trace_process_runs(trace->source.fd, &trace->header));
}

/* The launcher of the trace's process, as HEAPWRIGHT_LAUNCHER names it to the recorder. */
struct launcher {
  unsigned pid;
  unsigned long long start;
};

/* Returns false if the process has none: nothing named one, or the process was started by another one. */
static bool find_launcher(const struct hwi_trace *trace, struct launcher *launcher)
{
  const struct hwi_definition_text *text = &trace->definitions->environment;
  for (size_t at = 0; at < text->count; at += strlen(text->bytes + at) + 1)
    if (sscanf(text->bytes + at, "HEAPWRIGHT_LAUNCHER=%u.%llu", &launcher->pid, &launcher->start) == 2)
      return launcher->pid == trace->header.ppid;
  return false;
}

bool hwi_trace_launcher_runs(const struct hwi_trace *trace)
{
  struct launcher launcher;
  return find_launcher(trace, &launcher) && hwi_os_running_process_start(launcher.pid) == launcher.start;
}

void hwi_trace_read_status(struct hwi_trace *trace)
{
  struct launcher launcher;
  struct hwi_trace *again;
  struct hwi_error ignored;
  if (trace->tool.has_exit || !find_launcher(trace, &launcher) ||
      hwi_trace_open_alone(&again, trace->path, &ignored) < 0)
    return;
  if (memcmp(again->header.image_id, trace->header.image_id, HW_ID_BYTES) == 0) {
    trace->tool.exit = again->tool.exit;
    trace->tool.has_exit = again->tool.has_exit;
    hwi_trace_info_update(trace);
  }
  hwi_trace_close(again);
}

/* Sections may be dropped that were not read yet: then the trace has to be read again, from what is left of them. */
static bool was_overtaken(const struct hwi_trace *trace)
{
  const uint64_t off = hwi_index_sections_off(&trace->header);
  return off > trace->index.sections_end || (off != trace->begun_off && trace->index.damaged);
}

static int look(struct hwi_trace *trace)
{
  struct hwi_growing_streams *growing = &trace->growing;
  growing->chunks.skips_old_gaps = trace->info.being_written && ++trace->looks % OLD_GAPS_EVERY != 0;
  if (!trace->holds) /* what this look finds stays until it is read */
    hwi_hold_begin(trace->source.fd);
  trace->holds = true;
  hwi_index_update_header(trace->source.fd, &trace->header);
  int status = hwi_growing_look(growing, &trace->source, &trace->merge);
  if (status == 0)
    status = read_tools(trace);
  if (status == 0 && !trace->may_go_on && !trace->found_damage) {
    trace->found_damage = true;
    status = find_damage(trace);
  }
  trace->had_late_events |= was_overtaken(trace);
  trace->merge.until = trace->info.being_written ? trace->seen_tick : UINT64_MAX;
  hwi_definitions_expect(trace->definitions, growing->new_nodes);
  growing->new_nodes = 0;
  return status;
}

int hwi_trace_look(struct hwi_trace *trace, bool *is_over, struct hwi_error *error)
{
  int status = 0;
  if (!trace->follows && trace->header.kind == HW_TRACE_RAW)
    status = begin_to_follow(trace);
  check_writer(trace);
  const bool waits_longer = trace->delay_ns > EVENT_DELAY_MAX_NS;
  trace->seen_tick = hwi_clock_tick_ago(&trace->header, waits_longer ? trace->delay_ns : EVENT_DELAY_MAX_NS);
  if (status == 0 && trace->follows)
    status = look(trace);
  const int os_error = errno;
  hwi_trace_info_update(trace);
  *is_over = !trace->may_go_on;
  return status < 0 ? hwi_trace_fail(trace, status, os_error, error) : 0;
}

void hwi_trace_delay(struct hwi_trace *trace, uint64_t ns)
{
  trace->delay_ns = ns;
}

void hwi_trace_forked(struct hwi_trace *trace)
{
  hwi_hold_apart(trace->source.fd, trace->holds);
}

bool hwi_trace_had_late_events(const struct hwi_trace *trace)
{
  return trace->had_late_events;
}

uint64_t hwi_trace_seen_ns(const struct hwi_trace *trace)
{
  return hwi_clock_tick_ns(&trace->clock, trace->seen_tick);
}
