/* document.c - writes the document of a run, with the current tree */
#include "page/document.h"

#include <stdlib.h>
#include <string.h>

#include "base/version.h"
#include "page/rss.h"
#include "page/size_classes.h"
#include "profile/blocks/sample.h"
#include "report/content/evidence.h"
#include "report/content/findings.h"
#include "report/content/marks.h"
#include "report/content/static_allocators.h"
#include "report/input/moment.h"
#include "report/json/members.h"
#include "report/selection/entries.h"
#include "report/selection/figures.h"

#define SCHEMA "heapwright-page/1"

enum {
  MARKS_MAX = 1000,
  COUNTERS_MAX = 32,
  HEAPS_MAX = 32,
  PROCESSES_MAX = 200,
  COMMAND_CELLS = 1000,
  MARK_CELLS = 200
};

/* --- the run --- */

static void write_run(struct hwi_json *json, const struct hwi_profile *profile)
{
  uint64_t lifetimes[HWI_LIFETIMES];
  hwi_json_begin_object(json, "run");
  hwi_json_run(json, profile);
  hwi_json_control_group(json, profile);
  hwi_json_evidence(json, profile);
  hwi_lifetimes_of_run(profile, lifetimes);
  hwi_json_lifetimes(json, lifetimes);
  hwi_json_end_object(json);
}

/* Returns the process that began first, if several are shown together, or NULL if one is shown. */
static const struct hwi_trace_info *first_of_several(const struct hwi_profile *profile)
{
  const struct hwi_trace_info *first = NULL;
  uint32_t counted = 0;
  for (uint32_t i = 0; i < profile->image_count; i++) {
    const struct hwi_image *image = &profile->images[i];
    if (image->counted && counted++ == 0)
      first = image->info;
  }
  return counted > 1 ? first : NULL;
}

static void write_process(struct hwi_json *json, const struct hwi_page *page,
                          const struct hwi_static_allocators *static_allocators)
{
  const struct hwi_profile *profile = page->report->profile;
  const struct hwi_image *image = hwi_largest_image(profile, NULL);
  if (!image)
    return;
  hwi_json_begin_object(json, "process");
  hwi_json_process(json, image->info);
  hwi_json_number(json, "from_ns", hwi_image_offset_ns(profile, image));
  const struct hwi_trace_info *first = first_of_several(profile);
  if (first)
    hwi_json_text(json, "run_command", first->command);
  hwi_json_silences(json, image->info);
  hwi_json_notes(json, image->info, static_allocators->texts[image - profile->images]);
  hwi_json_end_object(json);
}

/* Writes the heap that was read from memory, if it was not recorded. */
static void write_core(struct hwi_json *json, const struct hwi_report *report)
{
  if (!report->profile->is_of_memory)
    return;
  hwi_json_begin_object(json, "memory");
  if (report->core)
    hwi_json_core(json, report);
  hwi_json_end_object(json);
}

static void write_marks(struct hwi_json *json, const struct hwi_profile *profile)
{
  uint32_t count;
  struct hwi_program_mark *marks = hwi_marks_of(profile, &count);
  json->failed |= !marks;
  hwi_json_begin_array(json, "marks");
  for (uint32_t i = 0; i < count && i < MARKS_MAX; i++) {
    hwi_json_begin_object(json, NULL);
    hwi_json_number(json, "time_ns", marks[i].ns);
    hwi_json_short_text(json, "text", marks[i].text, MARK_CELLS);
    hwi_json_end_object(json);
  }
  hwi_json_end_array(json);
  if (count > MARKS_MAX)
    hwi_json_number(json, "marks_left_out", count - MARKS_MAX);
  free(marks);
}

static void write_counters(struct hwi_json *json, const struct hwi_profile *profile)
{
  hwi_json_counters(json, profile, COUNTERS_MAX);
  if (profile->counter_count > COUNTERS_MAX)
    hwi_json_number(json, "counters_left_out", profile->counter_count - COUNTERS_MAX);
}

static void write_heaps(struct hwi_json *json, const struct hwi_profile *profile)
{
  hwi_json_heaps(json, profile, HEAPS_MAX);
  if (profile->heap_count > HEAPS_MAX)
    hwi_json_number(json, "heaps_left_out", profile->heap_count - HEAPS_MAX);
}

/* --- the stacks --- */

static void write_entries(struct hwi_json *json)
{
  hwi_json_begin_array(json, "entries");
  for (uint32_t i = 0; i < HW_ENTRY_COUNT; i++)
    hwi_json_text(json, NULL, hwi_entry_name(i));
  hwi_json_end_array(json);
}

static void set_errors(const struct hwi_page_tree *tree)
{
  for (uint32_t i = 0; i < tree->row_count; i++) {
    struct hwi_page_row *row = &tree->rows[i];
    row->calls_error = hwi_sample_error(row->variance.calls);
    row->bytes_error = hwi_sample_error(row->variance.bytes);
    row->temporary_calls_error = hwi_sample_error(row->variance.temporary_calls);
    row->peak_bytes_error = hwi_sample_error(row->variance.peak_bytes);
    row->peak_blocks_error = hwi_sample_error(row->variance.peak_blocks);
    row->live_bytes_error = hwi_sample_error(row->variance.live_bytes);
    row->live_blocks_error = hwi_sample_error(row->variance.live_blocks);
  }
}

static void write_stacks(struct hwi_json *json, const struct hwi_page *page)
{
  static const struct hwi_column columns[] = {
      HWI_COLUMN(struct hwi_page_row, node),
      {"cut", offsetof(struct hwi_page_row, stacks)},
      HWI_COLUMN(struct hwi_page_row, entry),
      HWI_COLUMN(struct hwi_page_row, calls),
      HWI_COLUMN(struct hwi_page_row, bytes),
      HWI_COLUMN(struct hwi_page_row, temporary_calls),
      HWI_COLUMN(struct hwi_page_row, free_calls),
      HWI_COLUMN(struct hwi_page_row, failed_calls),
      HWI_COLUMN(struct hwi_page_row, peak_bytes),
      HWI_COLUMN(struct hwi_page_row, peak_blocks),
      HWI_COLUMN(struct hwi_page_row, peak_usable_bytes),
      HWI_COLUMN(struct hwi_page_row, own_peak_bytes),
      HWI_COLUMN(struct hwi_page_row, live_bytes),
      HWI_COLUMN(struct hwi_page_row, live_blocks),
      HWI_COLUMN(struct hwi_page_row, runtime_live_bytes),
      HWI_COLUMN(struct hwi_page_row, runtime_live_blocks),
      HWI_COLUMN(struct hwi_page_row, smallest),
      HWI_COLUMN(struct hwi_page_row, largest),
      HWI_COLUMN(struct hwi_page_row, first_ns),
      HWI_COLUMN(struct hwi_page_row, last_ns),
      {NULL, 0},
  };
  const struct hwi_page_tree *tree = &page->tree;
  static const struct hwi_column errors[] = {
      HWI_COLUMN(struct hwi_page_row, calls_error),           HWI_COLUMN(struct hwi_page_row, bytes_error),
      HWI_COLUMN(struct hwi_page_row, temporary_calls_error), HWI_COLUMN(struct hwi_page_row, peak_bytes_error),
      HWI_COLUMN(struct hwi_page_row, peak_blocks_error),     HWI_COLUMN(struct hwi_page_row, live_bytes_error),
      HWI_COLUMN(struct hwi_page_row, live_blocks_error),     {NULL, 0},
  };
  const struct hwi_table_rows rows = {tree->rows, tree->row_count, sizeof *tree->rows};
  write_entries(json);
  hwi_json_begin_object(json, "stacks");
  hwi_json_number(json, "count", tree->row_count);
  hwi_json_number(json, "recorded", tree->profile->stack_count > 0 ? tree->profile->stack_count - 1 : 0);
  hwi_json_number(json, "kept", tree->kept_count);
  hwi_json_packed_columns(json, &rows, columns);
  if (tree->profile->sample_bytes) {
    set_errors(tree);
    hwi_json_packed_columns(json, &rows, errors);
  }
  hwi_json_packed_lifetimes(json, &rows, offsetof(struct hwi_page_row, lifetimes));
  hwi_json_page_series(json, &page->slicer.series[HWI_PAGE_OF_STACKS], tree->row_count, NULL);
  hwi_json_end_object(json);
}

/* --- along time --- */

static void write_timeline(struct hwi_json *json, const struct hwi_profile *profile)
{
  static const struct hwi_column columns[] = {HWI_COLUMN(struct hwi_time_point, live_bytes),
                                              HWI_COLUMN(struct hwi_time_point, live_blocks),
                                              HWI_COLUMN(struct hwi_time_point, max_bytes),
                                              {NULL, 0}};
  const struct hwi_table_rows rows = {profile->timeline, profile->timeline_count, sizeof *profile->timeline};
  struct hwi_packed times = {0};
  for (uint32_t i = 0; i < profile->timeline_count; i++)
    hwi_packed_add(&times, profile->timeline[i].ns - (i > 0 ? profile->timeline[i - 1].ns : 0));
  hwi_json_begin_object(json, "timeline");
  hwi_json_number(json, "count", profile->timeline_count);
  hwi_json_packed(json, "time_ns", &times);
  hwi_json_packed_columns(json, &rows, columns);
  hwi_json_end_object(json);
}

/* Writes the slices, and then the resident set. */
static void write_slices(struct hwi_json *json, const struct hwi_page *page)
{
  struct hwi_page_rss rss;
  hwi_page_rss_init(&rss, page->report->profile);
  hwi_json_begin_object(json, "slices");
  hwi_json_page_slices(json, &page->slicer.slices);
  hwi_json_page_rss_of_slices(json, &rss, &page->slicer.slices);
  hwi_json_end_object(json);
  hwi_json_page_rss(json, &rss);
}

static bool has(const struct hwi_page *page, enum hwi_page_extra extra)
{
  return (int)extra >= page->extras_left_out;
}

/* --- durations --- */

static void write_durations(struct hwi_json *json, const struct hwi_page *page, const struct hwi_json_stacks *rows)
{
  const struct hwi_page_slicer *slicer = &page->slicer;
  if (!slicer->is_timed)
    return;
  hwi_json_durations_found(json, page->report->profile, &slicer->durations, rows);
  if (has(page, HWI_PAGE_DURATIONS_ALONG))
    hwi_json_page_durations(json, &slicer->durations_along, &slicer->durations);
  if (!slicer->durations_of_threads || !has(page, HWI_PAGE_THREADS_ALONE))
    return;
  hwi_json_begin_array(json, "durations_by_thread");
  for (uint32_t i = 0; i < page->threads.row_count; i++) {
    hwi_json_begin_object(json, NULL);
    hwi_json_durations_in_brief(json, &slicer->durations_of_threads[i]);
    hwi_json_end_object(json);
  }
  hwi_json_end_array(json);
}

/* --- the whole --- */

static void write_others(struct hwi_json *json, const struct hwi_page *page)
{
  if (page->other_count == 0)
    return;
  hwi_json_begin_array(json, "others");
  for (uint32_t i = 0; i < page->other_count; i++)
    hwi_json_raw(json, page->others[i].text);
  hwi_json_end_array(json);
}

static void write_row_number(void *context, struct hwi_json *json, uint32_t stack)
{
  const struct hwi_page *page = context;
  if (stack != 0) /* 0 for a free whose block is unknown */
    hwi_json_number(json, "row", page->tree.row_of[stack]);
}

static void write_all(struct hwi_json *json, struct hwi_page *page, struct hwi_page_sites *sites,
                      const struct hwi_static_allocators *static_allocators)
{
  const struct hwi_profile *profile = page->report->profile;
  const struct hwi_json_stacks rows = {write_row_number, page};
  hwi_json_begin_object(json, NULL);
  hwi_json_text(json, "schema", SCHEMA);
  hwi_json_text(json, "version", HWI_VERSION);
  write_run(json, profile);
  write_process(json, page, static_allocators);
  write_core(json, page->report);
  write_marks(json, profile);
  write_heaps(json, profile);
  write_counters(json, profile);
  hwi_json_processes(json, profile, &(struct hwi_json_process_list){PROCESSES_MAX, COMMAND_CELLS, page->is_other});
  hwi_json_growing(json, profile, &rows);
  hwi_json_findings(json, page->report, &rows);
  hwi_json_page_scopes(json, &page->scopes);
  if (page->instances_text.text)
    hwi_json_raw(json, page->instances_text.text);
  write_durations(json, page, &rows);
  write_slices(json, page);
  write_timeline(json, profile);
  hwi_json_page_sizes(json, &page->sizes, &page->slicer.series[HWI_PAGE_OF_SIZES]);
  hwi_json_page_size_classes(json, profile->class_peaks ? profile->class_peaks : &page->slicer.class_peaks,
                             &page->threads);
  hwi_json_page_threads(json, &page->threads, &page->slicer.series[HWI_PAGE_OF_THREADS]);
  hwi_json_page_handovers(json, &page->handovers,
                          has(page, HWI_PAGE_HANDOVERS_ALONG) ? &page->slicer.series[HWI_PAGE_OF_HANDOVERS] : NULL);
  if (profile->thread_count > 1 && has(page, HWI_PAGE_THREADS_ALONE)) {
    hwi_json_page_stack_threads(json, &page->slicer.stack_threads, &page->slicer.series[HWI_PAGE_OF_STACK_THREADS]);
    hwi_json_page_size_threads(json, &page->slicer.size_threads, &page->slicer.series[HWI_PAGE_OF_SIZE_THREADS]);
  }
  write_stacks(json, page);
  hwi_json_page_sites(json, sites, &page->tree);
  hwi_json_page_strings(json, sites);
  write_others(json, page);
  hwi_json_end_object(json);
  fputc('\n', json->out);
}

int hwi_page_document(struct hwi_page *page, FILE *out, struct hwi_error *error)
{
  struct hwi_json json = {.out = out, .first = true};
  struct hwi_page_sites sites;
  struct hwi_static_allocators static_allocators;
  int status = hwi_page_sites_init(&sites, &page->tree, &page->names, &page->matching, error);
  if (status == HW_OK) {
    status = hwi_static_allocators_init(&static_allocators, page->report, error);
    if (status == HW_OK)
      write_all(&json, page, &sites, &static_allocators);
    hwi_static_allocators_release(&static_allocators);
  }
  hwi_page_sites_release(&sites);
  return status == HW_OK && json.failed ? hwi_error_set(error, HW_ERR_MEMORY, "no memory to write the page") : status;
}
