/* marks.c - the moments of a run that have names */
#include "report/content/marks.h"

#include <stdlib.h>
#include <string.h>

#include "report/input/moment.h"

static int by_time(const void *left, const void *right)
{
  const struct hwi_program_mark *a = left, *b = right;
  return a->ns < b->ns ? -1 : a->ns > b->ns;
}

static size_t most_marks(const struct hwi_profile *profile)
{
  size_t count = profile->mark_count;
  for (uint32_t i = 0; i < profile->image_count; i++)
    count += profile->images[i].counted ? profile->images[i].info->mark_count : 0;
  return count;
}

struct hwi_program_mark *hwi_marks_of(const struct hwi_profile *profile, uint32_t *count)
{
  struct hwi_program_mark *marks = calloc(most_marks(profile) + 1, sizeof *marks);
  *count = 0;
  if (!marks)
    return NULL;
  for (uint32_t i = 0; i < profile->image_count; i++) {
    const struct hwi_image *image = &profile->images[i];
    for (uint32_t k = 0; image->counted && k < image->info->mark_count; k++) {
      const struct hwi_mark *mark = &image->info->marks[k];
      if (mark->type == HW_TOOL_MARK)
        marks[(*count)++] = (struct hwi_program_mark){hwi_image_offset_ns(profile, image) + mark->ns, mark->text};
    }
  }
  if (profile->mark_count > 0)
    memcpy(marks + *count, profile->marks, profile->mark_count * sizeof *marks);
  *count += profile->mark_count;
  qsort(marks, *count, sizeof *marks, by_time);
  return marks;
}
