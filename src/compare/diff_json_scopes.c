/* diff_json_scopes.c - a scope of both runs as JSON: its figures in each, and their changes */
#include "compare/row_text.h"
#include "compare/scope_rows.h"
#include "report/json/members.h"

static void write_side(struct hwi_json *json, const char *key, const struct hwi_diff_scope *scope)
{
  hwi_json_begin_object(json, key);
  hwi_json_figures(json, hwi_scope_figures, &scope->scope);
  hwi_json_figures(json, hwi_scope_sum_figures, &scope->sum);
  hwi_json_end_object(json);
}

void hwi_diff_json_scope(struct hwi_json *json, const struct hwi_comparison *comparison, const struct hwi_diff_row *row)
{
  const int side = hwi_diff_row_side(row);
  struct hwi_diff_scope scopes[HWI_SIDES];
  hwi_diff_scopes_of(scopes, comparison, row);
  hwi_json_scope_path(json, comparison->sides[side].report.profile, row->items[side]);
  hwi_json_begin_object(json, "scope");
  write_side(json, "old", &scopes[HWI_OLD]);
  write_side(json, "new", &scopes[HWI_NEW]);
  hwi_json_begin_object(json, "change");
  hwi_json_changes(json, hwi_scope_figures, &scopes[HWI_OLD].scope, &scopes[HWI_NEW].scope);
  hwi_json_changes(json, hwi_scope_sum_figures, &scopes[HWI_OLD].sum, &scopes[HWI_NEW].sum);
  hwi_json_end_object(json);
  hwi_json_end_object(json);
}
