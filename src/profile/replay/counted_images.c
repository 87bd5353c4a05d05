/* counted_images.c - decides which images of a run are counted
 *
 * The largest image is found by a first reading that only adds up totals; a run of one image needs none. With the option
 * `heap`, an image that has the heap is larger than one that has not, even if the heap gave out nothing.
 */
#include <stdlib.h>

#include "profile/counters/base_sums.h"
#include "profile/replay/run_replay.h"
#include "trace/read/call_counts.h"

static int next_events(struct hwi_run_replay *r, struct hwi_heap_view *view, struct hwi_trace *trace,
                       struct hwi_event *events)
{
  return view ? hwi_heap_view_next(view, trace, events, HWI_BATCH_EVENTS, r->error)
              : hwi_trace_next(trace, events, HWI_BATCH_EVENTS, r->error);
}

static void scan_event(struct hwi_totals *totals, uint64_t sample_bytes, const struct hwi_event *event)
{
  const bool is_birth = event->kind == HWI_EVENT_ALLOC;
  if (!sample_bytes) {
    totals->allocation_calls += is_birth;
    totals->free_calls += event->kind == HWI_EVENT_FREE;
    totals->allocated_bytes += is_birth ? event->size : 0;
  }
  totals->failed_calls += event->kind == HWI_EVENT_FAILED;
}

/* Of a sample, all calls are counted: they replace the estimates of those that were dropped. */
static void take_all_calls(struct hwi_totals *totals, const struct hwi_trace *trace)
{
  const struct hwi_chunk_counts *chunks;
  const size_t count = hwi_trace_call_counts(trace, &chunks);
  if (count)
    totals->allocation_calls = totals->allocated_bytes = totals->free_calls = 0;
  for (size_t i = 0; i < count; i++) {
    totals->allocation_calls += chunks[i].counts[HW_COUNT_ALLOCATIONS];
    totals->allocated_bytes += chunks[i].counts[HW_COUNT_BYTES];
    totals->free_calls += chunks[i].counts[HW_COUNT_FREES];
  }
}

/* Adds up an image's events without matching frees with blocks. `view`: NULL for malloc. */
static int scan_image(struct hwi_run_replay *r, uint32_t number, struct hwi_heap_view *view, struct hwi_event *events)
{
  struct hwi_trace **trace = &r->result->traces[number];
  struct hwi_totals *totals = &r->images[number].totals;
  const uint64_t sample_bytes = view ? 0 : r->run.images[number].header.sample_bytes;
  int count = hwi_run_open(&r->run, number, trace, r->error);
  if (count < 0)
    return count;
  if (hwi_trace_base(*trace) && !view)
    hwi_base_add_to_totals(hwi_trace_base(*trace), totals);
  while ((count = next_events(r, view, *trace, events)) > 0) {
    for (int i = 0; i < count; i++)
      scan_event(totals, sample_bytes, &events[i]);
    hwi_run_replay_show_progress(r, *trace);
  }
  if (count == 0)
    hwi_run_replay_note_heaps(r, view);
  if (sample_bytes)
    take_all_calls(totals, *trace);
  hwi_trace_finish(*trace);
  return count;
}

static int choose_largest(struct hwi_run_replay *r)
{
  if (r->run.count == 1) {
    r->images[0].counted = true;
    return 0;
  }
  struct hwi_event *events = calloc(HWI_BATCH_EVENTS, sizeof *events);
  if (!events)
    return hwi_run_replay_no_memory(r);
  int status = 0;
  uint32_t largest = 0;
  for (uint32_t i = 0; i < r->run.count && status == 0; i++) {
    struct hwi_heap_view *view = r->options->heap ? hwi_heap_view_create(r->options->heap) : NULL;
    const bool had_heap = r->has_heap;
    status = view || !r->options->heap ? scan_image(r, i, view, events) : hwi_run_replay_no_memory(r);
    hwi_heap_view_destroy(view);
    if (status < 0 && status != HW_ERR_MEMORY && r->run.count > 1) { /* one damaged file does not hide the others */
      r->images[i].unreadable = true;
      status = 0;
    }
    if (r->images[i].totals.allocated_bytes > r->images[largest].totals.allocated_bytes || r->has_heap > had_heap)
      largest = i;
  }
  free(events);
  if (status < 0)
    return status;
  if (r->images[largest].unreadable)
    return hwi_error_set(r->error, HW_ERR_DAMAGED, "no image of the run can be read; the first one is %s",
                         r->run.images[0].path);
  r->images[largest].counted = true;
  r->images[largest].totals = (struct hwi_totals){0};
  hwi_trace_close(r->result->traces[largest]);
  r->result->traces[largest] = NULL;
  return 0;
}

bool hwi_run_replay_is_wanted(const struct hwi_run_replay *r, size_t number)
{
  return r->options->images == HWI_IMAGES_ALL || r->run.images[number].header.pid == r->options->pid;
}

int hwi_run_replay_choose(struct hwi_run_replay *r)
{
  if (r->options->images == HWI_IMAGES_LARGEST)
    return choose_largest(r);
  bool any = false;
  for (size_t i = 0; i < r->run.count; i++) {
    r->images[i].counted = hwi_run_replay_is_wanted(r, i);
    any = any || r->images[i].counted;
  }
  if (!any)
    return hwi_error_set(r->error, HW_ERR_USAGE, "no process %u belongs to this run; its first one is %u",
                         r->options->pid, r->run.images[0].header.pid);
  return 0;
}

int hwi_run_replay_describe_others(struct hwi_run_replay *r)
{
  for (size_t i = 0; i < r->run.count; i++) {
    if (r->images[i].counted || r->images[i].unreadable || r->result->traces[i])
      continue;
    int status = hwi_run_open(&r->run, i, &r->result->traces[i], r->error);
    if (status == HW_ERR_MEMORY)
      return status;
    r->images[i].unreadable = status < 0;
    if (status == 0)
      hwi_trace_finish(r->result->traces[i]);
  }
  return 0;
}
