/* scopes.c - what was allocated and freed in the scopes that the program marked */
#include "report/content/scopes.h"

#include <stdlib.h>

#define SCOPE(field) .off = offsetof(struct hwi_scope, field)
#define SUM(field) .off = offsetof(struct hwi_scope_sum, field)

const struct hwi_figure hwi_scope_figures[] = {
    {"instances", SCOPE(instances)},
    {"instances_left_open", SCOPE(left_open)},
    {"allocating_instances", SCOPE(allocating)},
    {"last_allocating_instance", SCOPE(last_allocating), .not_in_changes = true},
    {"max_duration_ns", SCOPE(max_ns)},
    {"max_net_bytes", SCOPE(peak_bytes)},
    {0},
};

/* clang-format off */
#define SUM_FIGURES(prefix)                                                \
  {prefix "duration_ns", SUM(duration_ns)},                                \
  {prefix "allocation_calls", SUM(amount.calls)},                          \
  {prefix "free_calls", SUM(free_calls)},                                  \
  {prefix "failed_calls", SUM(failed_calls)},                              \
  {prefix "temporary_calls", SUM(amount.temporary_calls)},                 \
  {prefix "allocated_bytes", SUM(amount.bytes)},                           \
  {prefix "net_bytes", SUM(net_bytes), .is_signed = true},                 \
  {prefix "net_blocks", SUM(net_blocks), .is_signed = true},               \
  {prefix "peak_bytes", SUM(amount.peak_bytes)},                           \
  {prefix "live_bytes_at_end", SUM(amount.live_bytes)},                    \
  {prefix "live_blocks_at_end", SUM(amount.live_blocks)}
/* clang-format on */

const struct hwi_figure hwi_scope_sum_figures[] = {SUM_FIGURES(""), {0}};
const struct hwi_figure hwi_scope_self_figures[] = {SUM_FIGURES("self_"), {0}};

static void add_sum(struct hwi_scope_sum *to, const struct hwi_scope_sum *sum)
{
  hwi_amount_add(&to->amount, &sum->amount);
  to->free_calls += sum->free_calls;
  to->net_blocks += sum->net_blocks;
  to->net_bytes += sum->net_bytes;
  to->failed_calls += sum->failed_calls;
}

struct hwi_scope_row *hwi_scope_rows(const struct hwi_profile *profile, const struct hwi_narrowing *filter)
{
  struct hwi_scope_row *rows = calloc((size_t)profile->scope_count + 1, sizeof *rows);
  struct hwi_amount *amounts = hwi_amounts_by_scope(profile, filter);
  struct hwi_amount *whole = hwi_amounts_by_scope(profile, &(struct hwi_narrowing){0});
  const bool done = rows && amounts && whole;
  for (uint32_t i = 1; done && i < profile->scope_count; i++) {
    const struct hwi_scope *scope = &profile->scopes[i];
    rows[i].self = (struct hwi_scope_sum){.amount = amounts[i],
                                          .free_calls = scope->free_calls,
                                          .net_blocks = whole[i].calls - scope->freed_blocks,
                                          .net_bytes = whole[i].bytes - scope->freed_bytes,
                                          .failed_calls = scope->failed_calls,
                                          .duration_ns = scope->self_ns};
    rows[i].all.duration_ns = scope->duration_ns;
  }
  for (uint32_t i = profile->scope_count; done && i-- > 1;) { /* an outer path has a smaller number */
    add_sum(&rows[i].all, &rows[i].self);
    if (profile->scopes[i].outer)
      add_sum(&rows[profile->scopes[i].outer].all, &rows[i].all);
  }
  if (!done) {
    free(rows);
    rows = NULL;
  }
  free(amounts);
  free(whole);
  return rows;
}

const char **hwi_scope_names(const struct hwi_profile *profile, uint32_t path)
{
  const char **names = calloc((size_t)profile->scopes[path].depth + 1, sizeof *names);
  for (; names && path; path = profile->scopes[path].outer)
    names[profile->scopes[path].depth - 1] = profile->scopes[path].name;
  return names;
}

const char *const hwi_instances_names[] = {"none", "cost", "longest", NULL};

enum hwi_instance_measure hwi_scope_measure(const struct hwi_report_options *options, enum hwi_cost cost)
{
  if (options->instances == HWI_INSTANCES_LONGEST)
    return HWI_INSTANCE_DURATION;
  switch (cost) {
  case HWI_COST_PEAK:
    return HWI_INSTANCE_PEAK;
  case HWI_COST_LIVE:
    return HWI_INSTANCE_NET;
  case HWI_COST_BYTES:
    return HWI_INSTANCE_BYTES;
  case HWI_COST_CALLS:
  case HWI_COST_TEMPORARY:
  case HWI_COST_DEFAULT:
    break;
  }
  return HWI_INSTANCE_CALLS;
}

void hwi_scope_path_add(struct hwi_line *line, const struct hwi_profile *profile, uint32_t path)
{
  const char **names = hwi_scope_names(profile, path);
  line->failed |= !names;
  for (uint32_t i = 0; names && i < profile->scopes[path].depth; i++) {
    hwi_line_puts(line, i > 0 ? " > " : "");
    hwi_line_puts(line, names[i]);
  }
  free(names);
}
