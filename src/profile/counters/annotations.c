/* annotations.c - what the program noted besides scopes: marks, and counters along time
 *
 * A counter has a point for each part of the run in which it was set. When there are too many points, the parts become
 * twice as long, and every second point goes into the one before it. So memory does not grow with the run.
 */
#include "profile/counters/annotations.h"

#include <math.h>
#include <stdlib.h>

#include "trace/grow.h"
#include "trace/numbering.h"

struct counter {
  struct hwi_program_counter shown;
  struct hwi_counter_point *points; /* HWI_COUNTER_POINTS of them */
  uint64_t part_ns;                 /* the length of a part */
  uint64_t part_begin_ns;           /* of the last point */
};

struct hwi_annotations {
  struct hwi_program_mark *marks;
  uint32_t *mark_names;
  size_t mark_count, mark_capacity, name_capacity;
  struct hwi_numbering numbers; /* of (name of a counter, 0) */
  struct counter *counters;     /* [1, numbers.count] */
  size_t counter_capacity;
  struct hwi_program_counter *published;
};

/* --- marks --- */

static bool add_mark(struct hwi_annotations *a, uint32_t name, uint64_t ns)
{
  if (a->mark_count == HWI_PROGRAM_MARKS_MAX)
    return true;
  if (!hwi_grow((void **)&a->marks, &a->mark_capacity, a->mark_count + 1, sizeof *a->marks) ||
      !hwi_grow((void **)&a->mark_names, &a->name_capacity, a->mark_count + 1, sizeof *a->mark_names))
    return false;
  a->mark_names[a->mark_count] = name;
  a->marks[a->mark_count++] = (struct hwi_program_mark){.ns = ns};
  return true;
}

/* --- counters --- */

/* Returns NULL if there is no memory. *is_full: there are too many counters. */
static struct counter *find_counter(struct hwi_annotations *a, uint32_t name, bool *is_full)
{
  const uint32_t known = a->numbers.count;
  *is_full = known >= HWI_COUNTERS_MAX && !hwi_numbering_find(&a->numbers, name, 0);
  if (*is_full || !hwi_grow((void **)&a->counters, &a->counter_capacity, (size_t)known + 2, sizeof *a->counters))
    return NULL;
  const uint32_t number = hwi_numbering_of(&a->numbers, name, 0);
  struct counter *counter = number ? &a->counters[number] : NULL;
  if (number > known) {
    *counter = (struct counter){.points = calloc(HWI_COUNTER_POINTS, sizeof *counter->points), .part_ns = 1};
    if (!counter->points)
      return NULL;
  }
  return counter;
}

/* Doubles the length of the parts. */
static void thin_out(struct counter *counter)
{
  uint32_t kept = 0;
  for (uint32_t i = 1; i < counter->shown.point_count; i += 2)
    counter->points[kept++] = counter->points[i];
  counter->shown.point_count = kept;
  counter->part_ns *= 2;
}

static void set(struct counter *counter, double value, uint64_t ns)
{
  struct hwi_program_counter *shown = &counter->shown;
  shown->least = shown->sets == 0 || value < shown->least ? value : shown->least;
  shown->most = shown->sets == 0 || value > shown->most ? value : shown->most;
  shown->last = value;
  if (shown->sets++ > 0 && ns - counter->part_begin_ns < counter->part_ns) {
    counter->points[shown->point_count - 1] = (struct hwi_counter_point){ns, value};
    return;
  }
  while (shown->point_count == HWI_COUNTER_POINTS)
    thin_out(counter);
  counter->part_begin_ns = ns;
  counter->points[shown->point_count++] = (struct hwi_counter_point){ns, value};
}

static bool set_counter(struct hwi_annotations *a, uint32_t name, double value, uint64_t ns)
{
  bool is_full;
  if (isnan(value)) /* it has no place on a chart, and none between the least and the most */
    return true;
  struct counter *counter = find_counter(a, name, &is_full);
  if (counter)
    set(counter, value, ns);
  return counter || is_full;
}

bool hwi_annotations_take(struct hwi_annotations **annotations, const struct hwi_resolved *event, uint64_t ns)
{
  if (!*annotations && !(*annotations = calloc(1, sizeof **annotations)))
    return false;
  if (event->entry == HW_SCOPE_MARK)
    return add_mark(*annotations, (uint32_t)event->size, ns);
  return set_counter(*annotations, (uint32_t)event->size, hw_counter_decode(event->usable), ns);
}

/* --- spans and results --- */

void hwi_annotations_restart(struct hwi_annotations *a)
{
  for (size_t i = 1; i <= a->numbers.count; i++)
    free(a->counters[i].points);
  hwi_numbering_release(&a->numbers);
  a->mark_count = 0;
}

void hwi_annotations_destroy(struct hwi_annotations *a)
{
  if (!a)
    return;
  hwi_annotations_restart(a);
  free(a->counters);
  free(a->marks);
  free(a->mark_names);
  free(a->published);
  free(a);
}

bool hwi_annotations_publish(struct hwi_annotations *a, const struct hwi_store *names, struct hwi_profile *profile)
{
  for (size_t i = 0; i < a->mark_count; i++)
    a->marks[i].text = names->strings[a->mark_names[i]].text;
  profile->marks = a->marks;
  profile->mark_count = (uint32_t)a->mark_count;
  a->published = calloc((size_t)a->numbers.count + 1, sizeof *a->published);
  for (uint32_t i = 0; a->published && i < a->numbers.count; i++) {
    struct counter *counter = &a->counters[i + 1];
    counter->shown.name = names->strings[a->numbers.pairs[i + 1].a].text;
    counter->shown.points = counter->points;
    a->published[i] = counter->shown;
  }
  profile->counters = a->published;
  profile->counter_count = a->published ? a->numbers.count : 0;
  return a->published;
}
