/* run_replay.c - replays the images of a run, merged by time
 *
 * An image is opened at the time when it began, and released when it ends, so that a build of ten thousand processes
 * needs only as many descriptors and tables as there were processes at once.
 */
#include "profile/replay/run_replay.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/shell_pattern.h"
#include "profile/counters/base_sums.h"
#include "profile/summary/summary_epochs.h"
#include "trace/grow.h"

enum {
  PROGRESS_EVERY = 64,
  EVENTS_FOR_A_THREAD = 1 << 18, /* for fewer events a second thread gains nothing */
};

int hwi_run_replay_no_memory(struct hwi_run_replay *r)
{
  return hwi_error_set(r->error, HW_ERR_MEMORY,
                       "no memory to analyse the recording; close other programs or use a larger machine");
}

/* --- counting --- */

/* Runs in the pipe's thread, if it has one. */
static bool count_batch(void *context, struct hwi_batch *batch)
{
  struct hwi_run_replay *r = context;
  bool done = true;
  for (int first = 0, count; done && first < batch->count; first += count) {
    count = batch->count - first;
    if (r->epoch_writer)
      count = hwi_epoch_writer_take(r->epoch_writer, batch->events + first, count);
    done = count && hwi_replay_count(&r->result->replay, batch, first, count);
  }
  return done;
}

/* Returns false if an earlier batch could not be counted. */
static bool give(struct hwi_run_replay *r)
{
  const bool done = hwi_pipe_give(r->pipe);
  hwi_batch_begin(hwi_pipe_batch(r->pipe), NULL);
  return done;
}

/* --- the run --- */

int hwi_run_replay_begin(struct hwi_run_replay *r, const char *path)
{
  int status = hwi_run_find(&r->run, path, false, r->error);
  if (status < 0)
    return status;
  r->result = calloc(1, sizeof *r->result);
  if (!r->result)
    return hwi_run_replay_no_memory(r);
  r->result->traces = calloc(r->run.count, sizeof *r->result->traces);
  r->images = calloc(r->run.count, sizeof *r->images);
  r->result->profile.images = r->images;
  if (!r->result->traces || !r->images)
    return hwi_run_replay_no_memory(r);
  r->result->trace_count = r->result->profile.image_count = (uint32_t)r->run.count;
  r->pipe = hwi_pipe_create(count_batch, r);
  return r->pipe ? 0 : hwi_run_replay_no_memory(r);
}

uint64_t hwi_run_replay_time_span(struct hwi_run_replay *r)
{
  uint64_t end_ns = 0;
  r->base_ns = UINT64_MAX;
  for (size_t i = 0; i < r->run.count; i++) {
    const struct hw_trace_header *header = &r->run.images[i].header;
    if (!r->images[i].counted)
      continue;
    if (header->start.monotonic_ns < r->base_ns)
      r->base_ns = header->start.monotonic_ns;
    if (header->last.monotonic_ns > end_ns)
      end_ns = header->last.monotonic_ns;
  }
  return end_ns > r->base_ns ? end_ns - r->base_ns : 0;
}

/* --- replay --- */

void hwi_run_replay_show_progress(struct hwi_run_replay *r, const struct hwi_trace *trace)
{
  if (!r->options->progress || r->batches++ % PROGRESS_EVERY)
    return;
  uint64_t done, all;
  hwi_trace_progress(trace, &done, &all);
  r->options->progress(r->options->progress_context, done, all);
}

int hwi_run_replay_next_batch(struct hwi_run_replay *r, struct hwi_active *a)
{
  a->at = 0;
  a->count = a->heap_view ? hwi_heap_view_next(a->heap_view, a->image.trace, a->events, HWI_BATCH_EVENTS, r->error)
                          : hwi_trace_next(a->image.trace, a->events, HWI_BATCH_EVENTS, r->error);
  if (a->count < 0)
    return a->count;
  r->live.had_late_events |= hwi_trace_had_late_events(a->image.trace);
  uint64_t ns = a->count     ? hwi_clock_tick_ns(a->image.clock, a->events[0].tick)
                : a->follows ? hwi_trace_seen_ns(a->image.trace)
                             : hwi_trace_info(a->image.trace)->duration_ns;
  if (a->image.offset_ns + ns > a->head_ns)
    a->head_ns = a->image.offset_ns + ns;
  hwi_run_replay_show_progress(r, a->image.trace);
  return 0;
}

static void drop_active(struct hwi_run_replay *r, struct hwi_active *a)
{
  hwi_heap_view_destroy(a->heap_view);
  a->image.trace = NULL; /* the result keeps the trace, for its info */
  hwi_replay_image_release(&a->image);
  free(a->events);
  for (size_t i = 0; i < r->active_count; i++)
    if (r->active[i] == a)
      r->active[i] = r->active[--r->active_count];
  hwi_run_replay_order_images(r);
  free(a);
}

/* Returns the image's start, from the run's start; UINT64_MAX after the last image. */
static uint64_t start_ns(const struct hwi_run_replay *r, size_t number)
{
  if (number >= r->run.count)
    return UINT64_MAX;
  uint64_t ns = r->run.images[number].header.start.monotonic_ns - r->base_ns;
  return ns < HWI_TRACE_LATEST_NS ? ns : HWI_TRACE_LATEST_NS;
}

/* Returns whether this makes a profile of a whole run in which only one image is counted. */
static bool counts_one_image(const struct hwi_run_replay *r)
{
  size_t counted = 0;
  for (size_t i = 0; i < r->run.count && counted < 2; i++)
    counted += r->images[i].counted;
  return r->options->span.kind == HWI_SPAN_RUN && !r->events && counted == 1;
}

/* Begins an epoch writer if only one image is counted, and it began with the run, inherited no blocks, and has all events
 * (those of a sample are few). Returns false if there is no memory; so does the next function. */
static bool begin_epochs(struct hwi_run_replay *r, const struct hwi_replay_image *image)
{
  if (!counts_one_image(r) || image->forked || image->sample_bytes || hwi_trace_base(image->trace))
    return true;
  return hwi_summary_begin_epochs(r->summary, &r->epoch_writer, &r->result->replay, image, r->options);
}

static bool end_epochs(struct hwi_run_replay *r, const struct hwi_replay_image *image)
{
  return hwi_summary_end_epochs(&r->epoch_writer, r->result, image);
}

/* Waits until all events so far are counted. */
static int wait_for_counters(struct hwi_run_replay *r)
{
  if (r->events)
    return 0;
  const bool given = !hwi_pipe_batch(r->pipe)->count || give(r);
  return given && hwi_pipe_wait(r->pipe) ? 0 : hwi_run_replay_no_memory(r);
}

void hwi_run_replay_begin_to_catch_up(struct hwi_run_replay *r)
{
  /* With several images, only a few events at a time would be passed on, which costs more than it gains. */
  if (r->active_count == 1 && r->next >= r->run.count)
    hwi_pipe_start_thread(r->pipe);
}

int hwi_run_replay_end_to_catch_up(struct hwi_run_replay *r)
{
  const int status = wait_for_counters(r);
  hwi_pipe_end_thread(r->pipe);
  return status;
}

int hwi_run_replay_add_image(struct hwi_run_replay *r, uint32_t number, struct hwi_active **active)
{
  struct hwi_active *a = calloc(1, sizeof *a);
  if (!a || !hwi_grow((void **)&r->active, &r->active_capacity, r->active_count + 1, sizeof *r->active)) {
    free(a);
    return hwi_run_replay_no_memory(r);
  }
  *active = r->active[r->active_count++] = a;
  a->events = calloc(HWI_BATCH_EVENTS, sizeof *a->events);
  if (!hwi_replay_image_init(&a->image, r->result->traces[number], number) || !a->events)
    return hwi_run_replay_no_memory(r);
  if (r->options->heap && !(a->heap_view = hwi_heap_view_create(r->options->heap)))
    return hwi_run_replay_no_memory(r);
  if (a->heap_view) /* its events are all there */
    a->image.sample_bytes = 0;
  a->image.offset_ns = start_ns(r, number);
  hwi_trace_set_liveness(a->image.trace, hwi_resolver_is_live, &a->image);
  return 0;
}

/* Reports why the image's events could not be applied. */
static int cannot_apply(struct hwi_run_replay *r, const struct hwi_active *a)
{
  const struct hwi_error *error = &a->image.error;
  if (!error->status)
    return hwi_run_replay_no_memory(r);
  if (r->error)
    *r->error = *error;
  return error->status;
}

/* Adds the sums of events that were dropped. They are of no part of the run. */
static int add_base(struct hwi_run_replay *r, struct hwi_active *a)
{
  const struct hwi_base *base = hwi_trace_base(a->image.trace);
  if (!base || r->options->heap)
    return 0;
  int status = wait_for_counters(r);
  if (status == 0 && !hwi_base_know(base, &r->result->replay, &a->image))
    return cannot_apply(r, a);
  if (status < 0 || r->events || r->options->span.kind != HWI_SPAN_RUN)
    return status;
  r->result->has_base = true;
  if (!hwi_base_add(base, &r->result->replay, &a->image, counts_one_image(r)))
    status = cannot_apply(r, a);
  return status;
}

int hwi_run_replay_start_image(struct hwi_run_replay *r, uint32_t number)
{
  struct hwi_trace **trace = &r->result->traces[number];
  if (r->is_live && r->active_count >= r->live.active_max)
    return hwi_run_replay_open_later(r, number);
  int status = hwi_run_open(&r->run, number, trace, r->error);
  if (status < 0) {
    r->images[number].unreadable = true;
    r->images[number].counted = false;
    return status == HW_ERR_MEMORY || r->options->images != HWI_IMAGES_ALL ? status : 0;
  }
  if (r->options->shown_path)
    hwi_trace_show_as(*trace, r->options->shown_path);
  if (r->events && r->events->sink->wants_texts)
    hwi_trace_hold_texts(*trace);
  struct hwi_active *a;
  status = hwi_run_replay_add_image(r, number, &a);
  if (status == 0)
    status = add_base(r, a);
  if (status < 0)
    return status;
  if (r->is_live)
    return hwi_run_replay_follow(r, a);
  if (!begin_epochs(r, &a->image))
    return hwi_run_replay_no_memory(r);
  /* With several images, only a few events at a time would be passed on, which costs more than it gains. */
  if (counts_one_image(r) && hwi_trace_expected_events(*trace) >= EVENTS_FOR_A_THREAD)
    hwi_pipe_start_thread(r->pipe);
  return hwi_run_replay_next_batch(r, a);
}

static int stopped(struct hwi_run_replay *r)
{
  return hwi_error_set(r->error, HW_ERR_LIMIT, "the rest of the recording was not needed");
}

/* Restarts the figures of the images. Images that have ended keep what was live at their end. */
static void restart_images(struct hwi_run_replay *r)
{
  uint64_t ns = r->options->span.from_ns;
  for (size_t i = 0; i < r->run.count; i++) {
    struct hwi_totals *totals = &r->images[i].totals;
    if (r->images[i].counted)
      *totals = hwi_totals_restart(totals->live_blocks_at_end, totals->live_bytes_at_end);
  }
  for (size_t i = 0; i < r->active_count; i++) {
    struct hwi_replay_image *image = &r->active[i]->image;
    image->totals = hwi_totals_restart(image->live_blocks, image->live_bytes);
    image->totals.peak_bytes = image->live_bytes;
    image->totals.peak_blocks = image->live_blocks;
    image->totals.peak_usable_bytes = image->live_usable;
    image->totals.peak_time_ns = ns > image->offset_ns ? ns - image->offset_ns : 0;
  }
}

int hwi_run_replay_pass_phases(struct hwi_run_replay *r, uint64_t ns)
{
  struct hwi_replay *replay = &r->result->replay;
  ns = ns > replay->now_ns ? ns : replay->now_ns;
  while (replay->span.kind != HWI_SPAN_RUN && replay->phase != HWI_AFTER_SPAN && hwi_replay_phase_is_over(replay, ns)) {
    if (replay->phase == HWI_BEFORE_SPAN)
      restart_images(r);
    if (!hwi_replay_next_phase(replay))
      return hwi_run_replay_no_memory(r);
  }
  return 0;
}

static void note_heap(void *context, const char *name)
{
  struct hwi_run_replay *r = context;
  r->has_heap |= hwi_shell_pattern_matches(r->options->heap, name);
  hwi_store_intern_text(&r->heap_names, name);
}

void hwi_run_replay_note_heaps(struct hwi_run_replay *r, const struct hwi_heap_view *view)
{
  if (view)
    hwi_heap_view_each_name(view, note_heap, r);
}

int hwi_run_replay_check_heap(struct hwi_run_replay *r, bool is_over)
{
  enum { MOST_NAMES = 8 };
  char names[512] = "";
  size_t used = 0;
  if (!r->options->heap || r->has_heap || (!is_over && !r->heap_names.string_count))
    return 0;
  for (uint32_t i = 1; i <= r->heap_names.string_count && i <= MOST_NAMES; i++)
    used += (size_t)snprintf(names + used, sizeof names - used, "%s'%.48s'", i > 1 ? ", " : "",
                             r->heap_names.strings[i].text);
  if (!r->heap_names.string_count)
    return hwi_error_set(r->error, HW_ERR_USAGE,
                         "no heap is named '%s': the program reported no heaps of its own (hw_custom_heap_create)",
                         r->options->heap);
  return hwi_error_set(r->error, HW_ERR_USAGE, "no heap is named '%s'; the recording has %s%s", r->options->heap, names,
                       r->heap_names.string_count > MOST_NAMES ? " and others" : "");
}

void hwi_run_replay_go_to_end(const struct hwi_run_replay *r, struct hwi_active *a)
{
  const uint64_t end_ns = a->image.offset_ns + hwi_trace_info(a->image.trace)->duration_ns;
  if (r->is_live && !a->follows && end_ns < a->head_ns)
    a->head_ns = end_ns;
}

int hwi_run_replay_end_image(struct hwi_run_replay *r, struct hwi_active *a, bool others_go_on)
{
  int status = wait_for_counters(r);
  hwi_run_replay_go_to_end(r, a);
  if (a->head_ns > r->live.last_end_ns)
    r->live.last_end_ns = a->head_ns;
  if (status < 0)
    return status;
  if (hwi_run_replay_pass_phases(r, a->head_ns) < 0 || (r->epoch_writer && !end_epochs(r, &a->image)))
    return hwi_run_replay_no_memory(r);
  if (r->events && !hwi_block_events_end_scopes(r->events, &a->image))
    return stopped(r);
  if (others_go_on && r->events && !hwi_block_events_leave(r->events, &a->image, a->head_ns))
    return stopped(r);
  if (r->events && r->events->has_all_threads && !hwi_replay_know_threads(&r->result->replay, &a->image))
    return cannot_apply(r, a);
  if (!r->events && !hwi_replay_end_image(&r->result->replay, &a->image, a->head_ns, others_go_on))
    return hwi_run_replay_no_memory(r);
  if (others_go_on && !hwi_resolver_end_image(&r->result->replay.resolver, &a->image))
    return hwi_run_replay_no_memory(r);
  r->images[a->image.number].totals = a->image.totals;
  r->images[a->image.number].calls_are_exact = a->image.calls.known;
  uint64_t end_ns = a->head_ns < HWI_TRACE_LATEST_NS ? a->head_ns : HWI_TRACE_LATEST_NS;
  if (end_ns > r->result->profile.duration_ns)
    r->result->profile.duration_ns = end_ns;
  hwi_run_replay_note_heaps(r, a->heap_view);
  if (r->is_live)
    hwi_run_set_definitions(&r->run, a->image.number, NULL);
  hwi_trace_finish(a->image.trace);
  drop_active(r, a);
  return 0;
}

/* Returns the batch for `count` events of the image. Returns NULL if an earlier batch could not be counted. */
static struct hwi_batch *batch_for(struct hwi_run_replay *r, struct hwi_replay_image *image, int count)
{
  const struct hwi_batch *batch = hwi_pipe_batch(r->pipe);
  const bool fits = batch->image == image && batch->count + count <= HWI_BATCH_EVENTS;
  if (batch->count && !fits && !give(r))
    return NULL;
  if (!fits)
    hwi_batch_begin(hwi_pipe_batch(r->pipe), image);
  return hwi_pipe_batch(r->pipe);
}

static int report_events(struct hwi_run_replay *r, struct hwi_active *a, const struct hwi_event *events, int count)
{
  const enum hwi_applied applied = hwi_block_events_apply(r->events, &a->image, events, count);
  return applied == HWI_APPLIED ? 0 : applied == HWI_APPLIED_STOP ? stopped(r) : cannot_apply(r, a);
}

static void note_durations(struct hwi_batch *batch, const struct hwi_event *events, int count)
{
  for (int i = 0; i < count; i++)
    batch->took[batch->count + i] = events[i].took;
}

/* If there is a span, the events are counted at once, because the phase of the next events depends on them. */
static int apply_within_phase(struct hwi_run_replay *r, struct hwi_active *a, const struct hwi_event *events, int count)
{
  if (r->events)
    return report_events(r, a, events, count);
  struct hwi_batch *batch = batch_for(r, &a->image, count);
  if (batch && r->result->replay.history.is_kept && a->image.has_durations)
    note_durations(batch, events, count);
  if (!batch || !hwi_resolve(&r->result->replay.resolver, batch, events, count))
    return cannot_apply(r, a);
  return r->options->span.kind == HWI_SPAN_RUN || give(r) ? 0 : cannot_apply(r, a);
}

int hwi_run_replay_apply(struct hwi_run_replay *r, struct hwi_active *a, int count)
{
  struct hwi_replay *replay = &r->result->replay;
  const struct hwi_event *events = a->events + a->at;
  int status = 0;
  while (count > 0 && status == 0 && replay->phase != HWI_AFTER_SPAN) {
    const int now = hwi_replay_events_in_phase(replay, &a->image, events, count);
    status = apply_within_phase(r, a, events, now);
    events += now;
    count -= now;
    if (status == 0 && count > 0)
      status = hwi_run_replay_pass_phases(r, hwi_replay_image_ns(&a->image, events->tick));
  }
  return status;
}

static void note_applied(struct hwi_run_replay *r, const struct hwi_active *a, const struct hwi_event *event)
{
  const uint64_t ns = hwi_replay_image_ns(&a->image, event->tick);
  r->live.applied_ns = ns > r->live.applied_ns ? ns : r->live.applied_ns;
}

/* Applies the events of `a` that are ready and before `limit_ns`, the time of the next event of any other image. */
static int run_image(struct hwi_run_replay *r, struct hwi_active *a, uint64_t limit_ns)
{
  int end = a->at;
  if (limit_ns == UINT64_MAX)
    end = a->count;
  while (end < a->count && (end == a->at || hwi_replay_image_ns(&a->image, a->events[end].tick) <= limit_ns))
    end++;
  int status = hwi_run_replay_apply(r, a, end - a->at);
  if (status < 0)
    return status;
  if (r->is_live && end > a->at)
    note_applied(r, a, &a->events[end - 1]);
  r->reads -= (uint64_t)(end - a->at) < r->reads ? (uint64_t)(end - a->at) : r->reads;
  a->at = end;
  if (end == a->count)
    return hwi_run_replay_next_batch(r, a);
  uint64_t ns = hwi_replay_image_ns(&a->image, a->events[end].tick);
  a->head_ns = ns > a->head_ns ? ns : a->head_ns;
  return 0;
}

static size_t next_counted(const struct hwi_run_replay *r, size_t number)
{
  while (number < r->run.count && !r->images[number].counted)
    number++;
  return number;
}

/* Returns whether the replay of a run that is followed must stop at the image's head, because nothing later is known. The
 * last image does not end, since another one may begin. */
static bool must_wait(const struct hwi_run_replay *r, const struct hwi_active *a)
{
  const bool is_last = r->active_count == 1 && r->next >= r->run.count;
  return r->is_live && (r->reads == 0 || (a->count == 0 && (a->follows || is_last)));
}

int hwi_run_replay_all(struct hwi_run_replay *r)
{
  int status = 0;
  r->next = next_counted(r, r->next);
  while (status == 0 && (r->active_count || r->next < r->run.count)) {
    uint64_t limit_ns = start_ns(r, r->next);
    struct hwi_active *a = hwi_run_replay_earliest(r, &limit_ns);
    if (!a || start_ns(r, r->next) < a->head_ns) {
      r->live.had_late_events |= r->is_live && start_ns(r, r->next) < r->live.applied_ns; /* it was noticed too late */
      status = hwi_run_replay_start_image(r, (uint32_t)r->next);
      hwi_run_replay_order_images(r);
      r->next = next_counted(r, r->next + 1);
    } else if (must_wait(r, a)) {
      return 0;
    } else if (a->count) {
      status = run_image(r, a, limit_ns);
      hwi_run_replay_first_has_moved(r);
    } else {
      status = hwi_run_replay_end_image(r, a, r->active_count > 1 || r->next < r->run.count);
    }
  }
  return status == 0 && !r->is_live ? hwi_run_replay_check_heap(r, true) : status;
}

static void drop_all_active(struct hwi_run_replay *r)
{
  while (r->active_count)
    drop_active(r, r->active[0]);
}

void hwi_run_replay_abandon(struct hwi_run_replay *r)
{
  hwi_pipe_restart(r->pipe);
  drop_all_active(r);
  r->next = 0;
  for (size_t i = 0; i < r->run.count; i++) {
    hwi_trace_close(r->result->traces[i]);
    r->result->traces[i] = NULL;
  }
}

void hwi_run_replay_end(struct hwi_run_replay *r)
{
  hwi_pipe_destroy(r->pipe); /* before the data that its thread uses are released */
  drop_all_active(r);
  free(r->active);
  free(r->live.unopened);
  hwi_store_release(&r->heap_names);
  hwi_epoch_writer_destroy(r->epoch_writer);
}
