/* summary_epochs.c - a summary's data from which a part of the run can be computed, with its epochs
 *
 * Epochs number cells and sizes in the order in which the run met them; a profile has them in another order. So these
 * numbers are stored, and the replay's tally is restored from the profile: its items with their numbers, and nothing
 * counted.
 */
#include "profile/summary/summary_epochs.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* --- while the run is replayed --- */

static bool take_epoch(void *context, struct hwi_epoch *epoch)
{
  return hwi_summary_add_epoch(context, epoch);
}

static uint64_t epoch_bytes(void *context)
{
  const struct hwi_summary *summary = context;
  return summary->end_off;
}

/* Plans epochs so that each is a small part of the run, and all of them usually take few bytes compared with the trace.
 * If they would take more, there are fewer of them (epoch_writer.c), but not so few that replaying a part of the run
 * takes long. */
static struct hwi_epoch_writer_plan plan_epochs(const struct hwi_trace *trace, uint64_t epoch_events)
{
  enum { EPOCHS = 128, EVENTS_LEAST = 1 << 14, PART_OF_TRACE = 5 };
  uint64_t events = hwi_trace_expected_events(trace), done, all;
  hwi_trace_progress(trace, &done, &all);
  if (epoch_events)
    return (struct hwi_epoch_writer_plan){events, epoch_events, UINT64_MAX};
  uint64_t part = events / EPOCHS;
  return (struct hwi_epoch_writer_plan){events, part > EVENTS_LEAST ? part : EVENTS_LEAST, all / PART_OF_TRACE};
}

bool hwi_summary_begin_epochs(struct hwi_summary *summary, struct hwi_epoch_writer **writer, struct hwi_replay *replay,
                              const struct hwi_replay_image *image, const struct hwi_profile_options *options)
{
  enum { NS_AN_EVENT = 100 }; /* approximate CPU time per event */
  const struct hwi_epoch_writer_plan plan = plan_epochs(image->trace, options->epoch_events);
  const struct hwi_epoch_sink sink = {take_epoch, epoch_bytes, summary};
  if (plan.event_count < options->summary_least_ns / NS_AN_EVENT || !hwi_summary_begin(summary))
    return true;
  *writer = hwi_epoch_writer_create(replay, image, &plan, &sink);
  return *writer;
}

static bool add_node(void *context, uint32_t node, uint32_t stack)
{
  struct hwi_stack_node *item = hwi_list_add(context, sizeof *item);
  if (item)
    *item = (struct hwi_stack_node){node, stack};
  return item;
}

bool hwi_summary_end_epochs(struct hwi_epoch_writer **writer, struct hwi_result *result,
                            const struct hwi_replay_image *image)
{
  struct hwi_epoch_writer *ended = *writer;
  uint32_t unknown = result->replay.resolver.frames.links[0].stack;
  bool done = hwi_epoch_writer_end(ended);
  const struct hwi_tally *tally = &result->replay.tally;
  const bool has_said = tally->scopes || tally->annotations || tally->heaps; /* an epoch does not have it */
  if (done && (ended->gave_up || has_said)) {
    hwi_summary_drop_epochs(ended->sink.context);
  } else if (done) {
    result->epoch_rows = ended->rows;
    ended->rows = (struct hwi_list){0};
    done = (!unknown || add_node(&result->nodes, 0, unknown)) &&
           hwi_replay_image_each_node(image, add_node, &result->nodes);
  }
  hwi_epoch_writer_destroy(ended);
  *writer = NULL;
  return done;
}

/* --- their bytes --- */

static const struct hwi_field node_fields[] = {
    HWI_NEAR_FIELD(struct hwi_stack_node, node),
    HWI_NEAR_FIELD(struct hwi_stack_node, stack),
};
_Static_assert(sizeof(struct hwi_stack_node) == sizeof(uint64_t), "each field is above");
static const struct hwi_fields of_node = HWI_FIELDS_OF(struct hwi_stack_node, node_fields);

static const struct hwi_field number_fields[] = {{0, sizeof(uint32_t), HWI_FIELD_NEAR, false, 1}};
static const struct hwi_fields of_number = {number_fields, 1, sizeof(uint32_t)};

static const struct hwi_field start_fields[] = {HWI_NEAR_FIELD(struct hwi_thread_tally, first_ns)};
static const struct hwi_fields of_start = HWI_FIELDS_OF(struct hwi_thread_tally, start_fields);

static void pass_rows_and_nodes(struct hwi_pass *pass, struct hwi_result *result)
{
  struct hwi_list *rows = &result->epoch_rows, *nodes = &result->nodes;
  hwi_pass_list(pass, &hwi_epoch_row_fields, &rows->items, &rows->count, 0);
  hwi_pass_list(pass, &of_node, &nodes->items, &nodes->count, 0);
}

/* --- whether they are sound --- */

/* Returns whether the epoch follows `last`, which is all zero for the first one. */
static bool row_is_sound(const struct hwi_epoch_row *row, const struct hwi_epoch_row *last)
{
  return row->first_ns <= row->last_ns && row->last_ns <= HWI_TRACE_LATEST_NS && row->event_count &&
         (!last->event_count || row->first_ns > last->last_ns) && row->cells >= last->cells &&
         row->stacks >= last->stacks && row->sizes >= last->sizes && row->threads >= last->threads;
}

static bool epochs_are_sound(const struct hwi_result *result)
{
  const struct hwi_tally *tally = &result->replay.tally;
  const struct hwi_epoch_row *rows = result->epoch_rows.items;
  const struct hwi_stack_node *nodes = result->nodes.items;
  struct hwi_epoch_row last = {.cells = 1, .stacks = 1, .sizes = 1};
  for (size_t i = 0; i < result->epoch_rows.count; last = rows[i++])
    if (!row_is_sound(&rows[i], &last))
      return false;
  for (size_t i = 0; i < result->nodes.count; i++)
    if (nodes[i].stack == 0 || nodes[i].stack >= tally->stack_count)
      return false;
  return last.cells <= tally->cell_count && last.stacks <= tally->stack_count && last.sizes <= tally->size_count &&
         last.threads <= tally->thread_count;
}

/* --- the tally of a replay --- */

static bool make_room(struct hwi_result *result)
{
  const struct hwi_profile *profile = &result->profile;
  struct hwi_tally *tally = &result->replay.tally;
  tally->size_count = (size_t)profile->size_count + 1;
  tally->thread_count = profile->thread_count;
  result->cell_numbers = calloc((size_t)profile->cell_count + 1, sizeof *result->cell_numbers);
  result->size_numbers = calloc(tally->size_count, sizeof *result->size_numbers);
  tally->sizes = calloc(tally->size_count, sizeof *tally->sizes);
  tally->threads = calloc(tally->thread_count + 1, sizeof *tally->threads);
  result->described = calloc(tally->thread_count + 1, sizeof *result->described);
  result->described_count = tally->thread_count;
  return result->cell_numbers && result->size_numbers && tally->sizes && tally->threads && result->described &&
         hwi_tally_make_stacks(tally, profile->stack_count) && hwi_tally_make_cells(tally, profile->cell_count + 1);
}

/* Returns false if two sizes have the same number, or if a number is invalid. */
static bool restore_sizes(struct hwi_result *result)
{
  struct hwi_tally *tally = &result->replay.tally;
  uint8_t *known = calloc(tally->size_count, 1);
  bool sound = known;
  for (uint32_t i = 0; i < result->profile.size_count && sound; i++) {
    const uint32_t number = result->size_numbers[i];
    sound = number && number < tally->size_count && !known[number];
    if (!sound)
      break;
    known[number] = 1;
    tally->sizes[number].size = result->profile.sizes[i].size;
  }
  free(known);
  return sound;
}

/* Returns false likewise. */
static bool restore_cells(struct hwi_result *result)
{
  struct hwi_tally *tally = &result->replay.tally;
  for (uint32_t i = 0; i < result->profile.cell_count; i++) {
    const struct hwi_profile_cell *from = &result->profile.cells[i];
    const uint32_t number = result->cell_numbers[i];
    if (!number || number >= tally->cell_count || hwi_tally_cell(tally, number)->stack)
      return false;
    *hwi_tally_cell(tally, number) = (struct hwi_cell){.size = result->profile.sizes[from->size].size,
                                                       .usable = from->usable,
                                                       .context = from->thread,
                                                       .stack = from->stack,
                                                       .size_number = result->size_numbers[from->size]};
  }
  return true;
}

static void restore_others(struct hwi_result *result)
{
  const struct hwi_profile *profile = &result->profile;
  struct hwi_tally *tally = &result->replay.tally;
  for (uint32_t i = 0; i < profile->stack_count; i++)
    tally->stacks[i].frame = profile->stacks[i].frame;
  for (uint32_t i = 0; i < profile->thread_count; i++) {
    const struct hwi_profile_thread *from = &profile->threads[i];
    struct hwi_thread *described = &result->described[i];
    tally->threads[i].image = from->image;
    tally->threads[i].number = from->number;
    *described = (struct hwi_thread){.tid = from->tid, .policy = from->policy, .priority = from->priority};
    memcpy(described->name, from->name, sizeof described->name);
  }
}

/* Releases the result's lists, which are made again for the part of the run. */
static void drop_lists(struct hwi_result *result)
{
  struct hwi_profile *profile = &result->profile;
  hwi_result_release_lists(result);
  profile->timeline = NULL;
  profile->class_points = NULL;
  profile->timeline_count = profile->class_point_count = 0;
  free(result->cell_numbers);
  free(result->size_numbers);
  result->cell_numbers = result->size_numbers = NULL;
}

static void restore(struct hwi_pass *pass, struct hwi_result *result)
{
  if (!restore_sizes(result) || !restore_cells(result)) {
    hwi_pass_fail(pass, HW_ERR_DAMAGED);
    return;
  }
  restore_others(result);
  drop_lists(result);
  if (!epochs_are_sound(result))
    hwi_pass_fail(pass, HW_ERR_DAMAGED);
}

void hwi_summary_pass_epochs(struct hwi_pass *pass, struct hwi_result *result)
{
  const struct hwi_profile *profile = &result->profile;
  if (!pass->writes && !make_room(result)) {
    hwi_pass_fail(pass, HW_ERR_MEMORY);
    return;
  }
  hwi_pass_array(pass, &of_number, result->size_numbers, profile->size_count);
  hwi_pass_array(pass, &of_number, result->cell_numbers, profile->cell_count);
  hwi_pass_array(pass, &of_start, result->replay.tally.threads, profile->thread_count);
  pass_rows_and_nodes(pass, result);
  if (!pass->writes && pass->status == 0)
    restore(pass, result);
}
