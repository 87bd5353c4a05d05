/* moment.c - a moment of a run, as a user writes it */
#include "report/input/moment.h"

#include <stdlib.h>
#include <string.h>

#include "report/input/quantities.h"
#include "report/input/suggest.h"

uint64_t hwi_image_offset_ns(const struct hwi_profile *profile, const struct hwi_image *image)
{
  const struct hwi_image *first = profile->images; /* they are in the order in which they began */
  while (!first->counted)
    first++;
  return image->info->header.start.monotonic_ns - first->info->header.start.monotonic_ns;
}

static bool find_percent(const struct hwi_profile *profile, const char *text, uint64_t *ns)
{
  enum { PERCENT_MAX = 100 };
  double percent;
  if (!hwi_percent_parse(text, &percent) || percent > PERCENT_MAX)
    return false;
  *ns = (uint64_t)((double)profile->duration_ns * percent / PERCENT_MAX);
  return true;
}

static bool find_mark(const struct hwi_profile *profile, const char *text, uint64_t *ns,
                      struct hwi_suggestion *suggestion)
{
  for (uint32_t i = 0; i < profile->image_count; i++) {
    const struct hwi_image *image = &profile->images[i];
    for (uint32_t k = 0; image->counted && k < image->info->mark_count; k++) {
      const struct hwi_mark *mark = &image->info->marks[k];
      if (mark->type != HW_TOOL_MARK)
        continue;
      hwi_suggestion_offer(suggestion, mark->text);
      *ns = hwi_image_offset_ns(profile, image) + mark->ns;
      if (strcmp(mark->text, text) == 0)
        return true;
    }
  }
  return false;
}

int hwi_moment_find(const struct hwi_profile *profile, const char *text, uint64_t *ns, struct hwi_error *error)
{
  static const char mark[] = "mark:";
  bool is_mark = strncmp(text, mark, sizeof mark - 1) == 0;
  if (!is_mark && strcmp(text, "peak") == 0) {
    *ns = profile->totals.peak_time_ns;
    return HW_OK;
  }
  if (!is_mark && strcmp(text, "end") == 0) {
    *ns = UINT64_MAX;
    return HW_OK;
  }
  if (!is_mark && (hwi_duration_parse(text, ns) || find_percent(profile, text, ns)))
    return HW_OK;
  const char *name = is_mark ? text + sizeof mark - 1 : text;
  struct hwi_suggestion suggestion;
  hwi_suggestion_init(&suggestion, name, strlen(name));
  if (find_mark(profile, name, ns, &suggestion))
    return HW_OK;
  if (suggestion.best)
    return hwi_error_set(error, HW_ERR_USAGE, "there is no mark '%.100s'; did you mean '%.100s'?", name,
                         suggestion.best);
  return hwi_error_set(error, HW_ERR_USAGE,
                       "'%.100s' is no moment: it is a time such as 5s, a percentage, peak, end, or the text of a mark",
                       name);
}
