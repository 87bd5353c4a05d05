/* scope_columns.c - writes and reads what a summary has of the program's own words: scopes, breaches, marks, counters,
 * heaps
 *
 * Each name is stored once. The names of scopes, marks, counters and heaps are one list of numbers: the first name has
 * the number 0.
 */
#include "profile/columns/scope_columns.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "trace/grow.h"
#include "trace/numbering.h"

#define U64 sizeof(uint64_t)

static const struct hwi_field scope_fields[] = {
    HWI_NEAR_FIELD(struct hwi_scope, outer),      HWI_FIELD(struct hwi_scope, instances),
    HWI_FIELD(struct hwi_scope, left_open),       HWI_FIELD(struct hwi_scope, duration_ns),
    HWI_FIELD(struct hwi_scope, self_ns),         HWI_FIELD(struct hwi_scope, max_ns),
    HWI_FIELD(struct hwi_scope, free_calls),      HWI_FIELD(struct hwi_scope, freed_blocks),
    HWI_FIELD(struct hwi_scope, freed_bytes),     HWI_FIELD(struct hwi_scope, failed_calls),
    HWI_FIELD(struct hwi_scope, peak_bytes),      HWI_FIELD(struct hwi_scope, allocating),
    HWI_FIELD(struct hwi_scope, last_allocating), HWI_FIELD(struct hwi_scope, first_quiet),
};
_Static_assert(sizeof(struct hwi_scope) == 16 * U64, "each is above, but the name, the depth and the worst instances");
static const struct hwi_fields of_scope = HWI_FIELDS_OF(struct hwi_scope, scope_fields);

static const struct hwi_field breach_fields[] = {
    HWI_FIELD(struct hwi_breach, scope),          HWI_FIELD(struct hwi_breach, stack),
    HWI_BOOL_FIELD(struct hwi_breach, is_free),   HWI_FIELD(struct hwi_breach, calls),
    HWI_FIELD(struct hwi_breach, bytes),          HWI_FIELD(struct hwi_breach, first_ns),
    HWI_FIELD(struct hwi_breach, first_instance), HWI_FIELD(struct hwi_breach, first_thread),
};
_Static_assert(sizeof(struct hwi_breach) == 7 * U64, "each field is above");
static const struct hwi_fields of_breach = HWI_FIELDS_OF(struct hwi_breach, breach_fields);

static const struct hwi_field mark_fields[] = {HWI_NEAR_FIELD(struct hwi_program_mark, ns)};
_Static_assert(sizeof(struct hwi_program_mark) == 2 * U64, "each field is above, but the text");
static const struct hwi_fields of_mark = HWI_FIELDS_OF(struct hwi_program_mark, mark_fields);

static const struct hwi_field counter_fields[] = {
    HWI_FIELD(struct hwi_program_counter, sets),        HWI_FIELD(struct hwi_program_counter, least),
    HWI_FIELD(struct hwi_program_counter, most),        HWI_FIELD(struct hwi_program_counter, last),
    HWI_FIELD(struct hwi_program_counter, point_count),
};
_Static_assert(sizeof(void *) != U64 || sizeof(struct hwi_program_counter) == 7 * U64,
               "each field is above, but the name and the points");
static const struct hwi_fields of_counter = HWI_FIELDS_OF(struct hwi_program_counter, counter_fields);

static const struct hwi_field point_fields[] = {
    HWI_NEAR_FIELD(struct hwi_counter_point, ns),
    HWI_FIELD(struct hwi_counter_point, value),
};
_Static_assert(sizeof(struct hwi_counter_point) == 2 * U64, "each field is above");
static const struct hwi_fields of_point = HWI_FIELDS_OF(struct hwi_counter_point, point_fields);

static const struct hwi_field heap_fields[] = {
    HWI_FIELD(struct hwi_heap, created),          HWI_FIELD(struct hwi_heap, destroyed),
    HWI_FIELD(struct hwi_heap, allocation_calls), HWI_FIELD(struct hwi_heap, allocated_bytes),
    HWI_FIELD(struct hwi_heap, failed_calls),     HWI_FIELD(struct hwi_heap, free_calls),
    HWI_FIELD(struct hwi_heap, resets),           HWI_FIELD(struct hwi_heap, reset_blocks),
    HWI_FIELD(struct hwi_heap, unmatched_frees),  HWI_FIELD(struct hwi_heap, missed_frees),
    HWI_FIELD(struct hwi_heap, peak_bytes),       HWI_FIELD(struct hwi_heap, peak_blocks),
    HWI_FIELD(struct hwi_heap, peak_ns),          HWI_FIELD(struct hwi_heap, live_blocks),
    HWI_FIELD(struct hwi_heap, live_bytes),
};
_Static_assert(sizeof(struct hwi_heap) == 16 * U64, "each field is above, but the name");
static const struct hwi_fields of_heap = HWI_FIELDS_OF(struct hwi_heap, heap_fields);

static const struct hwi_field number_fields[] = {{0, sizeof(uint32_t), HWI_FIELD_NEAR, false, 1}};
static const struct hwi_fields of_number = {number_fields, 1, sizeof(uint32_t)};

static const struct hwi_field text_fields[] = {{0, 1, HWI_FIELD_ANY, false, 1}};
static const struct hwi_fields of_text = {text_fields, 1, 1};

/* The lists as they are stored. */
struct lists {
  struct hwi_restored_scopes of;
  uint32_t *names; /* of the scopes from 1 on, the marks, the counters and the heaps */
  size_t scope_count, breach_count, mark_count, counter_count, point_count, heap_count, name_count, text_bytes;
  size_t point_room, text_room;
};

static void lists_release(struct lists *lists)
{
  hwi_restored_scopes_release(&lists->of);
  free(lists->names);
}

static void pass_lists(struct hwi_pass *pass, struct lists *lists)
{
  hwi_pass_list(pass, &of_scope, (void **)&lists->of.scopes, &lists->scope_count, 0);
  hwi_pass_list(pass, &of_breach, (void **)&lists->of.breaches, &lists->breach_count, 0);
  hwi_pass_list(pass, &of_mark, (void **)&lists->of.marks, &lists->mark_count, 0);
  hwi_pass_list(pass, &of_counter, (void **)&lists->of.counters, &lists->counter_count, 0);
  hwi_pass_list(pass, &of_point, (void **)&lists->of.points, &lists->point_count, 0);
  hwi_pass_list(pass, &of_heap, (void **)&lists->of.heaps, &lists->heap_count, 0);
  hwi_pass_list(pass, &of_number, (void **)&lists->names, &lists->name_count, 0);
  hwi_pass_list(pass, &of_text, (void **)&lists->of.texts, &lists->text_bytes, 0);
}

/* Returns how many names all lists have. */
static size_t names_of(const struct lists *lists)
{
  return (lists->scope_count ? lists->scope_count - 1 : 0) + lists->mark_count + lists->counter_count +
         lists->heap_count;
}

/* --- from the profile --- */

/* Adds the name. The profile has each name once, so that it is known by its address. */
static bool add_name(struct lists *lists, struct hwi_numbering *numbers, const char *name)
{
  const uint32_t known = numbers->count, number = hwi_numbering_of(numbers, (uintptr_t)name, 0);
  const size_t bytes = number > known ? strlen(name) + 1 : 0;
  if (!number ||
      !hwi_grow((void **)&lists->of.texts, &lists->text_room, lists->text_bytes + bytes, sizeof *lists->of.texts))
    return false;
  if (bytes)
    memcpy(lists->of.texts + lists->text_bytes, name, bytes);
  lists->text_bytes += bytes;
  lists->names[lists->name_count++] = number - 1;
  return true;
}

static bool collect_names(struct lists *lists, const struct hwi_profile *profile)
{
  struct hwi_numbering numbers = {0};
  lists->names = calloc(names_of(lists) + 1, sizeof *lists->names);
  bool done = lists->names;
  for (uint32_t i = 1; done && i < profile->scope_count; i++)
    done = add_name(lists, &numbers, profile->scopes[i].name);
  for (uint32_t i = 0; done && i < profile->mark_count; i++)
    done = add_name(lists, &numbers, profile->marks[i].text);
  for (uint32_t i = 0; done && i < profile->counter_count; i++)
    done = add_name(lists, &numbers, profile->counters[i].name);
  for (uint32_t i = 0; done && i < profile->heap_count; i++)
    done = add_name(lists, &numbers, profile->heaps[i].name);
  hwi_numbering_release(&numbers);
  return done;
}

static bool collect_points(struct lists *lists, const struct hwi_profile *profile)
{
  for (uint32_t i = 0; i < profile->counter_count; i++) {
    const struct hwi_program_counter *counter = &profile->counters[i];
    if (!hwi_grow((void **)&lists->of.points, &lists->point_room, lists->point_count + counter->point_count,
                  sizeof *lists->of.points))
      return false;
    memcpy(lists->of.points + lists->point_count, counter->points, counter->point_count * sizeof *counter->points);
    lists->point_count += counter->point_count;
  }
  return true;
}

static void write_lists(struct hwi_pass *pass, const struct hwi_profile *profile)
{
  struct lists lists = {.scope_count = profile->scope_count,
                        .breach_count = profile->breach_count,
                        .mark_count = profile->mark_count,
                        .counter_count = profile->counter_count,
                        .heap_count = profile->heap_count};
  if (!collect_names(&lists, profile) || !collect_points(&lists, profile))
    hwi_pass_fail(pass, HW_ERR_MEMORY);
  lists.of.scopes = (struct hwi_scope *)profile->scopes; /* a pass that writes changes nothing */
  lists.of.breaches = (struct hwi_breach *)profile->breaches;
  lists.of.marks = (struct hwi_program_mark *)profile->marks;
  lists.of.counters = (struct hwi_program_counter *)profile->counters;
  lists.of.heaps = (struct hwi_heap *)profile->heaps;
  pass_lists(pass, &lists);
  free(lists.of.points);
  free(lists.of.texts);
  free(lists.names);
}

/* --- to the profile --- */

/* Sets the depths of the scopes. Returns false if a path is not inside an earlier one. */
static bool scopes_are_sound(const struct lists *lists)
{
  for (size_t i = 1; i < lists->scope_count; i++) {
    struct hwi_scope *scope = &lists->of.scopes[i];
    if (scope->outer >= i)
      return false;
    scope->depth = scope->outer ? lists->of.scopes[scope->outer].depth + 1 : 1;
  }
  return true;
}

static bool breaches_are_sound(const struct lists *lists, const struct hwi_profile *profile)
{
  for (size_t i = 0; i < lists->breach_count; i++) {
    const struct hwi_breach *breach = &lists->of.breaches[i];
    if (breach->scope == 0 || breach->scope >= lists->scope_count || breach->stack >= profile->stack_count ||
        breach->first_thread >= profile->thread_count)
      return false;
  }
  return true;
}

static bool marks_are_sound(const struct lists *lists)
{
  const struct hwi_program_mark *marks = lists->of.marks;
  for (size_t i = 0; i < lists->mark_count; i++)
    if (marks[i].ns > HWI_TRACE_LATEST_NS || (i > 0 && marks[i].ns < marks[i - 1].ns))
      return false;
  return lists->mark_count <= HWI_PROGRAM_MARKS_MAX;
}

static bool points_are_sound(const struct hwi_counter_point *points, uint32_t count)
{
  for (uint32_t i = 0; i < count; i++)
    if (points[i].ns > HWI_TRACE_LATEST_NS || (i > 0 && points[i].ns < points[i - 1].ns) || isnan(points[i].value))
      return false;
  return count > 0 && count <= HWI_COUNTER_POINTS;
}

static bool counters_are_sound(const struct lists *lists)
{
  size_t points = 0;
  for (size_t i = 0; i < lists->counter_count; i++) {
    const struct hwi_program_counter *counter = &lists->of.counters[i];
    if (counter->point_count > lists->point_count - points ||
        !points_are_sound(lists->of.points + points, counter->point_count) || isnan(counter->least) ||
        isnan(counter->most) || isnan(counter->last))
      return false;
    points += counter->point_count;
  }
  return points == lists->point_count && lists->counter_count <= HWI_COUNTERS_MAX;
}

static bool heaps_are_sound(const struct lists *lists)
{
  for (size_t i = 0; i < lists->heap_count; i++)
    if (lists->of.heaps[i].peak_ns > HWI_TRACE_LATEST_NS)
      return false;
  return true;
}

static bool are_sound(const struct lists *lists, const struct hwi_profile *profile)
{
  return scopes_are_sound(lists) && breaches_are_sound(lists, profile) && marks_are_sound(lists) &&
         counters_are_sound(lists) && heaps_are_sound(lists);
}

/* Returns the names by number, which the caller frees, and sets *count. The last text is ended by NUL. */
static const char **split_texts(const struct lists *lists, size_t *count)
{
  size_t texts = 0;
  for (size_t i = 0; i < lists->text_bytes; i++)
    texts += lists->of.texts[i] == '\0';
  const char **split = calloc(texts + 1, sizeof *split);
  const char *at = lists->of.texts;
  for (size_t i = 0; split && i < texts; i++, at += strlen(at) + 1)
    split[i] = at;
  *count = split ? texts : 0;
  return split;
}

/* Returns false if there are too few names, or if one does not exist. */
static bool names_are_sound(const struct lists *lists, size_t text_count)
{
  if (lists->name_count != names_of(lists))
    return false;
  for (size_t i = 0; i < lists->name_count; i++)
    if (lists->names[i] >= text_count)
      return false;
  return lists->text_bytes == 0 || lists->of.texts[lists->text_bytes - 1] == '\0';
}

static void set_names(const struct lists *lists, const char *const *texts)
{
  const uint32_t *name = lists->names;
  for (size_t i = 1; i < lists->scope_count; i++)
    lists->of.scopes[i].name = texts[*name++];
  for (size_t i = 0; i < lists->mark_count; i++)
    lists->of.marks[i].text = texts[*name++];
  for (size_t i = 0; i < lists->counter_count; i++)
    lists->of.counters[i].name = texts[*name++];
  for (size_t i = 0; i < lists->heap_count; i++)
    lists->of.heaps[i].name = texts[*name++];
}

static void publish(struct lists *lists, struct hwi_profile *profile, struct hwi_restored_scopes *restored)
{
  const struct hwi_counter_point *points = lists->of.points;
  for (size_t i = 0; i < lists->counter_count; i++) {
    lists->of.counters[i].points = points;
    points += lists->of.counters[i].point_count;
  }
  *restored = lists->of;
  lists->of = (struct hwi_restored_scopes){0};
  profile->scopes = restored->scopes;
  profile->scope_count = (uint32_t)lists->scope_count;
  profile->breaches = restored->breaches;
  profile->breach_count = (uint32_t)lists->breach_count;
  profile->marks = restored->marks;
  profile->mark_count = (uint32_t)lists->mark_count;
  profile->counters = restored->counters;
  profile->counter_count = (uint32_t)lists->counter_count;
  profile->heaps = restored->heaps;
  profile->heap_count = (uint32_t)lists->heap_count;
}

static void read_lists(struct hwi_pass *pass, struct hwi_profile *profile, struct hwi_restored_scopes *restored)
{
  struct lists lists = {0};
  size_t text_count = 0;
  pass_lists(pass, &lists);
  const char **texts = pass->status == 0 ? split_texts(&lists, &text_count) : NULL;
  if (pass->status == 0 && !texts)
    hwi_pass_fail(pass, HW_ERR_MEMORY);
  if (pass->status == 0 && !(names_are_sound(&lists, text_count) && are_sound(&lists, profile)))
    hwi_pass_fail(pass, HW_ERR_DAMAGED);
  if (pass->status == 0) {
    set_names(&lists, texts);
    publish(&lists, profile, restored);
  }
  free((void *)texts);
  lists_release(&lists);
}

void hwi_pass_scopes(struct hwi_pass *pass, struct hwi_profile *profile, struct hwi_restored_scopes *restored)
{
  if (pass->writes)
    write_lists(pass, profile);
  else
    read_lists(pass, profile, restored);
}

void hwi_restored_scopes_release(struct hwi_restored_scopes *restored)
{
  free(restored->scopes);
  free(restored->breaches);
  free(restored->marks);
  free(restored->counters);
  free(restored->points);
  free(restored->heaps);
  free(restored->texts);
  *restored = (struct hwi_restored_scopes){0};
}
