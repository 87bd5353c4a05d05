/* groups.h - stacks grouped by function, source file, source line or module as a member of a JSON object */
#ifndef HWI_REPORT_JSON_GROUPS_H
#define HWI_REPORT_JSON_GROUPS_H

#include "report/groups.h"
#include "report/json/json.h"

/* Writes "by_function": [...] or another list, as options.by says, into the object begun last; nothing if options.by
 * is none of them. Returns 0 or a negative status. */
int hwi_json_groups(struct hwi_json *json, const struct hwi_report *report, const struct hwi_selection *selection,
                    const struct hwi_named_frames *frames, struct hwi_error *error);

/* A group's name: its function, file, line and module, those that distinguish it from other groups. */
struct hwi_json_group {
  enum hwi_by by;
  const struct hwi_symbol *symbol; /* NULL: not known */
  uint32_t module;
  bool has_line;
};
/* Adds these members to the object begun last. */
void hwi_json_group_name(struct hwi_json *json, const struct hwi_profile *profile, const struct hwi_json_group *group);

/* Returns how many of `count` rows are written. */
uint64_t hwi_json_rows(const struct hwi_report_options *options, uint64_t count);

#endif
