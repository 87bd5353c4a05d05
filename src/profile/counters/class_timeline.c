/* class_timeline.c - live bytes by classes of block sizes, over the time of the run
 *
 * The first distance of the moments is computed from the expected duration. If the run takes longer, every other moment
 * is removed, as often as needed.
 */
#include "profile/counters/class_timeline.h"

void hwi_class_timeline_init(struct hwi_class_timeline *t, uint64_t start_ns, uint64_t expected_ns)
{
  const uint64_t end_ns = start_ns + (expected_ns < HWI_TRACE_LATEST_NS ? expected_ns : HWI_TRACE_LATEST_NS);
  t->count = 0;
  t->width_ns = 1;
  while (end_ns / t->width_ns - start_ns / t->width_ns >= HWI_CLASS_POINTS)
    t->width_ns *= 2;
  t->next_ns = (start_ns / t->width_ns + 1) * t->width_ns;
}

/* Removes every other moment. */
static void fold(struct hwi_class_timeline *t)
{
  uint32_t kept = 0;
  t->width_ns *= 2;
  for (uint32_t i = 0; i < t->count; i++)
    if (t->points[i].ns % t->width_ns == 0)
      t->points[kept++] = t->points[i];
  t->count = kept;
  t->next_ns = (t->next_ns + t->width_ns - 1) / t->width_ns * t->width_ns;
}

/* The next moment's point is complete; `count` now includes it. */
static void go_on(struct hwi_class_timeline *t)
{
  t->next_ns += t->width_ns;
  if (t->count == HWI_CLASS_POINTS)
    fold(t);
}

static void add_point(struct hwi_class_timeline *t, uint64_t ns, const struct hwi_tally *tally)
{
  struct hwi_class_point *point = &t->points[t->count++];
  *point = (struct hwi_class_point){.ns = ns};
  for (size_t i = 1; i < tally->size_count; i++) {
    const struct hwi_size_tally *size = &tally->sizes[i];
    if (size->live) /* usually few sizes have live blocks */
      point->live_bytes[hwi_size_class(size->size)] += size->live * size->size;
  }
}

void hwi_class_timeline_advance(struct hwi_class_timeline *t, uint64_t ns, const struct hwi_tally *tally)
{
  while (ns >= t->next_ns) {
    add_point(t, t->next_ns, tally);
    go_on(t);
  }
}

uint32_t hwi_class_timeline_finish(struct hwi_class_timeline *t, uint64_t end_ns, const struct hwi_tally *tally)
{
  if (end_ns > t->next_ns)
    hwi_class_timeline_advance(t, end_ns - 1, tally);
  if (t->count && t->points[t->count - 1].ns == end_ns) /* more events followed at that moment */
    t->count--;
  add_point(t, end_ns, tally);
  return t->count;
}

void hwi_class_timeline_coarsen(struct hwi_class_timeline *t, uint32_t points)
{
  while (t->count > points)
    fold(t);
}

void hwi_class_timeline_append(struct hwi_class_timeline *t, const struct hwi_class_timeline *part)
{
  while (t->width_ns < part->width_ns)
    fold(t);
  for (uint32_t i = 0; i < part->count; i++) {
    if (part->points[i].ns != t->next_ns)
      continue;
    t->points[t->count++] = part->points[i];
    go_on(t);
  }
}
