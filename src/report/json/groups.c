/* groups.c - stacks grouped by function, source file, source line or module as a member of a JSON object */
#include "report/json/groups.h"

#include "report/json/figures.h"

uint64_t hwi_json_rows(const struct hwi_report_options *options, uint64_t count)
{
  uint64_t top = options->top;
  return top == HWI_TOP_DEFAULT || top == 0 || top > count ? count : top;
}

void hwi_json_group_name(struct hwi_json *json, const struct hwi_profile *profile, const struct hwi_json_group *group)
{
  const struct hwi_symbol *symbol = group->symbol;
  if (group->by == HWI_BY_FUNCTION || group->by == HWI_BY_LINE)
    hwi_json_text(json, "function", symbol ? symbol->function : NULL);
  if (group->by != HWI_BY_MODULE)
    hwi_json_text(json, "file", symbol ? symbol->file : NULL);
  if (group->has_line && symbol && symbol->line > 0)
    hwi_json_number(json, "line", symbol->line);
  if (group->by == HWI_BY_FUNCTION && symbol && symbol->start != 0)
    hwi_json_number(json, "function_start", symbol->start);
  hwi_json_text(json, "module", group->module != 0 ? hwi_module_path(profile, group->module) : NULL);
}

static void write_group(struct hwi_json *json, const struct hwi_report *report, const struct hwi_group *group)
{
  const struct hwi_json_group name = {.by = (enum hwi_by)report->options.by,
                                      .symbol = group->symbol,
                                      .module = group->module,
                                      .has_line = report->options.by == HWI_BY_LINE};
  hwi_json_begin_object(json, NULL);
  hwi_json_group_name(json, report->profile, &name);
  hwi_json_amount_of(json, "self", &group->self);
  hwi_json_amount_of(json, "total", &group->total);
  hwi_json_end_object(json);
}

int hwi_json_groups(struct hwi_json *json, const struct hwi_report *report, const struct hwi_selection *selection,
                    const struct hwi_named_frames *frames, struct hwi_error *error)
{
  static const char *const keys[] = {"", "by_function", "by_file", "by_line", "by_module"};
  enum hwi_by by = (enum hwi_by)report->options.by;
  if (by == HWI_BY_STACK || by == HWI_BY_THREAD || by == HWI_BY_SIZE || by == HWI_BY_ENTRY)
    return HW_OK; /* these lists are in every report */
  struct hwi_groups groups;
  int status = hwi_groups_init(&groups, report, selection, frames, error);
  if (status < 0)
    return status;
  hwi_json_begin_array(json, keys[by]);
  uint64_t rows = hwi_json_rows(&report->options, groups.count);
  for (uint64_t row = 0; row < rows; row++)
    write_group(json, report, &groups.items[row]);
  hwi_json_end_array(json);
  hwi_groups_release(&groups);
  return HW_OK;
}
