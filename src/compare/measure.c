/* measure.c - the figure that a rule is about, in one run */
#include "compare/measure.h"

#include <stdlib.h>
#include <string.h>

#include "compare/rule_counter.h"
#include "report/content/durations.h"
#include "report/content/evidence.h"
#include "report/input/moment.h"
#include "report/selection/selection.h"

/* --- from the profile --- */

static bool is_in_profile(const struct hwi_budget *budget)
{
  return budget->metric != HWI_METRIC_OWN_PEAK && budget->metric != HWI_METRIC_FORBIDDEN &&
         hwi_metric_unit(budget->metric) != HWI_UNIT_NS && !hwi_budget_has(budget, HWI_FILTER_THREAD) &&
         !hwi_budget_has(budget, HWI_FILTER_SCOPE) && !hwi_budget_has(budget, HWI_FILTER_SIZE) &&
         !hwi_budget_has(budget, HWI_FILTER_FROM) && !hwi_budget_has(budget, HWI_FILTER_TO);
}

/* `rest`, if not 0, may contain any frames: only a rule about all stacks includes it. */
static void measure_stacks(struct hwi_measure *measure, const struct hwi_budget *budget,
                           const struct hwi_profile *profile, uint32_t rest)
{
  enum hwi_metric metric = budget->metric;
  if (rest != 0 && (budget->filter_count > 0 || hwi_metric_is_unfreed(metric))) {
    measure->filter.chosen[rest] = false;
    if (hwi_metric_of_stack(metric, &profile->stacks[rest]) > 0)
      measure->doubt = "a saved report leaves out stacks";
  }
  for (uint32_t i = 1; i < profile->stack_count; i++) {
    uint64_t part = hwi_metric_of_stack(metric, &profile->stacks[i]);
    measure->by_stack[i] = measure->filter.chosen[i] ? part : 0;
    measure->figure += measure->by_stack[i];
    measure->doubtful += measure->filter.doubtful[i] ? part : 0;
    measure->variance += measure->filter.chosen[i] ? hwi_metric_variance(metric, &profile->stacks[i]) : 0;
  }
  measure->is_estimate = measure->variance > 0;
}

/* In a sample, all calls of the run may be known, although those of its stacks are estimates. */
static void take_all_calls(struct hwi_measure *measure, const struct hwi_budget *budget,
                           const struct hwi_profile *profile)
{
  const bool is_of_calls = budget->metric == HWI_METRIC_CALLS || budget->metric == HWI_METRIC_BYTES;
  if (!profile->sample_bytes || !profile->calls_are_exact || !is_of_calls || budget->filter_count > 0)
    return;
  measure->figure =
      budget->metric == HWI_METRIC_CALLS ? profile->totals.allocation_calls : profile->totals.allocated_bytes;
  measure->is_estimate = false;
}

static void measure_from_profile(struct hwi_measure *measure, const struct hwi_budget *budget,
                                 const struct hwi_profile *profile, uint32_t rest)
{
  measure_stacks(measure, budget, profile, rest);
  take_all_calls(measure, budget, profile);
}

/* A free of an unknown block has no stack: only a rule about all stacks includes it. */
static int measure_breaches(struct hwi_measure *measure, const struct hwi_budget *budget,
                            const struct hwi_profile *profile, struct hwi_error *error)
{
  bool *scopes = hwi_budget_choose_scopes(budget, profile);
  if (!scopes)
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory for a rule about %u scopes", profile->scope_count);
  bool all_stacks = !hwi_budget_has(budget, HWI_FILTER_FUNC) && !hwi_budget_has(budget, HWI_FILTER_FILE) &&
                    !hwi_budget_has(budget, HWI_FILTER_MODULE);
  for (uint32_t i = 0; i < profile->breach_count; i++) {
    const struct hwi_breach *breach = &profile->breaches[i];
    if (!scopes[breach->scope])
      continue;
    uint64_t part = all_stacks || measure->filter.chosen[breach->stack] ? breach->calls : 0;
    measure->by_stack[breach->stack] += part;
    measure->figure += part;
    measure->doubtful += !part && measure->filter.doubtful[breach->stack] ? breach->calls : 0;
  }
  free(scopes);
  return HW_OK;
}

/* --- from a replay --- */

/* A counter for each rule, and one for the stacks that might also belong to it. They are unused (without shares) if the
 * profile has the rule's figure. */
struct counters {
  struct hwi_rule_counter *certain, *doubtful;
  const struct hwi_budgets *budgets;
  bool any;
};

static bool take(void *context, const struct hwi_block_event *event)
{
  struct counters *counters = context;
  for (size_t i = 0; i < counters->budgets->count; i++) {
    if (counters->certain[i].shares)
      hwi_rule_counter_take(&counters->certain[i], event);
    if (counters->doubtful[i].shares)
      hwi_rule_counter_take(&counters->doubtful[i], event);
  }
  return true;
}

static bool any(const bool *flags, uint32_t count)
{
  return memchr(flags, true, count);
}

static int begin_counter(struct counters *counters, size_t number, const struct hwi_measure *measure,
                         const struct hwi_profile *profile, struct hwi_error *error)
{
  const struct hwi_budget *budget = &counters->budgets->items[number];
  struct hwi_rule_counter *certain = &counters->certain[number], *doubtful = &counters->doubtful[number];
  int status = hwi_rule_counter_init(certain, budget, profile, measure->filter.chosen, error);
  if (status == HW_OK && any(measure->filter.doubtful, profile->stack_count))
    status = hwi_rule_counter_init(doubtful, budget, profile, measure->filter.doubtful, error);
  certain->from_ns = doubtful->from_ns = measure->from_ns;
  certain->to_ns = doubtful->to_ns = measure->to_ns;
  counters->any = true;
  return status;
}

static int end_counters(struct counters *counters, struct hwi_measure *measures, const struct hwi_profile *profile,
                        struct hwi_error *error)
{
  uint64_t *unused = calloc((size_t)profile->stack_count + 1, sizeof *unused);
  if (!unused)
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory for %u stacks", profile->stack_count);
  bool done = true;
  for (size_t i = 0; i < counters->budgets->count && done; i++) {
    struct hwi_measure *measure = &measures[i];
    if (counters->certain[i].shares)
      done = hwi_rule_counter_end(&counters->certain[i], measure->by_stack, &measure->figure);
    if (done && counters->doubtful[i].shares)
      done = hwi_rule_counter_end(&counters->doubtful[i], unused, &measure->doubtful);
    if (hwi_metric_unit(counters->budgets->items[i].metric) == HWI_UNIT_NS) /* durations do not add up */
      measure->doubtful = measure->doubtful > measure->figure ? measure->doubtful - measure->figure : 0;
  }
  free(unused);
  return done ? HW_OK : hwi_error_set(error, HW_ERR_MEMORY, "no memory for the durations of calls");
}

static int init_counters(struct counters *counters, const struct hwi_budgets *budgets, struct hwi_error *error)
{
  *counters = (struct counters){.budgets = budgets,
                                .certain = calloc(budgets->count + 1, sizeof *counters->certain),
                                .doubtful = calloc(budgets->count + 1, sizeof *counters->doubtful)};
  if (counters->certain && counters->doubtful)
    return HW_OK;
  return hwi_error_set(error, HW_ERR_MEMORY, "no memory for %zu rules", budgets->count);
}

static void release_counters(struct counters *counters)
{
  for (size_t i = 0; i < counters->budgets->count && counters->certain && counters->doubtful; i++) {
    hwi_rule_counter_release(&counters->certain[i]);
    hwi_rule_counter_release(&counters->doubtful[i]);
  }
  free(counters->certain);
  free(counters->doubtful);
}

/* --- all rules --- */

static int find_interval(struct hwi_measure *measure, const struct hwi_budget *budget,
                         const struct hwi_profile *profile, struct hwi_error *error)
{
  measure->to_ns = UINT64_MAX;
  int status = HW_OK;
  for (size_t i = 0; i < budget->filter_count && status == HW_OK; i++) {
    const struct hwi_filter *filter = &budget->filters[i];
    if (filter->kind == HWI_FILTER_FROM)
      status = hwi_moment_find(profile, filter->pattern, &measure->from_ns, error);
    else if (filter->kind == HWI_FILTER_TO)
      status = hwi_moment_find(profile, filter->pattern, &measure->to_ns, error);
  }
  if (status == HW_OK && measure->from_ns >= measure->to_ns)
    status = hwi_error_set(error, HW_ERR_USAGE, "it ends before it begins");
  if (status == HW_ERR_USAGE && error) {
    struct hwi_error why = *error;
    status = hwi_error_set(error, HW_ERR_USAGE, "rule '%.120s': %.330s", budget->text, why.text);
  }
  return status;
}

/* The recorder counts lost events. Events missing from a damaged trace are not included. */
static void doubt_lost(struct hwi_measure *measure, const struct hwi_profile *profile)
{
  struct hwi_evidence sum = hwi_evidence_of(profile);
  if (sum.damaged_chunks + sum.missing_chunks == 0)
    return;
  measure->doubt = "the trace is damaged";
  measure->at_least = true;
}

/* A part of the run that is unknown affects a rule if it is before the end of the rule's interval. */
static void find_doubt(struct hwi_measure *measure, const struct hwi_budget *budget, const struct hwi_profile *profile)
{
  const char *why;
  bool frees;
  uint64_t doubt_ns = hwi_moment_of_doubt(profile, &why, &frees);
  if (budget->metric == HWI_METRIC_LOST)
    doubt_lost(measure, profile);
  bool is_time = hwi_metric_unit(budget->metric) == HWI_UNIT_NS;
  if (is_time && !hwi_profile_is_timed(profile)) {
    measure->doubt = profile->heap ? "the program's own heaps have no durations"
                                   : "the recording has no durations (record --durations)";
    return;
  }
  bool is_over = measure->from_ns > profile->duration_ns && measure->from_ns != UINT64_MAX; /* UINT64_MAX is "end" */
  if (is_over) { /* a run that ended in its first second does not show that its tenth second keeps the budget */
    measure->doubt = "the run ended before the rule's part of it";
    measure->at_least = true;
    return;
  }
  if (budget->metric == HWI_METRIC_LOST || doubt_ns >= measure->to_ns)
    return;
  bool held = budget->metric != HWI_METRIC_CALLS && budget->metric != HWI_METRIC_BYTES &&
              budget->metric != HWI_METRIC_TEMPORARY && budget->metric != HWI_METRIC_FAILED &&
              budget->metric != HWI_METRIC_FORBIDDEN;
  measure->doubt = why;
  if (is_time) {
    measure->at_least = hwi_budget_is_of_longest(budget);
    return;
  }
  measure->at_least = frees || !held || budget->metric == HWI_METRIC_PEAK || budget->metric == HWI_METRIC_OWN_PEAK;
}

static int prepare(struct hwi_measure *measure, const struct hwi_budget *budget, struct hwi_measured_run *run,
                   struct hwi_error *error)
{
  const struct hwi_profile *profile = run->profile;
  int status = find_interval(measure, budget, profile, error);
  if (status == HW_OK)
    status = hwi_frame_filter_init(&measure->filter, budget, &run->filtered, error);
  if (status < 0)
    return status;
  measure->by_stack = calloc((size_t)profile->stack_count + 1, sizeof *measure->by_stack);
  if (!measure->by_stack)
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory for a rule about %u stacks", profile->stack_count);
  find_doubt(measure, budget, profile);
  return HW_OK;
}

int hwi_measure_all(struct hwi_measure *measures, const struct hwi_budgets *budgets, struct hwi_measured_run *run,
                    struct hwi_error *error)
{
  const struct hwi_profile *profile = run->profile;
  struct counters counters;
  int status = init_counters(&counters, budgets, error);
  for (size_t i = 0; i < budgets->count && status == HW_OK; i++) {
    const struct hwi_budget *budget = &budgets->items[i];
    if (run->is_baseline && budget->limit.kind == HWI_LIMIT_FIGURE)
      continue;
    status = prepare(&measures[i], budget, run, error);
    if (status < 0)
      break;
    if (budget->metric == HWI_METRIC_LOST)
      measures[i].figure = hwi_evidence_of(profile).lost_events;
    else if (is_in_profile(budget))
      measure_from_profile(&measures[i], budget, profile, run->rest);
    else if (!run->replayer.run)
      status = hwi_error_set(error, HW_ERR_USAGE,
                             "rule '%.150s' is about more than a saved report knows: give the baseline's recording",
                             budget->text);
    else if (budget->metric == HWI_METRIC_FORBIDDEN)
      status = measure_breaches(&measures[i], budget, profile, error);
    else
      status = begin_counter(&counters, i, &measures[i], profile, error);
    if (!is_in_profile(budget))
      measures[i].is_estimate =
          profile->sample_bytes && budget->metric != HWI_METRIC_LOST && budget->metric != HWI_METRIC_FAILED;
  }
  if (status == HW_OK && counters.any) {
    const struct hwi_block_sink sink = {.take = take, .context = &counters};
    status = run->replayer.run(run->replayer.context, &sink, error);
    if (status == HW_OK)
      status = end_counters(&counters, measures, profile, error);
  }
  release_counters(&counters);
  return status;
}

void hwi_measure_release(struct hwi_measure *measure)
{
  free(measure->by_stack);
  hwi_frame_filter_release(&measure->filter);
  *measure = (struct hwi_measure){0};
}
