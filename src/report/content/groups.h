/* groups.h - stacks grouped by function, source file, source line or module
 *
 * self       the amount of the stacks whose innermost significant frame is in the group: its code requested the memory.
 *            Functions that only pass an allocation on are skipped, unless frames are not folded.
 * total      the amount of the stacks with any frame in the group. Each stack counts once, even if the group recurs
 *            in it.
 */
#ifndef HWI_REPORT_CONTENT_GROUPS_H
#define HWI_REPORT_CONTENT_GROUPS_H

#include "report/names/named_frames.h"
#include "report/selection/selection.h"

struct hwi_group {
  const struct hwi_symbol *symbol; /* one of its frames; NULL: the stacks that are not known */
  uint32_t module;                 /* of that frame */
  struct hwi_amount self, total;
};

struct hwi_groups {
  struct hwi_group *items; /* the largest self cost first, then the largest total */
  uint32_t count;
};

/* The report's `by` is HWI_BY_FUNCTION, HWI_BY_FILE, HWI_BY_LINE or HWI_BY_MODULE. Returns 0 or a negative status. On
 * failure there is nothing to release. */
int hwi_groups_init(struct hwi_groups *groups, const struct hwi_report *report, const struct hwi_selection *selection,
                    const struct hwi_named_frames *frames, struct hwi_error *error);
void hwi_groups_release(struct hwi_groups *groups);

#endif
