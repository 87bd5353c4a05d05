/* worst_instances.c - the worst instances of a path of scopes, by each measure: a heap whose first item is the least bad */
#include "profile/counters/worst_instances.h"

#include <stdlib.h>

#include "profile/counters/instance_details.h"

static inline uint64_t value_of(const struct hwi_instance *instance, enum hwi_instance_measure measure)
{
  switch (measure) {
  case HWI_INSTANCE_DURATION:
    return instance->duration_ns;
  case HWI_INSTANCE_PEAK:
    return instance->peak_bytes;
  case HWI_INSTANCE_NET:
    return instance->net_bytes > 0 ? (uint64_t)instance->net_bytes : 0;
  case HWI_INSTANCE_CALLS:
    return instance->calls;
  default:
    return instance->bytes;
  }
}

/* Returns whether `a` is a less bad instance than `b`; of equal ones, the later. */
static bool is_less(const struct hwi_instance *a, const struct hwi_instance *b, enum hwi_instance_measure measure)
{
  uint64_t left = value_of(a, measure), right = value_of(b, measure);
  return left != right ? left < right : a->sequence > b->sequence;
}

static __attribute__((noinline)) void place(struct hwi_worst *worst, const struct hwi_instance *instance,
                                            enum hwi_instance_measure measure)
{
  struct hwi_instance *items = worst->items;
  uint32_t at, child;
  hwi_detail_share(instance->detail);
  if (worst->count < HWI_WORST_INSTANCES) { /* sift up */
    for (at = worst->count++; at > 0 && is_less(instance, &items[(at - 1) / 2], measure); at = (at - 1) / 2)
      items[at] = items[(at - 1) / 2];
  } else { /* sift down */
    hwi_detail_drop(items[0].detail);
    for (at = 0; (child = 2 * at + 1) < HWI_WORST_INSTANCES; at = child) {
      child += child + 1 < HWI_WORST_INSTANCES && is_less(&items[child + 1], &items[child], measure);
      if (!is_less(&items[child], instance, measure))
        break;
      items[at] = items[child];
    }
  }
  items[at] = *instance;
  worst->least = value_of(&items[0], measure);
}

/* Most instances are none of the worst: they only cost one comparison. */
static inline void rank(struct hwi_worst *worst, const struct hwi_instance *instance, enum hwi_instance_measure measure)
{
  if (worst->count < HWI_WORST_INSTANCES || value_of(instance, measure) > worst->least)
    place(worst, instance, measure);
}

void hwi_worst_rank(struct hwi_worst *worst, const struct hwi_instance *instance)
{
  rank(&worst[HWI_INSTANCE_DURATION], instance, HWI_INSTANCE_DURATION);
  rank(&worst[HWI_INSTANCE_PEAK], instance, HWI_INSTANCE_PEAK);
  rank(&worst[HWI_INSTANCE_NET], instance, HWI_INSTANCE_NET);
  rank(&worst[HWI_INSTANCE_CALLS], instance, HWI_INSTANCE_CALLS);
  rank(&worst[HWI_INSTANCE_BYTES], instance, HWI_INSTANCE_BYTES);
}

static int compare_sequences(const void *left, const void *right)
{
  const struct hwi_instance *a = left, *b = right;
  return a->sequence < b->sequence ? -1 : a->sequence > b->sequence;
}

void hwi_worst_order(struct hwi_worst *worst, enum hwi_instance_measure measure)
{
  qsort(worst->items, worst->count, sizeof *worst->items, compare_sequences);
  for (uint32_t i = 1; i < worst->count; i++) {
    struct hwi_instance item = worst->items[i];
    uint32_t at = i;
    for (; at > 0 && is_less(&worst->items[at - 1], &item, measure); at--)
      worst->items[at] = worst->items[at - 1];
    worst->items[at] = item;
  }
  for (uint32_t i = 0; i < worst->count; i++)
    if (worst->items[i].detail)
      hwi_detail_finish(worst->items[i].detail);
}
