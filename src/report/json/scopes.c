/* scopes.c - the scopes that the program marked, as a member of a JSON object */
#include "report/content/scopes.h"

#include <stdlib.h>

#include "report/json/members.h"

static void write_sum(struct hwi_json *json, const struct hwi_scope_sum *sum)
{
  hwi_json_number(json, "duration_ns", sum->duration_ns);
  hwi_json_number(json, "allocation_calls", sum->amount.calls);
  hwi_json_number(json, "free_calls", sum->free_calls);
  hwi_json_number(json, "failed_calls", sum->failed_calls);
  hwi_json_number(json, "temporary_calls", sum->amount.temporary_calls);
  hwi_json_number(json, "allocated_bytes", sum->amount.bytes);
  hwi_json_signed(json, "net_bytes", hwi_scope_net_bytes(sum));
  hwi_json_signed(json, "net_blocks", hwi_scope_net_blocks(sum));
  hwi_json_number(json, "peak_bytes", sum->amount.peak_bytes);
  hwi_json_number(json, "live_bytes_at_end", sum->amount.live_bytes);
  hwi_json_number(json, "live_blocks_at_end", sum->amount.live_blocks);
}

static void write_path(struct hwi_json *json, const struct hwi_profile *profile, uint32_t path, const char **names)
{
  hwi_json_begin_array(json, "path");
  hwi_scope_path(profile, path, names);
  for (uint32_t i = 0; i < profile->scopes[path].depth; i++)
    hwi_json_text(json, NULL, names[i]);
  hwi_json_end_array(json);
}

static void write_scope(struct hwi_json *json, const struct hwi_profile *profile, uint32_t path, const char **names,
                        const struct hwi_scope_row *row)
{
  const struct hwi_scope *scope = &profile->scopes[path];
  hwi_json_begin_object(json, NULL);
  write_path(json, profile, path, names);
  hwi_json_number(json, "instances", scope->instances);
  hwi_json_number(json, "instances_left_open", scope->left_open);
  hwi_json_number(json, "allocating_instances", scope->allocating);
  hwi_json_number(json, "last_allocating_instance", scope->last_allocating);
  hwi_json_number(json, "max_duration_ns", scope->max_ns);
  hwi_json_number(json, "max_net_bytes", scope->peak_bytes);
  write_sum(json, &row->all);
  hwi_json_begin_object(json, "self");
  write_sum(json, &row->self);
  hwi_json_end_object(json);
  hwi_json_end_object(json);
}

/* Returns room for the names of any path, or NULL if there is no memory. */
static const char **make_names(const struct hwi_profile *profile)
{
  uint32_t deepest = 0;
  for (uint32_t i = 1; i < profile->scope_count; i++)
    deepest = profile->scopes[i].depth > deepest ? profile->scopes[i].depth : deepest;
  return calloc((size_t)deepest + 1, sizeof(const char *));
}

void hwi_json_scopes(struct hwi_json *json, const struct hwi_profile *profile, const struct hwi_narrowing *filter)
{
  if (profile->scope_count <= 1)
    return;
  struct hwi_scope_row *rows = hwi_scope_rows(profile, filter);
  const char **names = make_names(profile);
  json->failed |= !rows || !names;
  hwi_json_begin_array(json, "scopes");
  for (uint32_t i = 1; rows && names && i < profile->scope_count; i++)
    write_scope(json, profile, i, names, &rows[i]);
  hwi_json_end_array(json);
  free(rows);
  free(names);
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
  const char **names = make_names(profile);
  json->failed |= !names;
  hwi_json_begin_array(json, "forbidden");
  for (uint32_t i = 0; names && i < profile->breach_count; i++) {
    hwi_json_begin_object(json, NULL);
    write_path(json, profile, profile->breaches[i].scope, names);
    write_breach(json, profile, &profile->breaches[i]);
    if (profile->breaches[i].stack)
      stacks->write(stacks->context, json, profile->breaches[i].stack);
    hwi_json_end_object(json);
  }
  hwi_json_end_array(json);
  free(names);
}
