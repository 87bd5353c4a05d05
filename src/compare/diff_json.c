/* diff_json.c - a comparison as JSON: both runs' figures, and every changed row with both sides and the change */
#include "compare/compare.h"
#include "compare/duration_rows.h"
#include "compare/row_text.h"
#include "compare/scope_rows.h"
#include "report/content/evidence.h"
#include "report/json/frames.h"
#include "report/json/members.h"
#include "report/selection/entries.h"
#include "report/selection/figures.h"

#define SCHEMA "heapwright-diff/1"

struct writer {
  struct hwi_json json;
  struct hwi_comparison *comparison;
  struct hwi_json_frames frames[HWI_SIDES];
};

static const char *const side_keys[HWI_SIDES] = {"old", "new"};

static void write_run(struct hwi_json *json, const char *key, const struct hwi_profile *profile)
{
  struct hwi_evidence evidence = hwi_evidence_of(profile);
  hwi_json_begin_object(json, key);
  hwi_json_run(json, profile);
  hwi_json_number(json, "lost_events", evidence.lost_events);
  hwi_json_number(json, "truncated_stacks", evidence.truncated_stacks);
  hwi_json_number(json, "damaged_chunks", evidence.damaged_chunks);
  hwi_json_number(json, "missing_chunks", evidence.missing_chunks);
  hwi_json_end_object(json);
}

static void write_change(struct hwi_json *json, const struct hwi_amount amounts[HWI_SIDES])
{
  hwi_json_begin_object(json, "change");
  hwi_json_changes(json, hwi_amount_figures, &amounts[HWI_OLD], &amounts[HWI_NEW]);
  struct hwi_amount both = amounts[HWI_OLD];
  hwi_amount_add(&both, &amounts[HWI_NEW]); /* the variance of a difference is the sum of both */
  if (hwi_amount_is_estimate(&both))
    hwi_json_figures(json, hwi_amount_errors, &both);
  hwi_json_end_object(json);
}

/* Writes `old`, `new` and `change` of a row; in an object of its own if `key` is given. */
static void write_amounts(struct hwi_json *json, const char *key, const struct hwi_amount amounts[HWI_SIDES])
{
  if (key)
    hwi_json_begin_object(json, key);
  for (int side = 0; side < HWI_SIDES; side++) {
    hwi_json_amount_of(json, side_keys[side], &amounts[side]);
  }
  write_change(json, amounts);
  if (key)
    hwi_json_end_object(json);
}

static void write_group(struct writer *writer, const struct hwi_diff_row *row, int side)
{
  struct hwi_json *json = &writer->json;
  const struct hwi_compare_side *of = &writer->comparison->sides[side];
  const struct hwi_group *group = &of->groups.items[row->items[side]];
  const struct hwi_symbol *symbol = group->symbol;
  hwi_json_text(json, "function", symbol ? symbol->function : NULL);
  hwi_json_text(json, "file", symbol ? symbol->file : NULL);
  if (symbol && symbol->line > 0)
    hwi_json_number(json, "line", symbol->line);
  hwi_json_text(json, "module", group->module != 0 ? hwi_module_path(of->report.profile, group->module) : NULL);
}

/* Writes what the row is, with the names of NEW, or of OLD if only OLD has it. */
static void write_item(struct writer *writer, const struct hwi_diff_row *row)
{
  struct hwi_json *json = &writer->json;
  int side = hwi_diff_row_side(row);
  const struct hwi_profile *profile = writer->comparison->sides[side].report.profile;
  switch ((enum hwi_by)writer->comparison->options->report.by) {
  case HWI_BY_STACK:
    hwi_json_begin_array(json, "stack");
    hwi_json_frames_write(&writer->frames[side], json, row->items[side]);
    hwi_json_end_array(json);
    break;
  case HWI_BY_THREAD:
    hwi_json_text(json, "name", profile->threads[row->items[side]].name);
    break;
  case HWI_BY_ENTRY:
    hwi_json_text(json, "entry", hwi_entry_name(row->items[side]));
    break;
  case HWI_BY_SIZE:
    hwi_json_number(json, "size", profile->sizes[row->items[side]].size);
    break;
  case HWI_BY_SCOPE:
    hwi_diff_json_scope(json, writer->comparison, row);
    break;
  default:
    write_group(writer, row, side);
  }
}

static void write_row(struct writer *writer, const struct hwi_diff_row *row)
{
  static const char *const count_keys[HWI_SIDES] = {"old_items", "new_items"};
  struct hwi_json *json = &writer->json;
  hwi_json_begin_object(json, NULL);
  hwi_json_text(json, "match", hwi_diff_row_state(row, "both"));
  for (int side = 0; side < HWI_SIDES; side++)
    hwi_json_number(json, count_keys[side], row->item_counts[side]);
  write_amounts(json, NULL, row->amounts);
  if (hwi_comparison_has_totals(writer->comparison))
    write_amounts(json, "total", row->totals);
  write_item(writer, row);
  hwi_json_end_object(json);
  fputc('\n', json->out);
}

static void write_runs(struct writer *writer)
{
  struct hwi_json *json = &writer->json;
  const struct hwi_comparison *comparison = writer->comparison;
  for (int side = 0; side < HWI_SIDES; side++)
    write_run(json, side_keys[side], comparison->sides[side].report.profile);
  if (hwi_comparison_is_narrowed(comparison))
    write_amounts(json, "selected", comparison->all);
  write_change(json, comparison->all);
  if (comparison->options->suppressions)
    hwi_json_suppressions(json, comparison->options->suppressions);
}

static void write_rows(struct writer *writer)
{
  struct hwi_json *json = &writer->json;
  const struct hwi_comparison *comparison = writer->comparison;
  const struct hwi_report_options *options = &comparison->options->report;
  hwi_json_bool(json, "grew", hwi_comparison_grew(comparison));
  hwi_json_number(json, "changed", comparison->changed_count);
  hwi_json_number(json, "with_few_calls", comparison->few_calls_count);
  hwi_json_number(json, "below_threshold", comparison->below_count);
  bool all = options->top == HWI_TOP_DEFAULT || options->top == 0 || options->top > comparison->changed_count;
  size_t rows = all ? comparison->changed_count : (size_t)options->top;
  hwi_json_begin_array(json, "rows");
  for (size_t i = 0; i < rows; i++)
    write_row(writer, &comparison->rows[i]);
  hwi_json_end_array(json);
}

static int write_comparison(struct writer *writer, struct hwi_error *error)
{
  struct hwi_json *json = &writer->json;
  const struct hwi_comparison *comparison = writer->comparison;
  const struct hwi_report_options *options = &comparison->options->report;
  int status = HW_OK;
  hwi_json_begin_object(json, NULL);
  hwi_json_text(json, "schema", SCHEMA);
  if (!options->durations) {
    hwi_json_text(json, "cost", hwi_cost_names[comparison->cost]);
    hwi_json_text(json, "by", hwi_by_names[options->by]);
  }
  write_runs(writer);
  if (options->durations)
    status = hwi_diff_json_durations(json, comparison, error);
  else
    write_rows(writer);
  hwi_json_end_object(json);
  fputc('\n', json->out);
  return status;
}

int hwi_compare_json(struct hwi_comparison *comparison, FILE *out, struct hwi_error *error)
{
  struct writer writer = {.json = {.out = out, .first = true}, .comparison = comparison};
  int status = HW_OK, made = 0;
  for (; made < HWI_SIDES && status == HW_OK; made++)
    status = hwi_json_frames_init(&writer.frames[made], &comparison->sides[made].frames, error);
  if (status == HW_OK)
    status = write_comparison(&writer, error);
  if (status == HW_OK && writer.json.failed)
    status = hwi_error_set(error, HW_ERR_MEMORY, "no memory: the comparison is not complete");
  for (int side = 0; side < made; side++)
    hwi_json_frames_release(&writer.frames[side]);
  return status;
}
