/* instance_texts.c - the texts of the worst instances of scopes
 *
 * A program may give each instance a text, such as a URL. The replay skips these texts, because there may be millions of
 * them; here the definitions of a trace are read once more for the few that are shown.
 */
#include <stdlib.h>

#include "profile/replay/run_replay.h"
#include "trace/grow.h"

/* An instance whose text is wanted. */
struct wanted {
  uint32_t image, number;
  struct hwi_instance_detail *detail;
};

struct wanted_list {
  struct wanted *items;
  size_t count, capacity;
};

static bool want(const struct hwi_profile *profile, const struct hwi_worst *worst, struct wanted_list *list)
{
  for (uint32_t i = 0; i < worst->count; i++) {
    const struct hwi_instance *item = &worst->items[i];
    if (item->op != HW_SCOPE_BEGIN_TEXT || item->value > UINT32_MAX || !item->detail)
      continue;
    if (!hwi_grow((void **)&list->items, &list->capacity, list->count + 1, sizeof *list->items))
      return false;
    list->items[list->count++] = (struct wanted){.image = profile->threads[item->thread].image,
                                                 .number = (uint32_t)item->value,
                                                 .detail = (struct hwi_instance_detail *)item->detail}; /* not const */
  }
  return true;
}

static int compare_images(const void *left, const void *right)
{
  uint32_t a = ((const struct wanted *)left)->image, b = ((const struct wanted *)right)->image;
  return a < b ? -1 : a > b;
}

/* Reads the texts of `count` instances of one image. */
static int read_image(struct hwi_run_replay *r, struct wanted *items, size_t count)
{
  struct hwi_trace *trace;
  int status = hwi_run_open(&r->run, items->image, &trace, r->error);
  if (status < 0)
    return status;
  bool done = true;
  for (size_t i = 0; done && i < count; i++)
    done = hwi_trace_want_text(trace, items[i].number);
  status = done ? hwi_trace_complete(trace, r->error) : hwi_run_replay_no_memory(r);
  for (size_t i = 0; status == 0 && i < count; i++) {
    const char *text = hwi_trace_text(trace, items[i].number);
    items[i].detail->text = hwi_store_string(&r->result->instance_texts, text);
    status = text && !items[i].detail->text ? hwi_run_replay_no_memory(r) : 0;
  }
  hwi_trace_close(trace);
  return status;
}

int hwi_run_replay_read_texts(struct hwi_run_replay *r)
{
  const struct hwi_profile *profile = &r->result->profile;
  struct wanted_list list = {0};
  int status = 0;
  for (uint32_t i = 1; status == 0 && i < profile->scope_count; i++)
    for (int measure = 0; status == 0 && profile->scopes[i].worst && measure < HWI_INSTANCE_MEASURES; measure++)
      status = want(profile, &profile->scopes[i].worst[measure], &list) ? 0 : hwi_run_replay_no_memory(r);
  if (status == 0 && list.count > 0)
    qsort(list.items, list.count, sizeof *list.items, compare_images);
  for (size_t first = 0, end; status == 0 && first < list.count; first = end) {
    for (end = first + 1; end < list.count && list.items[end].image == list.items[first].image;)
      end++;
    status = read_image(r, &list.items[first], end - first);
    if (status != HW_ERR_MEMORY) /* a trace that is damaged now, or was removed, only has no texts */
      status = 0;
  }
  free(list.items);
  return status;
}
