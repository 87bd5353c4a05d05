/* scopes.c - the scopes that the program marked, as a member of a JSON object */
#include "report/content/scopes.h"

#include <inttypes.h>
#include <stdlib.h>

#include "report/json/members.h"
#include "report/selection/figures.h"

/* --- instances --- */

static void write_detail(struct hwi_json *json, const struct hwi_instance *instance)
{
  const struct hwi_instance_detail *detail = instance->detail;
  hwi_json_begin_object(json, "sizes");
  for (uint32_t i = 0; i < detail->size_count; i++) {
    char size[24];
    snprintf(size, sizeof size, "%" PRIu64, detail->sizes[i].size);
    hwi_json_signed(json, size, detail->sizes[i].blocks);
  }
  hwi_json_end_object(json);
  if (detail->has_others) {
    hwi_json_begin_object(json, "other_sizes");
    hwi_json_signed(json, "blocks", detail->other_blocks);
    hwi_json_signed(json, "bytes", detail->other_bytes);
    hwi_json_end_object(json);
  }
  hwi_json_signed(json, "total_bytes", detail->self_bytes);
  hwi_json_signed(json, "children_bytes", hwi_instance_inside_bytes(instance));
}

static void write_instance(struct hwi_json *json, const struct hwi_profile *profile,
                           const struct hwi_instance *instance)
{
  const struct hwi_profile_thread *thread = &profile->threads[instance->thread];
  hwi_json_begin_object(json, NULL);
  hwi_json_text(json, "thread", thread->name);
  hwi_json_number(json, "tid", thread->tid);
  hwi_json_number(json, "number", instance->sequence);
  if (instance->op == HW_SCOPE_BEGIN_NUMBER)
    hwi_json_number(json, "value", instance->value);
  else if (instance->op == HW_SCOPE_BEGIN_TEXT)
    hwi_json_text(json, "text", instance->detail->text);
  hwi_json_number(json, "begin_ns", instance->begin_ns);
  hwi_json_number(json, "duration_ns", instance->duration_ns);
  hwi_json_number(json, "allocation_calls", instance->calls);
  hwi_json_number(json, "allocated_bytes", instance->bytes);
  hwi_json_number(json, "max_net_bytes", instance->peak_bytes);
  write_detail(json, instance);
  hwi_json_end_object(json);
}

static void write_worst(struct hwi_json *json, const struct hwi_report *report, const struct hwi_scope *scope)
{
  enum hwi_cost cost = hwi_report_cost(&report->options, report->profile);
  const struct hwi_worst *worst = scope->worst ? &scope->worst[hwi_scope_measure(&report->options, cost)] : NULL;
  hwi_json_begin_array(json, "worst");
  for (uint32_t i = 0; worst && i < worst->count; i++)
    if (worst->items[i].detail)
      write_instance(json, report->profile, &worst->items[i]);
  hwi_json_end_array(json);
}

/* --- paths --- */

void hwi_json_scope_path(struct hwi_json *json, const struct hwi_profile *profile, uint32_t path)
{
  const char **names = hwi_scope_names(profile, path);
  json->failed |= !names;
  hwi_json_begin_array(json, "path");
  for (uint32_t i = 0; names && i < profile->scopes[path].depth; i++)
    hwi_json_text(json, NULL, names[i]);
  hwi_json_end_array(json);
  free(names);
}

static void write_scope(struct hwi_json *json, const struct hwi_report *report, uint32_t path,
                        const struct hwi_scope_row *row)
{
  const struct hwi_profile *profile = report->profile;
  const struct hwi_scope *scope = &profile->scopes[path];
  hwi_json_begin_object(json, NULL);
  hwi_json_scope_path(json, profile, path);
  hwi_json_figures(json, hwi_scope_figures, scope);
  hwi_json_figures(json, hwi_scope_sum_figures, &row->all);
  hwi_json_begin_object(json, "self");
  hwi_json_figures(json, hwi_scope_sum_figures, &row->self);
  hwi_json_end_object(json);
  if (report->options.instances != HWI_INSTANCES_NONE)
    write_worst(json, report, scope);
  hwi_json_end_object(json);
}

/* Writes the names of the scopes that begin and end as stacks tell. */
static void write_rules(struct hwi_json *json, const struct hwi_scope_chains *chains)
{
  hwi_json_begin_array(json, "scope_rules");
  for (uint32_t i = 0; i < chains->rule_count; i++)
    hwi_json_text(json, NULL, chains->names[i]);
  hwi_json_end_array(json);
}

void hwi_json_scopes(struct hwi_json *json, const struct hwi_report *report, const struct hwi_narrowing *filter)
{
  const struct hwi_profile *profile = report->profile;
  if (profile->chains)
    write_rules(json, profile->chains);
  if (profile->scope_count <= 1)
    return;
  struct hwi_scope_row *rows = hwi_scope_rows(profile, filter);
  json->failed |= !rows;
  hwi_json_begin_array(json, "scopes");
  for (uint32_t i = 1; rows && i < profile->scope_count; i++)
    write_scope(json, report, i, &rows[i]);
  hwi_json_end_array(json);
  free(rows);
}

static void write_breach(struct hwi_json *json, const struct hwi_profile *profile, const struct hwi_breach *breach)
{
  hwi_json_text(json, "call", breach->is_free ? "free" : "allocation");
  hwi_json_number(json, "calls", breach->calls);
  hwi_json_number(json, "bytes", breach->bytes);
  hwi_json_number(json, "first_ns", breach->first_ns);
  hwi_json_number(json, "first_instance", breach->first_instance);
  hwi_json_text(json, "first_thread", profile->threads[breach->first_thread].name);
}

void hwi_json_breaches(struct hwi_json *json, const struct hwi_profile *profile, const struct hwi_json_stacks *stacks)
{
  if (profile->breach_count == 0)
    return;
  hwi_json_begin_array(json, "forbidden");
  for (uint32_t i = 0; i < profile->breach_count; i++) {
    hwi_json_begin_object(json, NULL);
    hwi_json_scope_path(json, profile, profile->breaches[i].scope);
    write_breach(json, profile, &profile->breaches[i]);
    if (profile->breaches[i].stack)
      stacks->write(stacks->context, json, profile->breaches[i].stack);
    hwi_json_end_object(json);
  }
  hwi_json_end_array(json);
}
