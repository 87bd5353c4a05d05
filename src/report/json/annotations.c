/* annotations.c - the marks of a run, and the counters that the program set, as members of a JSON object */
#include <stdlib.h>

#include "report/content/marks.h"
#include "report/json/members.h"

void hwi_json_marks(struct hwi_json *json, const struct hwi_profile *profile)
{
  uint32_t count;
  struct hwi_program_mark *marks = hwi_marks_of(profile, &count);
  json->failed |= !marks;
  if (count > 0) {
    hwi_json_begin_array(json, "marks");
    for (uint32_t i = 0; i < count; i++) {
      hwi_json_begin_object(json, NULL);
      hwi_json_number(json, "time_ns", marks[i].ns);
      hwi_json_text(json, "text", marks[i].text);
      hwi_json_end_object(json);
    }
    hwi_json_end_array(json);
  }
  free(marks);
}

static void write_points(struct hwi_json *json, const struct hwi_program_counter *counter)
{
  hwi_json_begin_array(json, "points");
  for (uint32_t i = 0; i < counter->point_count; i++) {
    hwi_json_begin_object(json, NULL);
    hwi_json_number(json, "time_ns", counter->points[i].ns);
    hwi_json_real(json, "value", counter->points[i].value);
    hwi_json_end_object(json);
  }
  hwi_json_end_array(json);
}

void hwi_json_counters(struct hwi_json *json, const struct hwi_profile *profile, uint32_t most)
{
  if (profile->counter_count == 0)
    return;
  hwi_json_begin_array(json, "counters");
  for (uint32_t i = 0; i < profile->counter_count && i < most; i++) {
    const struct hwi_program_counter *counter = &profile->counters[i];
    hwi_json_begin_object(json, NULL);
    hwi_json_text(json, "name", counter->name);
    hwi_json_number(json, "sets", counter->sets);
    hwi_json_real(json, "min", counter->least);
    hwi_json_real(json, "max", counter->most);
    hwi_json_real(json, "last", counter->last);
    write_points(json, counter);
    hwi_json_end_object(json);
  }
  hwi_json_end_array(json);
}
