/* class_timeline.c - live bytes by classes of block sizes, along the run
 *
 * Moments begin as far from each other as the expected length gives. When the run turns out to be longer, every other one is
 * left out, as often as needed.
 */
#include "profile/class_timeline.h"

void hwi_class_timeline_init(struct hwi_class_timeline *t, uint64_t start_ns, uint64_t expected_ns)
{
  t->count = 0;
  t->start_ns = start_ns;
  t->width_ns = expected_ns / HWI_CLASS_POINTS + 1;
  t->next_ns = start_ns + t->width_ns;
}

static void add_point(struct hwi_class_timeline *t, uint64_t ns, const struct hwi_tally *tally)
{
  struct hwi_class_point *point = &t->points[t->count++];
  *point = (struct hwi_class_point){.ns = ns};
  for (size_t i = 1; i < tally->size_count; i++) {
    const struct hwi_size_tally *size = &tally->sizes[i];
    point->live_bytes[hwi_size_class(size->size)] += size->live * size->size;
  }
}

/* All places are taken. */
static void fold(struct hwi_class_timeline *t)
{
  for (uint32_t i = 0; i < HWI_CLASS_POINTS / 2; i++)
    t->points[i] = t->points[2 * i + 1];
  t->count = HWI_CLASS_POINTS / 2;
  t->width_ns *= 2;
}

void hwi_class_timeline_advance(struct hwi_class_timeline *t, uint64_t ns, const struct hwi_tally *tally)
{
  while (ns >= t->next_ns) {
    add_point(t, t->next_ns, tally);
    if (t->count == HWI_CLASS_POINTS)
      fold(t);
    t->next_ns = t->start_ns + (t->count + 1) * t->width_ns;
  }
}

uint32_t hwi_class_timeline_finish(struct hwi_class_timeline *t, uint64_t end_ns, const struct hwi_tally *tally)
{
  if (end_ns > t->next_ns)
    hwi_class_timeline_advance(t, end_ns - 1, tally);
  if (t->count && t->points[t->count - 1].ns == end_ns) /* more happened at that moment */
    t->count--;
  add_point(t, end_ns, tally);
  return t->count;
}
