/* image_columns.c - writes and reads a summary's descriptions of the images of its run
 *
 * Texts are in one list of bytes, and are referred to by their offsets in it. Marks, notes and the environment are rows
 * of one list, image after image. The contents of the headers are not stored: they are read again, and are the ones
 * from which the summary was made.
 */
#include "profile/columns/image_columns.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "trace/grow.h"

/* The description of an image. */
struct row {
  uint64_t command, exe, cwd; /* offsets of texts */
  uint64_t environment_count, mark_count, note_count, rss_count;
  uint64_t clock_cost_ns, rss_peak_bytes, duration_ns, silent_from_ns;
  uint64_t damaged_chunks, first_damage_off, missing_chunks, raw_event_bytes;
  uint32_t node_count, module_count, thread_count, children_unseen;
  uint32_t exit_code, exit_signal;
  uint64_t exit_oom_kills;
  bool known, has_exit, ended, parent_missing, counted, unreadable;
  struct hwi_totals totals;
};

static const struct hwi_field row_fields[] = {
    HWI_FIELD(struct row, command),
    HWI_FIELD(struct row, exe),
    HWI_FIELD(struct row, cwd),
    HWI_FIELD(struct row, environment_count),
    HWI_FIELD(struct row, mark_count),
    HWI_FIELD(struct row, note_count),
    HWI_FIELD(struct row, rss_count),
    HWI_FIELD(struct row, clock_cost_ns),
    HWI_FIELD(struct row, rss_peak_bytes),
    HWI_FIELD(struct row, duration_ns),
    HWI_FIELD(struct row, silent_from_ns),
    HWI_FIELD(struct row, damaged_chunks),
    HWI_FIELD(struct row, first_damage_off),
    HWI_FIELD(struct row, missing_chunks),
    HWI_FIELD(struct row, raw_event_bytes),
    HWI_FIELD(struct row, node_count),
    HWI_FIELD(struct row, module_count),
    HWI_FIELD(struct row, thread_count),
    HWI_FIELD(struct row, children_unseen),
    HWI_FIELD(struct row, exit_code),
    HWI_FIELD(struct row, exit_signal),
    HWI_FIELD(struct row, exit_oom_kills),
    HWI_BOOL_FIELD(struct row, known),
    HWI_BOOL_FIELD(struct row, has_exit),
    HWI_BOOL_FIELD(struct row, ended),
    HWI_BOOL_FIELD(struct row, parent_missing),
    HWI_BOOL_FIELD(struct row, counted),
    HWI_BOOL_FIELD(struct row, unreadable),
    HWI_FIELD(struct row, totals.allocation_calls),
    HWI_FIELD(struct row, totals.free_calls),
    HWI_FIELD(struct row, totals.failed_calls),
    HWI_FIELD(struct row, totals.temporary_calls),
    HWI_FIELD(struct row, totals.allocated_bytes),
    HWI_FIELD(struct row, totals.usable_bytes),
    HWI_FIELD(struct row, totals.peak_bytes),
    HWI_FIELD(struct row, totals.peak_blocks),
    HWI_FIELD(struct row, totals.peak_time_ns),
    HWI_FIELD(struct row, totals.peak_usable_bytes),
    HWI_FIELD(struct row, totals.live_blocks_at_start),
    HWI_FIELD(struct row, totals.live_bytes_at_start),
    HWI_FIELD(struct row, totals.live_blocks_at_end),
    HWI_FIELD(struct row, totals.live_bytes_at_end),
    HWI_FIELD(struct row, totals.unmatched_frees),
    HWI_FIELD(struct row, totals.frees_of_silent_blocks),
    HWI_FIELD(struct row, totals.missed_frees),
    HWI_FIELD(struct row, totals.inherited_frees),
};
_Static_assert(sizeof(struct hwi_totals) == 18 * sizeof(uint64_t), "each of the totals has its line above");
static const struct hwi_fields of_row = HWI_FIELDS_OF(struct row, row_fields);

/* A mark, a note, or a line of the environment. */
struct line {
  uint64_t ns, text;
  uint32_t type;
};
static const struct hwi_field line_fields[] = {
    HWI_NEAR_FIELD(struct line, ns),
    HWI_NEAR_FIELD(struct line, text),
    HWI_FIELD(struct line, type),
};
static const struct hwi_fields of_line = HWI_FIELDS_OF(struct line, line_fields);

static const struct hwi_field point_fields[] = {
    HWI_NEAR_FIELD(struct hwi_rss_point, ns),
    HWI_NEAR_FIELD(struct hwi_rss_point, sample.rss),
    HWI_NEAR_FIELD(struct hwi_rss_point, sample.anonymous),
    HWI_NEAR_FIELD(struct hwi_rss_point, sample.file),
    HWI_NEAR_FIELD(struct hwi_rss_point, sample.shmem),
    HWI_NEAR_FIELD(struct hwi_rss_point, sample.swap),
    HWI_NEAR_FIELD(struct hwi_rss_point, sample.recorder),
    HWI_NEAR_FIELD(struct hwi_rss_point, sample.stacks),
    HWI_NEAR_FIELD(struct hwi_rss_point, sample.mapped),
    HWI_NEAR_FIELD(struct hwi_rss_point, sample.heap),
    HWI_NEAR_FIELD(struct hwi_rss_point, sample.files),
    HWI_NEAR_FIELD(struct hwi_rss_point, sample.untouched),
    HWI_NEAR_FIELD(struct hwi_rss_point, sample.large),
    HWI_NEAR_FIELD(struct hwi_rss_point, sample.group_limit),
    HWI_NEAR_FIELD(struct hwi_rss_point, sample.group_current),
    HWI_NEAR_FIELD(struct hwi_rss_point, sample.group_oom_kills),
};
_Static_assert(sizeof(struct hwi_rss_point) == 16 * sizeof(uint64_t), "each figure has its line above");
static const struct hwi_fields of_point = HWI_FIELDS_OF(struct hwi_rss_point, point_fields);

static const struct hwi_field text_fields[] = {{0, 1, HWI_FIELD_ANY, false, 1}};
static const struct hwi_fields of_text = {text_fields, 1, 1};

/* The lists as they are stored. */
struct lists {
  struct row *rows;
  struct line *lines;
  struct hwi_rss_point *points;
  char *texts;
  size_t row_count, line_count, point_count, text_bytes;
  size_t row_room, line_room, point_room, text_room;
  bool no_memory; /* while the lists are made */
};

static void lists_release(struct lists *lists)
{
  free(lists->rows);
  free(lists->lines);
  free(lists->points);
  free(lists->texts);
}

static void pass_lists(struct hwi_pass *pass, struct lists *lists)
{
  hwi_pass_list(pass, &of_row, (void **)&lists->rows, &lists->row_count, 0);
  hwi_pass_list(pass, &of_line, (void **)&lists->lines, &lists->line_count, 0);
  hwi_pass_list(pass, &of_point, (void **)&lists->points, &lists->point_count, 1);
  hwi_pass_list(pass, &of_text, (void **)&lists->texts, &lists->text_bytes, 0);
}

/* --- from the images --- */

static uint64_t add_text(struct lists *lists, const char *text)
{
  size_t bytes = strlen(text) + 1, at = lists->text_bytes;
  if (!hwi_grow((void **)&lists->texts, &lists->text_room, at + bytes, 1)) {
    lists->no_memory = true;
    return 0;
  }
  memcpy(lists->texts + at, text, bytes);
  lists->text_bytes += bytes;
  return at;
}

static void add_line(struct lists *lists, uint64_t ns, uint32_t type, const char *text)
{
  uint64_t at = add_text(lists, text);
  if (!hwi_grow((void **)&lists->lines, &lists->line_room, lists->line_count + 1, sizeof *lists->lines))
    lists->no_memory = true;
  else
    lists->lines[lists->line_count++] = (struct line){ns, at, type};
}

static uint64_t add_environment(struct lists *lists, const char *const *environment)
{
  uint64_t count = 0;
  while (environment[count])
    add_line(lists, 0, 0, environment[count++]);
  return count;
}

static void add_points(struct lists *lists, const struct hwi_trace_info *info)
{
  if (!hwi_grow((void **)&lists->points, &lists->point_room, lists->point_count + info->rss_count,
                sizeof *lists->points)) {
    lists->no_memory = true;
    return;
  }
  for (uint32_t i = 0; i < info->rss_count; i++)
    lists->points[lists->point_count++] = info->rss[i];
}

static struct row row_of_info(struct lists *lists, const struct hwi_trace_info *info)
{
  struct row row = {
      .known = true,
      .command = add_text(lists, info->command),
      .exe = add_text(lists, info->exe),
      .cwd = add_text(lists, info->cwd),
      .environment_count = add_environment(lists, info->environment),
      .mark_count = info->mark_count,
      .note_count = info->note_count,
      .rss_count = info->rss_count,
      .clock_cost_ns = info->clock_cost_ns,
      .rss_peak_bytes = info->rss_peak_bytes,
      .duration_ns = info->duration_ns,
      .silent_from_ns = info->silent_from_ns,
      .damaged_chunks = info->damaged_chunks,
      .first_damage_off = info->first_damage_off,
      .missing_chunks = info->missing_chunks,
      .raw_event_bytes = info->raw_event_bytes,
      .node_count = info->node_count,
      .module_count = info->module_count,
      .thread_count = info->thread_count,
      .children_unseen = info->children_unseen,
      .has_exit = info->exit,
      .exit_code = info->exit ? info->exit->code : 0,
      .exit_signal = info->exit ? info->exit->signal : 0,
      .exit_oom_kills = info->exit ? info->exit->group_oom_kills : 0,
      .ended = info->ended,
      .parent_missing = info->parent_missing,
  };
  for (uint32_t i = 0; i < info->mark_count; i++)
    add_line(lists, info->marks[i].ns, info->marks[i].type, info->marks[i].text);
  for (uint32_t i = 0; i < info->note_count; i++)
    add_line(lists, 0, info->notes[i].kind, info->notes[i].text);
  add_points(lists, info);
  return row;
}

static bool collect(struct lists *lists, const struct hwi_run *run, const struct hwi_image *images)
{
  if (!hwi_grow((void **)&lists->rows, &lists->row_room, run->count, sizeof *lists->rows))
    return false;
  for (size_t i = 0; i < run->count; i++) {
    struct row row = {0};
    if (images[i].info)
      row = row_of_info(lists, images[i].info);
    row.counted = images[i].counted;
    row.unreadable = images[i].unreadable;
    row.totals = images[i].totals;
    lists->rows[lists->row_count++] = row;
  }
  return !lists->no_memory;
}

/* --- to the images --- */

/* How much of the lists the rows have used so far. */
struct reading {
  const struct lists *lists;
  struct hwi_restored_images *restored;
  size_t line, point, mark, note, environment;
};

static const char *text_at(const struct lists *lists, uint64_t at)
{
  return at < lists->text_bytes ? lists->texts + at : "";
}

static const char *next_text(struct reading *r, struct line *line)
{
  *line = r->lists->lines[r->line++];
  return text_at(r->lists, line->text);
}

/* The counts must have been checked. */
static void read_info(struct reading *r, size_t number, const struct hwi_run_image *image)
{
  const struct row *row = &r->lists->rows[number];
  struct hwi_restored_images *restored = r->restored;
  struct line line;
  restored->exits[number] = (struct hw_exit_status){row->exit_code, row->exit_signal, row->exit_oom_kills};
  restored->infos[number] = (struct hwi_trace_info){
      .header = image->header,
      .path = restored->paths[number],
      .command = text_at(r->lists, row->command),
      .exe = text_at(r->lists, row->exe),
      .cwd = text_at(r->lists, row->cwd),
      .environment = &restored->environment[r->environment],
      .marks = &restored->marks[r->mark],
      .mark_count = (uint32_t)row->mark_count,
      .rss = &restored->rss[r->point],
      .rss_count = (uint32_t)row->rss_count,
      .exit = row->has_exit ? &restored->exits[number] : NULL,
      .notes = &restored->notes[r->note],
      .note_count = (uint32_t)row->note_count,
      .clock_cost_ns = row->clock_cost_ns,
      .rss_peak_bytes = row->rss_peak_bytes,
      .duration_ns = row->duration_ns,
      .node_count = row->node_count,
      .module_count = row->module_count,
      .thread_count = row->thread_count,
      .children_unseen = row->children_unseen,
      .missing = image->missing,
      .ended = row->ended,
      .parent_missing = row->parent_missing,
      .silent_from_ns = row->silent_from_ns,
      .damaged_chunks = row->damaged_chunks,
      .first_damage_off = row->first_damage_off,
      .missing_chunks = row->missing_chunks,
      .raw_event_bytes = row->raw_event_bytes,
  };
  for (uint64_t i = 0; i < row->environment_count; i++)
    restored->environment[r->environment++] = next_text(r, &line);
  restored->environment[r->environment++] = NULL;
  for (uint64_t i = 0; i < row->mark_count; i++) {
    const char *text = next_text(r, &line);
    restored->marks[r->mark++] = (struct hwi_mark){line.ns, line.type, text};
  }
  for (uint64_t i = 0; i < row->note_count; i++) {
    const char *text = next_text(r, &line);
    restored->notes[r->note++] = (struct hwi_note){(uint8_t)line.type, text};
  }
  r->point += row->rss_count;
}

/* Subtracts `part` from *left. Returns false if *left is smaller. */
static bool take(uint64_t *left, uint64_t part)
{
  bool enough = part <= *left;
  *left -= enough ? part : 0;
  return enough;
}

/* Returns whether all marks are of kinds that the reports know. */
static bool marks_are_sound(const struct line *lines, uint64_t count)
{
  for (uint64_t i = 0; i < count; i++)
    if (lines[i].type != HW_TOOL_MARK && lines[i].type != HW_TOOL_PAUSED && lines[i].type != HW_TOOL_RESUMED)
      return false;
  return true;
}

/* Returns whether the rows refer to all items of the lists, and to no others. */
static bool lists_are_sound(const struct lists *lists, size_t image_count)
{
  uint64_t lines = lists->line_count, points = lists->point_count;
  bool any_counted = false;
  if (lists->row_count != image_count || (lists->text_bytes && lists->texts[lists->text_bytes - 1]))
    return false;
  for (size_t i = 0; i < lists->row_count; i++) {
    const struct row *row = &lists->rows[i];
    if (!take(&lines, row->environment_count))
      return false;
    const struct line *marks = lists->lines ? lists->lines + (lists->line_count - lines) : NULL;
    if (!take(&lines, row->mark_count) || !marks_are_sound(marks, row->mark_count) || !take(&lines, row->note_count) ||
        !take(&points, row->rss_count) || !(row->known || row->unreadable) || (row->counted && !row->known))
      return false;
    if (row->duration_ns > HWI_TRACE_LATEST_NS)
      return false;
    any_counted = any_counted || row->counted;
  }
  return any_counted && lines == 0 && points == 0;
}

static bool copy_paths(struct hwi_restored_images *restored, const struct hwi_run *run)
{
  restored->paths = calloc(run->count, sizeof *restored->paths);
  for (size_t i = 0; restored->paths && i < run->count; i++) {
    restored->count = i + 1;
    restored->paths[i] = strdup(run->images[i].path);
    if (!restored->paths[i])
      return false;
  }
  return restored->paths;
}

static bool make_room(struct hwi_restored_images *restored, const struct lists *lists)
{
  restored->infos = calloc(lists->row_count, sizeof *restored->infos);
  restored->exits = calloc(lists->row_count, sizeof *restored->exits);
  restored->marks = calloc(lists->line_count + 1, sizeof *restored->marks);
  restored->notes = calloc(lists->line_count + 1, sizeof *restored->notes);
  restored->environment = calloc(lists->line_count + lists->row_count, sizeof *restored->environment);
  return restored->infos && restored->exits && restored->marks && restored->notes && restored->environment;
}

static void distribute(struct lists *lists, struct hwi_restored_images *restored, const struct hwi_run *run,
                       struct hwi_image *images)
{
  struct reading reading = {.lists = lists, .restored = restored};
  restored->rss = lists->points;
  restored->texts = lists->texts;
  for (size_t i = 0; i < run->count; i++) {
    const struct row *row = &lists->rows[i];
    images[i] = (struct hwi_image){.totals = row->totals, .counted = row->counted, .unreadable = row->unreadable};
    if (!row->known)
      continue;
    read_info(&reading, i, &run->images[i]);
    images[i].info = &restored->infos[i];
  }
  lists->points = NULL;
  lists->texts = NULL;
}

void hwi_pass_images(struct hwi_pass *pass, struct hwi_restored_images *restored, const struct hwi_run *run,
                     struct hwi_image *images)
{
  struct lists lists = {0};
  if (pass->writes && !collect(&lists, run, images))
    hwi_pass_fail(pass, HW_ERR_MEMORY);
  pass_lists(pass, &lists);
  if (!pass->writes && pass->status == 0) {
    if (!lists_are_sound(&lists, run->count))
      hwi_pass_fail(pass, HW_ERR_DAMAGED);
    else if (!make_room(restored, &lists) || !copy_paths(restored, run))
      hwi_pass_fail(pass, HW_ERR_MEMORY);
    else
      distribute(&lists, restored, run, images);
  }
  lists_release(&lists);
}

void hwi_restored_images_release(struct hwi_restored_images *restored)
{
  for (size_t i = 0; i < restored->count; i++)
    free(restored->paths[i]);
  free(restored->paths);
  free(restored->infos);
  free(restored->exits);
  free(restored->marks);
  free(restored->rss);
  free(restored->notes);
  free(restored->environment);
  free(restored->texts);
  *restored = (struct hwi_restored_images){0};
}
