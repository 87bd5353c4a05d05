/* summary_epochs.c - a summary's data about a run's epochs: their rows, and the stack of each node */
#include "profile/summary/summary_epochs.h"

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
  struct hwi_stack_node *item = hwi_rows_add(context, sizeof *item);
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
  if (done && ended->gave_up) {
    hwi_summary_drop_epochs(ended->sink.context);
  } else if (done) {
    result->epoch_rows = ended->rows;
    ended->rows = (struct hwi_rows){0};
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

void hwi_summary_pass_epochs(struct hwi_pass *pass, struct hwi_result *result)
{
  struct hwi_rows *rows = &result->epoch_rows, *nodes = &result->nodes;
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

bool hwi_summary_epochs_are_sound(const struct hwi_result *result)
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
