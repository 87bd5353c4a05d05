/* live_run.c - replays a run while its processes write it */
#include <stdlib.h>

#include "profile/replay/run_replay.h"
#include "trace/grow.h"

/* Makes room for images that began. */
static int add_images(struct hwi_run_replay *r, size_t known)
{
  struct hwi_result *result = r->result;
  const size_t count = r->run.count;
  struct hwi_trace **traces = realloc(result->traces, count * sizeof *traces);
  result->traces = traces ? traces : result->traces;
  struct hwi_image *images = realloc(r->images, count * sizeof *images);
  r->images = images ? images : r->images;
  result->profile.images = r->images;
  if (!traces || !images)
    return hwi_run_replay_no_memory(r);
  for (size_t i = known; i < count; i++) {
    traces[i] = NULL;
    images[i] = (struct hwi_image){.counted = hwi_run_replay_is_wanted(r, i)};
  }
  result->trace_count = result->profile.image_count = (uint32_t)count;
  return 0;
}

static int look_at(struct hwi_run_replay *r, struct hwi_active *a)
{
  bool is_over;
  const uint64_t rate = a->image.clock->ns_per_unit;
  hwi_trace_delay(a->image.trace, r->live.delay_ns);
  hwi_run_update_info(&r->run, a->image.number, a->image.trace);
  int status = hwi_trace_look(a->image.trace, &is_over, r->error);
  if (status < 0)
    return status;
  a->follows = !is_over;
  r->live.had_new_rates |= r->run.count > 1 && a->image.clock->ns_per_unit != rate;
  hwi_replay_image_update(&a->image);
  if (a->count)
    return 0;
  status = hwi_run_replay_next_batch(r, a);
  if (status == 0 && a->count == 0)
    hwi_run_replay_go_to_end(r, a);
  return status;
}

int hwi_run_replay_follow(struct hwi_run_replay *r, struct hwi_active *a)
{
  hwi_run_set_definitions(&r->run, a->image.number, a->image.trace);
  return look_at(r, a);
}

int hwi_run_replay_open_later(struct hwi_run_replay *r, uint32_t number)
{
  struct hwi_live_replay *live = &r->live;
  if (!hwi_grow((void **)&live->unopened, &live->unopened_capacity, live->unopened_count + 1, sizeof *live->unopened))
    return hwi_run_replay_no_memory(r);
  live->unopened[live->unopened_count++] = number;
  return 0;
}

/* Their events are counted with those of now. */
static int open_images(struct hwi_run_replay *r)
{
  const size_t count = r->live.unopened_count;
  int status = 0;
  r->live.unopened_count = 0;
  for (size_t i = 0; i < count && status == 0; i++) /* those that still cannot be opened move to its start */
    status = hwi_run_replay_start_image(r, r->live.unopened[i]);
  return status;
}

/* The blocks of the image that ends last are live at the end. If the end of one that ended before was noticed later, that one
 * is taken for the last. */
static void note_last(struct hwi_run_replay *r)
{
  const struct hwi_active *last = r->active_count == 1 ? r->active[0] : NULL;
  r->live.had_late_events |= last && !last->follows && last->count == 0 && last->head_ns < r->live.last_end_ns;
}

/* The launcher writes how the command ended a moment after that, into all images of its process. */
static bool awaits_status(const struct hwi_run_replay *r)
{
  const struct hwi_trace *command = r->run.count ? r->result->traces[0] : NULL;
  return command && hwi_trace_launcher_runs(command);
}

/* Those of images that ended before the command. */
static void read_statuses(struct hwi_run_replay *r)
{
  for (size_t i = 0; i < r->run.count; i++)
    if (r->result->traces[i])
      hwi_trace_read_status(r->result->traces[i]);
}

int hwi_run_replay_look(struct hwi_run_replay *r, bool *is_over)
{
  const size_t known = r->run.count;
  const bool may_come = awaits_status(r); /* asked before it is read: then it is there if the launcher has ended */
  int status = hwi_run_look(&r->run, r->error);
  if (r->run.count > known && status == 0)
    status = add_images(r, known);
  if (status == 0 && r->live.unopened_count)
    status = open_images(r);
  *is_over = r->next >= r->run.count && r->live.unopened_count == 0;
  for (size_t i = 0; i < r->active_count && status == 0; i++) {
    status = look_at(r, r->active[i]);
    *is_over = *is_over && !r->active[i]->follows;
  }
  if (may_come && !hwi_trace_info(r->result->traces[0])->exit)
    *is_over = false;
  if (*is_over && status == 0 && !r->live.has_statuses)
    read_statuses(r);
  r->live.has_statuses = *is_over;
  hwi_run_replay_order_images(r);
  note_last(r);
  return status;
}

/* Returns the image that ends first: those whose processes go on end last, together. */
static struct hwi_active *first_to_end(const struct hwi_run_replay *r)
{
  struct hwi_active *first = r->active[0];
  for (size_t i = 1; i < r->active_count; i++) {
    struct hwi_active *a = r->active[i];
    if (a->follows != first->follows ? first->follows : a->head_ns < first->head_ns)
      first = a;
  }
  return first;
}

int hwi_run_replay_stop(struct hwi_run_replay *r)
{
  int status = hwi_run_find_unseen_programs(&r->run, r->result->traces);
  if (status < 0)
    return hwi_run_replay_no_memory(r);
  for (size_t i = r->next; i < r->run.count; i++) /* they have just begun, and no event of them is certain */
    r->images[i].counted = false;
  for (size_t i = 0; i < r->live.unopened_count; i++)
    r->images[r->live.unopened[i]].counted = false;
  while (r->active_count && status == 0) {
    struct hwi_active *a = first_to_end(r);
    status = hwi_run_replay_end_image(r, a, !a->follows && r->active_count > 1);
  }
  return status;
}
