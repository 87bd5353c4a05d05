/* saved.c - reads a report that was saved as JSON */
#include "report/json/saved.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "report/content/evidence.h"
#include "report/json/saved_tables.h"
#include "report/selection/figures.h"

enum { BYTES_MAX = 256 << 20 }; /* in memory, its values take five times as much */

bool hwi_saved_is(const char *path)
{
  FILE *in = fopen(path, "re");
  if (!in)
    return false;
  int byte = getc(in);
  while (byte != EOF && isspace(byte))
    byte = getc(in);
  fclose(in);
  return byte == '{';
}

/* --- the run --- */

/* Returns "" if there is none; NULL if there is no memory. */
static const char *text_of(struct hwi_saved_tables *tables, const json_t *object, const char *key)
{
  const char *value = json_string_value(json_object_get(object, key));
  return hwi_store_string(&tables->store, value ? value : "");
}

/* Pauses become marks again. A silence without an end that is not a pause shows where recording stopped. */
static bool read_silences(struct hwi_saved_tables *tables, struct hwi_trace_info *info, const json_t *silences)
{
  struct hwi_mark *marks = hwi_store_take(&tables->store, 2 * (json_array_size(silences) + 1) * sizeof *marks);
  info->marks = marks;
  info->silent_from_ns = UINT64_MAX;
  size_t i;
  const json_t *item;
  json_array_foreach(silences, i, item)
  {
    uint32_t state = hwi_evidence_state_of(json_string_value(json_object_get(item, "why")));
    uint64_t from_ns = hwi_saved_number(item, "from_ns");
    if (!marks)
      return false;
    if (state != 0) {
      info->silent_from_ns = from_ns;
      info->header.state = state;
      continue;
    }
    marks[info->mark_count++] = (struct hwi_mark){from_ns, HW_TOOL_PAUSED, ""};
    if (json_object_get(item, "to_ns"))
      marks[info->mark_count++] = (struct hwi_mark){hwi_saved_number(item, "to_ns"), HW_TOOL_RESUMED, ""};
  }
  return marks;
}

static bool read_image(struct hwi_saved_tables *tables, struct hwi_image *image, const json_t *item)
{
  struct hwi_trace_info *info = hwi_store_take(&tables->store, sizeof *info);
  if (!info)
    return false;
  *info = (struct hwi_trace_info){.path = text_of(tables, item, "trace"),
                                  .command = text_of(tables, item, "command"),
                                  .exe = text_of(tables, item, "executable"),
                                  .cwd = text_of(tables, item, "directory"),
                                  .duration_ns = hwi_saved_number(item, "duration_ns"),
                                  .being_written = json_is_true(json_object_get(item, "being_written"))};
  info->header.pid = (uint32_t)hwi_saved_number(item, "pid");
  info->header.ppid = (uint32_t)hwi_saved_number(item, "ppid");
  info->header.start.monotonic_ns =
      hwi_saved_number(item, "start_realtime_ns"); /* only the difference between two of them counts */
  *image = (struct hwi_image){.info = info, .counted = json_is_true(json_object_get(item, "counted"))};
  hwi_saved_fields(&image->totals, hwi_totals_figures, item);
  return info->path && info->command && info->exe && info->cwd &&
         read_silences(tables, info, json_object_get(item, "silences"));
}

/* The report has the sum of the evidence of all images: one of them gets it. */
static void read_evidence(const struct hwi_profile *profile, const json_t *report)
{
  const struct hwi_image *image = hwi_largest_image(profile, NULL);
  if (!image)
    return;
  struct hwi_trace_info *info = (struct hwi_trace_info *)image->info; /* made above, so it can be changed */
  info->header.lost_events = hwi_saved_number(report, "lost_events");
  const json_t *causes = json_object_get(report, "lost_by_cause");
  for (int loss = 0; loss < HW_LOSSES; loss++)
    info->header.lost_by_cause[loss] = hwi_saved_number(causes, hwi_loss_key((enum hw_loss)loss));
  info->header.audited_stacks = hwi_saved_number(report, "audited_stacks");
  info->header.audit_differences = hwi_saved_number(report, "audit_differences");
  info->header.truncated_stacks = hwi_saved_number(report, "truncated_stacks");
  info->header.unfinished_stacks = hwi_saved_number(report, "unfinished_stacks");
  info->header.node_limit_hits = hwi_saved_number(report, "node_limit_hits");
  info->children_unseen = (uint32_t)hwi_saved_number(report, "children_unseen");
  info->damaged_chunks = hwi_saved_number(report, "damaged_chunks");
  info->missing_chunks = hwi_saved_number(report, "missing_chunks");
  info->dropped_until_ns = hwi_saved_number(report, "dropped_until_ns");
}

static int read_images(struct hwi_saved_tables *tables, struct hwi_profile *profile, const json_t *report,
                       struct hwi_error *error)
{
  const json_t *images = json_object_get(report, "images");
  struct hwi_image *made = hwi_store_take(&tables->store, (json_array_size(images) + 1) * sizeof *made);
  size_t i;
  const json_t *item;
  json_array_foreach(images, i, item)
  {
    if (!made || !read_image(tables, &made[i], item))
      return hwi_saved_no_memory(error);
    profile->image_count++;
  }
  profile->images = made;
  read_evidence(profile, report);
  return made ? HW_OK : hwi_saved_no_memory(error);
}

static int read_threads(struct hwi_saved_tables *tables, struct hwi_profile *profile, const json_t *threads,
                        struct hwi_error *error)
{
  struct hwi_profile_thread *made = hwi_store_take(&tables->store, (json_array_size(threads) + 1) * sizeof *made);
  size_t i;
  const json_t *item;
  if (!made)
    return hwi_saved_no_memory(error);
  json_array_foreach(threads, i, item)
  {
    const char *name = json_string_value(json_object_get(item, "name"));
    made[i] = (struct hwi_profile_thread){.tid = (uint32_t)hwi_saved_number(item, "tid")};
    if (name)
      memcpy(made[i].name, name, strnlen(name, sizeof made[i].name - 1));
  }
  profile->threads = made;
  profile->thread_count = (uint32_t)json_array_size(threads);
  return HW_OK;
}

/* Allocators linked into the programs were noted when the report was written. */
static const char *no_allocator(const struct hwi_symbol_module *program)
{
  (void)program;
  return NULL;
}

/* --- the document --- */

/* Figures of different heaps are not compared. */
static int check_heap(const json_t *report, const char *path, const char *heap, struct hwi_error *error)
{
  const char *of = json_string_value(json_object_get(report, "heap"));
  if (!of && heap)
    return hwi_error_set(error, HW_ERR_USAGE,
                         "%s: is a report of malloc; save it with 'heapwright report --json --heap'", path);
  if (of && (!heap || strcmp(of, heap) != 0))
    return hwi_error_set(error, HW_ERR_USAGE, "%s: is a report with --heap '%.100s', which is needed here, too", path,
                         of);
  return HW_OK;
}

/* A report of a part of the run is refused, since its figures would be read as those of the whole run. */
static int check_document(const json_t *report, const char *path, const char *heap, struct hwi_error *error)
{
  const char *schema = json_string_value(json_object_get(report, "schema"));
  if (!schema || strcmp(schema, HWI_REPORT_SCHEMA) != 0 || !json_is_array(json_object_get(report, "top")))
    return hwi_error_set(error, HW_ERR_USAGE, "%s: is neither a recording nor a report of 'heapwright report --json'",
                         path);
  bool part = json_object_get(report, "interval") || json_object_get(report, "moment") ||
              json_object_get(report, "runtime_blocks") || hwi_saved_number(report, "min_calls") > 1 ||
              json_array_size(json_object_get(report, "filters")) > 0;
  if (part)
    return hwi_error_set(error, HW_ERR_USAGE,
                         "%s: has only a part of its run; save the whole run with 'heapwright report --json' without "
                         "--from, --to, --at, --leaks, --min-calls and filters",
                         path);
  return check_heap(report, path, heap, error);
}

static int parse(json_t **report, const char *path, const char *heap, struct hwi_error *error)
{
  struct stat status;
  if (stat(path, &status) == 0 && status.st_size > BYTES_MAX)
    return hwi_error_set(error, HW_ERR_USAGE, "%s: is larger than %d MiB; give the recording itself", path,
                         BYTES_MAX >> 20);
  json_error_t wrong;
  *report = json_load_file(path, JSON_DECODE_INT_AS_REAL, &wrong); /* an address may be larger than its integers */
  if (*report)
    return check_document(*report, path, heap, error);
  if (json_error_code(&wrong) == json_error_out_of_memory)
    return hwi_saved_no_memory(error);
  return hwi_error_set_at(error, HW_ERR_DAMAGED, (uint64_t)(wrong.position > 0 ? wrong.position : 0),
                          "%s: line %d is not JSON: %s", path, wrong.line, wrong.text);
}

static int read_profile(struct hwi_saved *saved, const json_t *report, struct hwi_error *error)
{
  struct hwi_profile *profile = &saved->profile;
  struct hwi_saved_tables *tables = saved->tables;
  const json_t *stacks = json_object_get(report, "top");
  hwi_saved_fields(&profile->totals, hwi_totals_figures, report);
  profile->duration_ns = hwi_saved_number(report, "duration_ns");
  profile->sample_bytes = hwi_saved_number(report, "sample_bytes");
  profile->calls_are_exact = !json_object_get(report, "allocation_calls_error");
  int status = read_images(tables, profile, report, error);
  if (status == HW_OK)
    status = read_threads(tables, profile, json_object_get(report, "by_thread"), error);
  if (status == HW_OK)
    status = hwi_saved_modules(tables, json_object_get(report, "modules"), error);
  if (status == HW_OK)
    status = hwi_saved_stacks(tables, stacks, error);
  if (status == HW_OK)
    status = hwi_saved_rest(tables, &profile->totals, report, error);
  uint64_t all = hwi_saved_number(report, "stacks"), count = json_array_size(stacks);
  saved->stacks_left_out = all > count ? all - count : 0;
  saved->rest = (uint32_t)(tables->stack_count - 1);
  profile->stacks = tables->stacks;
  profile->stack_count = (uint32_t)tables->stack_count;
  profile->frames = tables->frames.frames;
  profile->frame_count = (uint32_t)tables->frames.count;
  profile->modules = tables->frames.modules;
  profile->module_count = (uint32_t)tables->frames.module_count;
  return status;
}

int hwi_saved_create(struct hwi_saved **saved, const char *path, const char *heap, struct hwi_error *error)
{
  json_t *report = NULL;
  *saved = NULL;
  int status = parse(&report, path, heap, error);
  struct hwi_saved *made = status == HW_OK ? calloc(1, sizeof *made) : NULL;
  if (made)
    made->tables = calloc(1, sizeof *made->tables);
  if (status == HW_OK && (!made || !made->tables))
    status = hwi_saved_no_memory(error);
  if (status == HW_OK) {
    made->tables->place_count = made->tables->stack_count = 1; /* 0 means none */
    made->names = (struct hwi_names){hwi_saved_find, made->tables, no_allocator};
    bool begun = hwi_frames_init(&made->tables->frames);
    status = begun ? read_profile(made, report, error) : hwi_saved_no_memory(error);
  }
  json_decref(report);
  if (status == HW_OK)
    *saved = made;
  else
    hwi_saved_destroy(made);
  return status;
}

void hwi_saved_destroy(struct hwi_saved *saved)
{
  if (!saved)
    return;
  if (saved->tables) {
    hwi_frames_release(&saved->tables->frames);
    hwi_numbering_release(&saved->tables->numbers);
    hwi_store_release(&saved->tables->store);
    free(saved->tables->places);
    free(saved->tables->stacks);
  }
  free(saved->tables);
  free(saved);
}
