/* active_images.c - the active images of a replay, by the time of their next events
 *
 * They are a binary heap, so that a run of thousands of processes that run at once is merged in the order of time.
 */
#include "profile/replay/run_replay.h"

/* Of images with events at the same time, the first one comes first. */
static bool is_before(const struct hwi_active *a, const struct hwi_active *b)
{
  return a->head_ns != b->head_ns ? a->head_ns < b->head_ns : a->image.number < b->image.number;
}

static void sink(struct hwi_run_replay *r, size_t at)
{
  struct hwi_active *const active = r->active[at];
  for (size_t child; (child = 2 * at + 1) < r->active_count; at = child) {
    child += child + 1 < r->active_count && is_before(r->active[child + 1], r->active[child]);
    if (!is_before(r->active[child], active))
      break;
    r->active[at] = r->active[child];
  }
  r->active[at] = active;
}

void hwi_run_replay_first_has_moved(struct hwi_run_replay *r)
{
  if (r->active_count)
    sink(r, 0);
}

void hwi_run_replay_order_images(struct hwi_run_replay *r)
{
  for (size_t i = r->active_count / 2; i-- > 0;)
    sink(r, i);
}

struct hwi_active *hwi_run_replay_earliest(const struct hwi_run_replay *r, uint64_t *second_ns)
{
  for (size_t i = 1; i < 3 && i < r->active_count; i++)
    if (r->active[i]->head_ns < *second_ns)
      *second_ns = r->active[i]->head_ns;
  return r->active_count ? r->active[0] : NULL;
}
