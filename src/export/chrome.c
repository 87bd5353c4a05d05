/* chrome.c - Chrome's trace events in JSON, which Perfetto and chrome://tracing show on a time axis
 *
 * Counters: the live bytes, the live blocks of each of the sizes that hold most at their own peak, those of all
 * other sizes together, and the RSS. They are written at the ends of the slices of the profile's timeline, the live
 * bytes also at the maximum of each slice; and those that the program set. Instants: marks, and a leak marker at the
 * end with the count of live blocks by size. Slices: the scopes that threads were in, with what was allocated and
 * freed in each by size. If requested, each allocation of the costliest stacks is an instant of its thread, with its
 * stack, or a slice if its duration is known.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "export/export.h"
#include "export/scope_slices.h"
#include "export/trace_events.h"
#include "report/content/evidence.h"
#include "report/content/marks.h"
#include "report/input/moment.h"
#include "report/json/json.h"
#include "trace/grow.h"

enum { SIZES_MAX = 20 };

struct counted_size {
  uint64_t size, most_bytes;
  struct hwi_live_sum live;
  uint64_t written_blocks; /* last written */
};

struct chrome {
  struct hwi_json json;
  struct hwi_export *export;
  struct counted_size sizes[SIZES_MAX + 1]; /* ascending; then all others as one */
  uint32_t size_count, slice;
  bool begun; /* whether the span has begun */
  struct hwi_live_sum live;
  uint64_t most_bytes, most_ns; /* the maximum since the last slice ended */
  uint64_t written_bytes;
  struct hwi_scope_slices slices;
  bool *is_shown; /* by stack: whether its allocations are written */
  struct hwi_line name;
};

/* --- the parts of events --- */

static void put_counter(struct chrome *to, const char *name, const char *unit, uint64_t ns, uint64_t value)
{
  hwi_trace_event_begin(&to->json, "C", name, ns);
  hwi_json_number(&to->json, "pid", hwi_export_pid(to->export));
  hwi_json_begin_object(&to->json, "args");
  hwi_json_number(&to->json, unit, value);
  hwi_json_end_object(&to->json);
  hwi_trace_event_end(&to->json);
}

static void put_name(struct chrome *to, const char *kind, uint32_t pid, uint32_t tid, const char *name)
{
  hwi_trace_event_begin(&to->json, "M", kind, 0);
  hwi_json_number(&to->json, "pid", pid);
  hwi_json_number(&to->json, "tid", tid);
  hwi_json_begin_object(&to->json, "args");
  hwi_json_text(&to->json, "name", name);
  hwi_json_end_object(&to->json);
  hwi_trace_event_end(&to->json);
}

/* --- names and marks --- */

static void put_names(struct chrome *to)
{
  const struct hwi_profile *profile = to->export->profile;
  for (uint32_t i = 0; i < profile->image_count; i++)
    if (profile->images[i].counted)
      put_name(to, "process_name", hwi_trace_event_pid(to->export->profile, i), 0, profile->images[i].info->command);
  for (uint32_t i = 0; i < profile->thread_count; i++) {
    const struct hwi_profile_thread *thread = &profile->threads[i];
    put_name(to, "thread_name", hwi_trace_event_pid(to->export->profile, thread->image), thread->tid, thread->name);
  }
}

static bool is_within(const struct chrome *to, uint64_t ns)
{
  return ns >= hwi_export_from_ns(to->export) && ns <= hwi_export_end_ns(to->export);
}

static void put_mark(struct chrome *to, uint64_t ns, const char *name)
{
  if (!is_within(to, ns))
    return;
  hwi_trace_event_begin(&to->json, "i", name, ns);
  hwi_json_text(&to->json, "s", "p");
  hwi_json_number(&to->json, "pid", hwi_export_pid(to->export));
  hwi_trace_event_end(&to->json);
}

/* Writes the resident memory of the largest image, and when its recording was paused. */
static void put_image(struct chrome *to)
{
  const struct hwi_profile *profile = to->export->profile;
  const struct hwi_image *image = hwi_largest_image(profile, NULL);
  const struct hwi_trace_info *info = image ? image->info : NULL;
  const uint64_t offset_ns = image ? hwi_image_offset_ns(profile, image) : 0;
  for (uint32_t i = 0; info && i < info->rss_count; i++) {
    if (is_within(to, offset_ns + info->rss[i].ns))
      put_counter(to, "RSS(bytes)", "bytes", offset_ns + info->rss[i].ns, info->rss[i].sample.rss);
  }
  for (uint32_t i = 0; info && i < info->mark_count; i++) {
    const struct hwi_mark *mark = &info->marks[i];
    if (mark->type != HW_TOOL_MARK)
      put_mark(to, offset_ns + mark->ns, mark->type == HW_TOOL_PAUSED ? "recording paused" : "recording resumed");
  }
}

/* Writes the moments with names. Returns false if there is no memory. */
static bool put_marks(struct chrome *to)
{
  uint32_t count;
  struct hwi_program_mark *marks = hwi_marks_of(to->export->profile, &count);
  for (uint32_t i = 0; i < count; i++)
    put_mark(to, marks[i].ns, marks[i].text);
  free(marks);
  return marks != NULL;
}

/* Writes the values of the program's counters. */
static void put_program_counters(struct chrome *to)
{
  const struct hwi_profile *profile = to->export->profile;
  for (uint32_t i = 0; i < profile->counter_count; i++) {
    const struct hwi_program_counter *counter = &profile->counters[i];
    for (uint32_t k = 0; k < counter->point_count; k++) {
      if (!isfinite(counter->points[k].value))
        continue;
      hwi_trace_event_begin(&to->json, "C", counter->name, counter->points[k].ns);
      hwi_json_number(&to->json, "pid", hwi_export_pid(to->export));
      hwi_json_begin_object(&to->json, "args");
      hwi_json_real(&to->json, "value", counter->points[k].value);
      hwi_json_end_object(&to->json);
      hwi_trace_event_end(&to->json);
    }
  }
}

/* Writes the live blocks at the end by size, as counted here, so that the choice of stacks applies to it, too. */
static void put_leak_marker(struct chrome *to, const struct hwi_size_counts *live)
{
  hwi_trace_event_begin(&to->json, "i", "Memory Leaks (block size, count)", hwi_export_end_ns(to->export));
  hwi_json_text(&to->json, "s", "p");
  hwi_json_number(&to->json, "pid", hwi_export_pid(to->export));
  hwi_json_begin_object(&to->json, "args");
  hwi_trace_event_sizes(&to->json, live);
  hwi_json_end_object(&to->json);
  hwi_trace_event_end(&to->json);
}

/* --- counters --- */

static int compare_peaks(const void *left, const void *right)
{
  const struct counted_size *a = left, *b = right;
  if (a->most_bytes != b->most_bytes)
    return a->most_bytes > b->most_bytes ? -1 : 1;
  return a->size < b->size ? -1 : a->size > b->size;
}

static int compare_sizes(const void *left, const void *right)
{
  const struct counted_size *a = left, *b = right;
  return a->size < b->size ? -1 : a->size > b->size;
}

static int choose_sizes(struct chrome *to, struct hwi_error *error)
{
  const struct hwi_profile *profile = to->export->profile;
  struct counted_size *all = calloc((size_t)profile->size_count + 1, sizeof *all);
  if (!all)
    return hwi_export_no_memory(error);
  for (uint32_t i = 0; i < profile->size_count; i++)
    all[i] = (struct counted_size){.size = profile->sizes[i].size,
                                   .most_bytes = profile->sizes[i].size * profile->sizes[i].own_peak_blocks};
  qsort(all, profile->size_count, sizeof *all, compare_peaks);
  to->size_count = profile->size_count < SIZES_MAX ? profile->size_count : SIZES_MAX;
  memcpy(to->sizes, all, to->size_count * sizeof *all);
  qsort(to->sizes, to->size_count, sizeof *to->sizes, compare_sizes);
  free(all);
  return HW_OK;
}

static struct counted_size *counted(struct chrome *to, uint64_t size)
{
  struct counted_size key = {.size = size};
  struct counted_size *found = bsearch(&key, to->sizes, to->size_count, sizeof key, compare_sizes);
  return found ? found : &to->sizes[to->size_count];
}

static void put_size(struct chrome *to, struct counted_size *size, uint64_t ns)
{
  char name[64] = "size<other>(count)";
  if (size < &to->sizes[to->size_count])
    snprintf(name, sizeof name, "size<%" PRIu64 ">(count)", size->size);
  if (size->live.blocks != size->written_blocks)
    put_counter(to, name, "blocks", ns, size->live.blocks);
  size->written_blocks = size->live.blocks;
}

static void put_bytes(struct chrome *to, uint64_t ns, uint64_t bytes)
{
  if (bytes != to->written_bytes)
    put_counter(to, "Memory:Total(bytes)", "bytes", ns, bytes);
  to->written_bytes = bytes;
}

/* Writes the live amounts at the span's begin. */
static void begin_span(struct chrome *to)
{
  uint64_t from_ns = hwi_export_from_ns(to->export);
  put_bytes(to, from_ns, to->live.bytes);
  for (uint32_t i = 0; i <= to->size_count; i++)
    put_size(to, &to->sizes[i], from_ns);
  hwi_scope_slices_begin_span(&to->slices, from_ns);
  to->most_bytes = to->live.bytes;
  to->most_ns = from_ns;
  to->begun = true;
}

/* Writes the slices that end before `ns`. */
static void pass_time(struct chrome *to, uint64_t ns)
{
  const struct hwi_profile *profile = to->export->profile;
  if (!to->begun && ns >= hwi_export_from_ns(to->export))
    begin_span(to);
  for (; to->slice < profile->timeline_count && profile->timeline[to->slice].ns < ns; to->slice++) {
    uint64_t end_ns = profile->timeline[to->slice].ns;
    if (to->most_bytes > to->live.bytes)
      put_bytes(to, to->most_ns, to->most_bytes);
    put_bytes(to, end_ns, to->live.bytes);
    for (uint32_t i = 0; i <= to->size_count; i++)
      put_size(to, &to->sizes[i], end_ns);
    to->most_bytes = to->live.bytes;
    to->most_ns = end_ns;
  }
}

/* --- allocations one by one --- */

/* Frame "F.K" is function K of frame F; K 0 is the innermost one inlined there. */
static void put_stack_frames(struct chrome *to)
{
  const struct hwi_profile *profile = to->export->profile;
  struct hwi_json *json = &to->json;
  char number[64];
  hwi_json_begin_object(json, "stackFrames");
  for (uint32_t at = 1; at < profile->frame_count; at++) {
    const struct hwi_site *site = hwi_site_of(&to->export->sites, at);
    uint32_t count = to->export->sites.of_frame[at] != 0 ? site->symbol_count : 0;
    for (uint32_t k = 0; k < count; k++) {
      snprintf(number, sizeof number, "%" PRIu32 ".%" PRIu32, at, k);
      hwi_json_begin_object(json, number);
      hwi_json_text(json, "category", hwi_module_name(profile, site->module));
      hwi_json_text(json, "name", hwi_site_function(&to->export->sites, site, k, &to->name));
      snprintf(number, sizeof number, "%" PRIu32 ".%" PRIu32, k + 1 < count ? at : profile->frames[at].caller,
               k + 1 < count ? k + 1 : 0);
      if (k + 1 < count || profile->frames[at].caller != 0)
        hwi_json_text(json, "parent", number);
      hwi_json_end_object(json);
      fputc('\n', json->out);
    }
  }
  hwi_json_end_object(json);
}

static void put_allocation(struct chrome *to, const struct hwi_block_event *event)
{
  const struct hwi_profile *profile = to->export->profile;
  uint32_t frame = profile->stacks[event->stack].frame;
  char text[32];
  const char *name = frame != 0
                         ? hwi_site_function(&to->export->sites, hwi_site_of(&to->export->sites, frame), 0, &to->name)
                         : "[unknown]";
  if (event->timed) {
    hwi_trace_event_begin(&to->json, "X", name, event->ns > event->took_ns ? event->ns - event->took_ns : 0);
    hwi_trace_event_time(&to->json, "dur", event->took_ns);
  } else {
    hwi_trace_event_begin(&to->json, "i", name, event->ns);
    hwi_json_text(&to->json, "s", "t");
  }
  hwi_json_text(&to->json, "cat", "allocation");
  hwi_json_number(&to->json, "pid", hwi_trace_event_pid(to->export->profile, event->image));
  hwi_json_number(&to->json, "tid", profile->threads[event->thread].tid);
  snprintf(text, sizeof text, "%" PRIu32 ".0", frame);
  if (frame != 0)
    hwi_json_text(&to->json, "sf", text);
  hwi_json_begin_object(&to->json, "args");
  hwi_json_number(&to->json, "bytes", event->size);
  snprintf(text, sizeof text, "0x%" PRIx64, event->address);
  hwi_json_text(&to->json, "address", text);
  hwi_json_end_object(&to->json);
  hwi_trace_event_end(&to->json);
}

static int choose_stacks(struct chrome *to, struct hwi_error *error)
{
  const struct hwi_selection *selection = &to->export->selection;
  uint64_t count = to->export->request->event_stacks;
  to->is_shown = calloc((size_t)to->export->profile->stack_count + 1, sizeof *to->is_shown);
  if (!to->is_shown)
    return hwi_export_no_memory(error);
  for (uint32_t i = 0; i < selection->stack_count && i < count; i++)
    to->is_shown[selection->stacks[i]] = true;
  return HW_OK;
}

/* --- the whole --- */

struct counting {
  struct chrome *to;
  struct hwi_size_counts live; /* blocks, of all sizes */
  bool failed;
};

static bool take(void *context, const struct hwi_block_event *event)
{
  struct counting *counting = context;
  struct chrome *to = counting->to;
  pass_time(to, event->ns);
  hwi_live_sum_count(&counted(to, event->size)->live, event);
  hwi_live_sum_count(&to->live, event);
  if (event->kind == HWI_BLOCK_ALLOC) {
    if (to->live.bytes > to->most_bytes) {
      to->most_bytes = to->live.bytes;
      to->most_ns = event->ns;
    }
    counting->failed |= !hwi_size_counts_add(&counting->live, event->size, event->weight);
    if (to->is_shown[event->stack] && to->begun)
      put_allocation(to, event);
  } else if (hwi_block_is_end(event) && event->kind != HWI_BLOCK_LEFT) {
    /* a block that its process did not free stays counted */
    counting->failed |= !hwi_size_counts_add(&counting->live, event->size, -(int64_t)event->weight);
  }
  counting->failed |= !hwi_open_scopes_count(&to->slices.open, event);
  return !counting->failed && !ferror(to->json.out);
}

static bool take_scope(void *context, const struct hwi_scope_event *event)
{
  struct counting *counting = context;
  pass_time(counting->to, event->ns);
  counting->failed |= !hwi_scope_slices_take(&counting->to->slices, event);
  return !counting->failed && !ferror(counting->to->json.out);
}

static int write_events(struct chrome *to, struct hwi_error *error)
{
  struct counting counting = {.to = to};
  struct hwi_block_sink sink = {take, &counting, take_scope, .wants_texts = true};
  hwi_json_begin_array(&to->json, "traceEvents");
  put_names(to);
  put_image(to);
  counting.failed = !put_marks(to);
  put_program_counters(to);
  int status = hwi_export_events(to->export, &sink, error);
  pass_time(to, UINT64_MAX);
  hwi_scope_slices_end_span(&to->slices, hwi_export_end_ns(to->export));
  put_leak_marker(to, &counting.live);
  hwi_json_end_array(&to->json);
  hwi_size_counts_release(&counting.live);
  return status == HW_OK && counting.failed ? hwi_export_no_memory(error) : status;
}

static int write_document(struct chrome *to, struct hwi_error *error)
{
  int status = choose_sizes(to, error);
  if (status == HW_OK)
    status = choose_stacks(to, error);
  if (status < 0)
    return status;
  hwi_json_begin_object(&to->json, NULL);
  hwi_json_text(&to->json, "displayTimeUnit", "ns");
  if (to->export->request->event_stacks > 0)
    put_stack_frames(to);
  status = write_events(to, error);
  hwi_json_end_object(&to->json);
  fputc('\n', to->json.out);
  return status == HW_OK && (to->json.failed || to->name.failed) ? hwi_export_no_memory(error) : status;
}

static int write_chrome(struct hwi_export *export, struct hwi_error *error)
{
  struct chrome to = {.json = {.out = export->out, .first = true}, .export = export};
  to.slices = (struct hwi_scope_slices){
      .json = &to.json, .profile = export->profile, .narrowing = &export->selection.narrowing};
  int status = write_document(&to, error);
  free(to.is_shown);
  hwi_open_scopes_release(&to.slices.open);
  hwi_line_release(&to.name);
  return status;
}

const struct hwi_export_format hwi_export_chrome = {
    .name = "chrome",
    .suffixes = (const char *const[]){".trace.json", ".chrome.json", ".perfetto.json", NULL},
    .summary = "Chrome's trace events, for ui.perfetto.dev and chrome://tracing",
    .spans = HWI_EXPORT_INTERVALS,
    .write = write_chrome,
};
