/* profile.c - replays the images of a run, merged along time
 *
 * Images are opened when their time comes and given back when they end, so that a build of ten thousand processes needs no
 * more descriptors and tables than it had processes at once. Which image is the largest is found by a first reading that
 * only sums; a run of one image needs none.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/block_events.h"
#include "profile/result.h"
#include "profile/summary.h"
#include "trace/grow.h"
#include "trace/run.h"

enum { BATCH_EVENTS = 512, PROGRESS_EVERY = 64 };

/* A counted image between its first and its last moment. */
struct active {
  struct hwi_replay_image image;
  uint32_t number;  /* in the run */
  uint64_t head_ns; /* of its next event, or of its end where none is left */
  struct hwi_event *events;
  int count, at;
};

struct session {
  struct hwi_result *result;
  struct hwi_run run;
  struct hwi_image *images;
  uint64_t base_ns; /* monotonic time of the run's start */
  struct active **active;
  size_t active_count, active_capacity;
  const struct hwi_profile_options *options;
  uint64_t bytes_done, bytes_all, batches;
  struct hwi_error *error;
};

static int no_memory(struct session *s)
{
  return hwi_error_set(s->error, HW_ERR_MEMORY,
                       "no memory to analyse the recording; close other programs or use a larger machine");
}

/* --- which images --- */

static void show_progress(struct session *s, const struct hwi_trace *trace)
{
  if (!s->options->progress || s->batches++ % PROGRESS_EVERY)
    return;
  uint64_t done, all;
  hwi_trace_progress(trace, &done, &all);
  s->options->progress(s->options->progress_context, done, all);
}

/* Sums an image's events up without pairing them. */
static int scan_image(struct session *s, uint32_t number, struct hwi_event *events)
{
  struct hwi_trace **trace = &s->result->traces[number];
  struct hwi_totals *totals = &s->images[number].totals;
  int count = hwi_run_open(&s->run, number, trace, s->error);
  if (count < 0)
    return count;
  while ((count = hwi_trace_next(*trace, events, BATCH_EVENTS, s->error)) > 0) {
    for (int i = 0; i < count; i++) {
      totals->allocation_calls += events[i].kind == HWI_EVENT_ALLOC;
      totals->free_calls += events[i].kind == HWI_EVENT_FREE;
      totals->failed_calls += events[i].kind == HWI_EVENT_FAILED;
      totals->allocated_bytes += events[i].kind == HWI_EVENT_ALLOC ? events[i].size : 0;
    }
    show_progress(s, *trace);
  }
  hwi_trace_finish(*trace);
  return count;
}

static int choose_largest(struct session *s)
{
  if (s->run.count == 1) {
    s->images[0].counted = true;
    return 0;
  }
  struct hwi_event *events = calloc(BATCH_EVENTS, sizeof *events);
  if (!events)
    return no_memory(s);
  int status = 0;
  uint32_t largest = 0;
  for (uint32_t i = 0; i < s->run.count && status == 0; i++) {
    status = scan_image(s, i, events);
    if (status < 0 && status != HW_ERR_MEMORY && s->run.count > 1) { /* one bad file does not hide the others */
      s->images[i].unreadable = true;
      status = 0;
    }
    if (s->images[i].totals.allocated_bytes > s->images[largest].totals.allocated_bytes)
      largest = i;
  }
  free(events);
  if (status < 0)
    return status;
  if (s->images[largest].unreadable)
    return hwi_error_set(s->error, HW_ERR_DAMAGED, "no image of the run can be read; the first one is %s",
                         s->run.images[0].path);
  s->images[largest].counted = true;
  s->images[largest].totals = (struct hwi_totals){0};
  hwi_trace_close(s->result->traces[largest]);
  s->result->traces[largest] = NULL;
  return 0;
}

static int choose_images(struct session *s)
{
  if (s->options->images == HWI_IMAGES_LARGEST)
    return choose_largest(s);
  bool any = false;
  for (size_t i = 0; i < s->run.count; i++) {
    s->images[i].counted = s->options->images == HWI_IMAGES_ALL || s->run.images[i].header.pid == s->options->pid;
    any = any || s->images[i].counted;
  }
  if (!any)
    return hwi_error_set(s->error, HW_ERR_USAGE, "no process %u belongs to this run; its first one is %u",
                         s->options->pid, s->run.images[0].header.pid);
  return 0;
}

/* The others are not replayed, but what they are is told. */
static int describe_others(struct session *s)
{
  for (size_t i = 0; i < s->run.count; i++) {
    if (s->images[i].counted || s->images[i].unreadable || s->result->traces[i])
      continue;
    int status = hwi_run_open(&s->run, i, &s->result->traces[i], s->error);
    if (status == HW_ERR_MEMORY)
      return status;
    s->images[i].unreadable = status < 0;
    if (status == 0)
      hwi_trace_finish(s->result->traces[i]);
  }
  return 0;
}

/* --- replay --- */

static int next_batch(struct session *s, struct active *a)
{
  a->at = 0;
  a->count = hwi_trace_next(a->image.trace, a->events, BATCH_EVENTS, s->error);
  if (a->count < 0)
    return a->count;
  uint64_t ns =
      a->count ? hwi_trace_tick_ns(a->image.trace, a->events[0].tick) : hwi_trace_info(a->image.trace)->duration_ns;
  if (a->image.offset_ns + ns > a->head_ns)
    a->head_ns = a->image.offset_ns + ns;
  show_progress(s, a->image.trace);
  return 0;
}

static void drop_active(struct session *s, struct active *a)
{
  a->image.trace = NULL; /* the result keeps it, for its info */
  hwi_replay_image_release(&a->image);
  free(a->events);
  for (size_t i = 0; i < s->active_count; i++)
    if (s->active[i] == a)
      s->active[i] = s->active[--s->active_count];
  free(a);
}

/* Since the run's start; UINT64_MAX behind the last image. */
static uint64_t start_ns(const struct session *s, size_t number)
{
  if (number >= s->run.count)
    return UINT64_MAX;
  uint64_t ns = s->run.images[number].header.start.monotonic_ns - s->base_ns;
  return ns < HWI_TRACE_LATEST_NS ? ns : HWI_TRACE_LATEST_NS;
}

static int start_image(struct session *s, uint32_t number)
{
  struct hwi_trace **trace = &s->result->traces[number];
  int status = hwi_run_open(&s->run, number, trace, s->error);
  if (status < 0) {
    s->images[number].unreadable = true;
    s->images[number].counted = false;
    return status == HW_ERR_MEMORY || s->options->images != HWI_IMAGES_ALL ? status : 0;
  }
  struct active *a = calloc(1, sizeof *a);
  if (!a || !hwi_grow((void **)&s->active, &s->active_capacity, s->active_count + 1, sizeof *s->active)) {
    free(a);
    return no_memory(s);
  }
  s->active[s->active_count++] = a;
  a->number = number;
  a->events = calloc(BATCH_EVENTS, sizeof *a->events);
  if (!hwi_replay_image_init(&a->image, *trace) || !a->events)
    return no_memory(s);
  a->image.offset_ns = start_ns(s, number);
  hwi_trace_set_liveness(*trace, hwi_replay_is_live, &a->image);
  return next_batch(s, a);
}

static int stopped(struct session *s)
{
  return hwi_error_set(s->error, HW_ERR_LIMIT, "the rest of the recording is not wanted");
}

/* The figures of images begin anew. Those that ended before keep what was live when they did. */
static void restart_images(struct session *s)
{
  uint64_t ns = s->options->span.from_ns;
  for (size_t i = 0; i < s->run.count; i++) {
    struct hwi_totals *totals = &s->images[i].totals;
    if (s->images[i].counted)
      *totals = hwi_totals_restart(totals->live_blocks_at_end, totals->live_bytes_at_end);
  }
  for (size_t i = 0; i < s->active_count; i++) {
    struct hwi_replay_image *image = &s->active[i]->image;
    image->totals = hwi_totals_restart(image->live.count, image->live_bytes);
    image->totals.peak_bytes = image->live_bytes;
    image->totals.peak_blocks = image->live.count;
    image->totals.peak_usable_bytes = image->live_usable;
    image->totals.peak_time_ns = ns > image->offset_ns ? ns - image->offset_ns : 0;
  }
}

/* The span's phases, as far as they are over at `ns`. */
static int pass_phases(struct session *s, uint64_t ns)
{
  struct hwi_replay *replay = &s->result->replay;
  ns = ns > replay->now_ns ? ns : replay->now_ns;
  while (replay->span.kind != HWI_SPAN_RUN && replay->phase != HWI_PHASE_AFTER &&
         hwi_replay_phase_is_over(replay, ns)) {
    if (replay->phase == HWI_PHASE_BEFORE)
      restart_images(s);
    if (!hwi_replay_next_phase(replay))
      return no_memory(s);
  }
  return 0;
}

static int end_image(struct session *s, struct active *a, bool leaves)
{
  if (pass_phases(s, a->head_ns) < 0)
    return HW_ERR_MEMORY;
  if (leaves && s->options->sink && !hwi_block_events_leave(&s->result->replay, &a->image, a->number, a->head_ns))
    return stopped(s);
  if (!hwi_replay_end_image(&s->result->replay, &a->image, a->head_ns, leaves))
    return no_memory(s);
  s->images[a->number].totals = a->image.totals;
  uint64_t end_ns = a->head_ns < HWI_TRACE_LATEST_NS ? a->head_ns : HWI_TRACE_LATEST_NS;
  if (end_ns > s->result->profile.duration_ns)
    s->result->profile.duration_ns = end_ns;
  hwi_trace_finish(a->image.trace);
  drop_active(s, a);
  return 0;
}

/* What it was given could not be applied. */
static int cannot_apply(struct session *s, const struct active *a)
{
  const struct hwi_error *error = &a->image.error;
  if (!error->status)
    return no_memory(s);
  if (s->error)
    *s->error = *error;
  return error->status;
}

static int apply_within_phase(struct session *s, struct active *a, const struct hwi_event *events, int count)
{
  struct hwi_replay *replay = &s->result->replay;
  enum hwi_told told;
  if (s->options->sink)
    told = hwi_block_events_apply(replay, &a->image, a->number, events, count);
  else
    told = hwi_replay_apply(replay, &a->image, a->number, events, count) ? HWI_TOLD : HWI_TOLD_NO_MEMORY;
  return told == HWI_TOLD ? 0 : told == HWI_TOLD_STOP ? stopped(s) : cannot_apply(s, a);
}

/* Applies the next `count` of its events. */
static int apply(struct session *s, struct active *a, int count)
{
  struct hwi_replay *replay = &s->result->replay;
  const struct hwi_event *events = a->events + a->at;
  int status = 0;
  while (count > 0 && status == 0 && replay->phase != HWI_PHASE_AFTER) {
    int now = hwi_replay_count_in_phase(replay, &a->image, events, count);
    status = apply_within_phase(s, a, events, now);
    events += now;
    count -= now;
    if (status == 0 && count > 0)
      status = pass_phases(s, a->image.offset_ns + hwi_trace_tick_ns(a->image.trace, events->tick));
  }
  return status;
}

/* Applies what `a` has ready before `limit_ns`, the time of the next event of any other image. */
static int run_image(struct session *s, struct active *a, uint64_t limit_ns)
{
  int end = a->at;
  if (limit_ns == UINT64_MAX)
    end = a->count;
  while (end < a->count &&
         (end == a->at || a->image.offset_ns + hwi_trace_tick_ns(a->image.trace, a->events[end].tick) <= limit_ns))
    end++;
  int status = apply(s, a, end - a->at);
  if (status < 0)
    return status;
  a->at = end;
  if (end == a->count)
    return next_batch(s, a);
  uint64_t ns = a->image.offset_ns + hwi_trace_tick_ns(a->image.trace, a->events[end].tick);
  a->head_ns = ns > a->head_ns ? ns : a->head_ns;
  return 0;
}

static size_t next_counted(const struct session *s, size_t number)
{
  while (number < s->run.count && !s->images[number].counted)
    number++;
  return number;
}

/* The active image whose turn it is, and when the next one's is. */
static struct active *earliest(const struct session *s, uint64_t *second_ns)
{
  struct active *first = NULL;
  for (size_t i = 0; i < s->active_count; i++) {
    struct active *a = s->active[i];
    if (!first || a->head_ns < first->head_ns) {
      if (first && first->head_ns < *second_ns)
        *second_ns = first->head_ns;
      first = a;
    } else if (a->head_ns < *second_ns) {
      *second_ns = a->head_ns;
    }
  }
  return first;
}

static int replay_all(struct session *s)
{
  size_t next = next_counted(s, 0);
  int status = 0;
  while (status == 0 && (s->active_count || next < s->run.count)) {
    uint64_t limit_ns = start_ns(s, next);
    struct active *a = earliest(s, &limit_ns);
    if (!a || start_ns(s, next) < a->head_ns) {
      status = start_image(s, (uint32_t)next);
      next = next_counted(s, next + 1);
    } else if (a->count) {
      status = run_image(s, a, limit_ns);
    } else {
      status = end_image(s, a, s->active_count > 1 || next < s->run.count);
    }
  }
  return status;
}

/* --- the whole --- */

static void add_totals(struct hwi_totals *sum, const struct hwi_totals *part)
{
  sum->allocation_calls += part->allocation_calls;
  sum->free_calls += part->free_calls;
  sum->failed_calls += part->failed_calls;
  sum->temporary_calls += part->temporary_calls;
  sum->allocated_bytes += part->allocated_bytes;
  sum->usable_bytes += part->usable_bytes;
  sum->live_blocks_at_start += part->live_blocks_at_start;
  sum->live_bytes_at_start += part->live_bytes_at_start;
  sum->live_blocks_at_end += part->live_blocks_at_end;
  sum->live_bytes_at_end += part->live_bytes_at_end;
  sum->unmatched_frees += part->unmatched_frees;
  sum->frees_of_silent_blocks += part->frees_of_silent_blocks;
  sum->missed_frees += part->missed_frees;
  sum->inherited_frees += part->inherited_frees;
}

static void collect_infos(struct session *s)
{
  for (size_t i = 0; i < s->run.count; i++)
    s->images[i].info = s->result->traces[i] ? hwi_trace_info(s->result->traces[i]) : NULL;
}

/* Images have their infos. */
static int fill_profile(struct session *s)
{
  struct hwi_profile *profile = &s->result->profile;
  const struct hwi_level *level = &s->result->replay.level;
  for (size_t i = 0; i < s->run.count; i++) {
    profile->unreadable_images += s->images[i].unreadable;
    if (s->images[i].counted)
      add_totals(&profile->totals, &s->images[i].totals);
  }
  profile->unreadable_images += (uint32_t)s->run.unreadable;
  profile->span = s->options->span;
  if (profile->span.to_ns > profile->duration_ns)
    profile->span.to_ns = profile->duration_ns;
  profile->totals.peak_bytes = level->peak_bytes;
  profile->totals.peak_blocks = level->peak_blocks;
  profile->totals.peak_usable_bytes = level->peak_usable;
  profile->totals.peak_time_ns = level->peak_ns;
  return hwi_result_fill(s->result) ? 0 : no_memory(s);
}

/* When the counted images began, and how long they went on as far as their headers say. */
static uint64_t find_time_span(struct session *s)
{
  uint64_t end_ns = 0;
  s->base_ns = UINT64_MAX;
  for (size_t i = 0; i < s->run.count; i++) {
    const struct hw_trace_header *header = &s->run.images[i].header;
    if (!s->images[i].counted)
      continue;
    if (header->start.monotonic_ns < s->base_ns)
      s->base_ns = header->start.monotonic_ns;
    if (header->last.monotonic_ns > end_ns)
      end_ns = header->last.monotonic_ns;
  }
  return end_ns > s->base_ns ? end_ns - s->base_ns : 0;
}

static int replay_run(struct session *s)
{
  int status = choose_images(s);
  if (status < 0)
    return status;
  if (!hwi_replay_init(&s->result->replay, &s->options->span, find_time_span(s)))
    return no_memory(s);
  s->result->replay.sink = s->options->sink;
  status = replay_all(s);
  if (status == 0)
    status = pass_phases(s, UINT64_MAX);
  if (status == 0)
    status = describe_others(s);
  if (status < 0)
    return status;
  collect_infos(s);
  return hwi_result_describe_threads(s->result) ? 0 : no_memory(s);
}

static int make_profile(struct session *s, const struct hwi_summary *summary)
{
  bool whole = s->options->span.kind == HWI_SPAN_RUN;
  s->result->traces = calloc(s->run.count, sizeof *s->result->traces);
  s->images = calloc(s->run.count, sizeof *s->images);
  s->result->profile.images = s->images;
  if (!s->result->traces || !s->images)
    return no_memory(s);
  s->result->trace_count = s->result->profile.image_count = (uint32_t)s->run.count;
  if (whole && hwi_summary_load(summary, s->result, s->images))
    return fill_profile(s);
  int status = replay_run(s);
  if (status < 0)
    return status;
  if (whole)
    hwi_summary_keep(summary, s->options->summary_least_ns, s->result, s->images);
  return fill_profile(s);
}

int hwi_profile_create(struct hwi_profile **profile, const char *path, const struct hwi_profile_options *options,
                       struct hwi_error *error)
{
  *profile = NULL;
  struct session s = {.options = options, .error = error};
  struct hwi_summary summary;
  int status = hwi_run_find(&s.run, path, false, error);
  if (status < 0)
    return status;
  hwi_summary_init(&summary, path, &s.run, options);
  s.result = calloc(1, sizeof *s.result);
  status = s.result ? make_profile(&s, &summary) : no_memory(&s);
  while (s.active_count)
    drop_active(&s, s.active[0]);
  free(s.active);
  hwi_summary_release(&summary);
  hwi_run_release(&s.run);
  if (status == 0)
    *profile = &s.result->profile;
  else if (s.result)
    hwi_profile_destroy(&s.result->profile);
  return status;
}

void hwi_profile_destroy(struct hwi_profile *profile)
{
  if (!profile)
    return;
  struct hwi_result *result = (struct hwi_result *)profile; /* its first member */
  hwi_result_release(result);
  free(result);
}
