/* budget.c - reads rules: METRIC[(FILTER,...)]=LIMIT */
#include "compare/budget.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size_text.h"
#include "report/content/durations.h"
#include "report/input/quantities.h"
#include "report/input/suggest.h"
#include "report/input/text_file.h"
#include "report/selection/entries.h"
#include "report/selection/name_pattern.h"
#include "trace/grow.h"

const char *const hwi_filter_names[HWI_FILTER_KINDS] = {"func", "file", "module", "thread", "scope",
                                                        "size", "from", "to",     "entry"};

#define OF_STACK(field) offsetof(struct hwi_stack, field)

static const struct {
  const char *name; /* a duration has the name of its figure */
  enum hwi_unit unit;
  bool takes_filters;
  size_t off; /* in struct hwi_stack, if a profile has it by stack */
} metrics[] = {
    [HWI_METRIC_PEAK] = {"peak", HWI_UNIT_BYTES, true, OF_STACK(peak_bytes)},
    [HWI_METRIC_OWN_PEAK] = {"own_peak", HWI_UNIT_BYTES, true},
    [HWI_METRIC_LIVE] = {"live", HWI_UNIT_BYTES, true, OF_STACK(live_bytes)},
    [HWI_METRIC_LIVE_BLOCKS] = {"live_blocks", HWI_UNIT_COUNT, true, OF_STACK(live_blocks)},
    [HWI_METRIC_UNFREED] = {"unfreed", HWI_UNIT_BYTES, true, OF_STACK(live_bytes)},
    [HWI_METRIC_UNFREED_BLOCKS] = {"unfreed_blocks", HWI_UNIT_COUNT, true, OF_STACK(live_blocks)},
    [HWI_METRIC_CALLS] = {"calls", HWI_UNIT_COUNT, true, OF_STACK(calls)},
    [HWI_METRIC_BYTES] = {"bytes", HWI_UNIT_BYTES, true, OF_STACK(bytes)},
    [HWI_METRIC_TEMPORARY] = {"temporary", HWI_UNIT_COUNT, true, OF_STACK(temporary_calls)},
    [HWI_METRIC_FAILED] = {"failed", HWI_UNIT_COUNT, true, OF_STACK(failed_calls)},
    [HWI_METRIC_FORBIDDEN] = {"forbidden", HWI_UNIT_COUNT, true},
    [HWI_METRIC_LOST] = {"lost", HWI_UNIT_COUNT, false},
    [HWI_METRIC_DURATION] = {NULL, HWI_UNIT_NS, true},
};

bool hwi_metric_is_unfreed(enum hwi_metric metric)
{
  return metric == HWI_METRIC_UNFREED || metric == HWI_METRIC_UNFREED_BLOCKS;
}

enum hwi_unit hwi_metric_unit(enum hwi_metric metric)
{
  return metrics[metric].unit;
}

uint64_t hwi_metric_of_stack(enum hwi_metric metric, const struct hwi_stack *stack)
{
  return *(const uint64_t *)((const char *)stack + metrics[metric].off);
}

double hwi_metric_variance(enum hwi_metric metric, const struct hwi_stack *stack)
{
  const struct hwi_variance *variance = &stack->variance;
  switch (metric) {
  case HWI_METRIC_PEAK:
    return variance->peak_bytes;
  case HWI_METRIC_LIVE:
  case HWI_METRIC_UNFREED:
    return variance->live_bytes;
  case HWI_METRIC_LIVE_BLOCKS:
  case HWI_METRIC_UNFREED_BLOCKS:
    return variance->live_blocks;
  case HWI_METRIC_CALLS:
    return variance->calls;
  case HWI_METRIC_BYTES:
    return variance->bytes;
  case HWI_METRIC_TEMPORARY:
    return variance->temporary_calls;
  default:
    return 0;
  }
}

const char *hwi_budget_figure_name(const struct hwi_budget *budget)
{
  return budget->metric == HWI_METRIC_DURATION ? budget->duration->metric : metrics[budget->metric].name;
}

bool hwi_budget_is_of_longest(const struct hwi_budget *budget)
{
  return budget->metric == HWI_METRIC_DURATION && strcmp(budget->duration->key, "max_ns") == 0;
}

bool hwi_budget_has(const struct hwi_budget *budget, enum hwi_filter_kind kind)
{
  for (size_t i = 0; i < budget->filter_count; i++) {
    if (budget->filters[i].kind == kind)
      return true;
  }
  return false;
}

static bool names_scope(const struct hwi_budget *budget, const char *name)
{
  for (size_t i = 0; i < budget->filter_count; i++) {
    const struct hwi_filter *filter = &budget->filters[i];
    if (filter->kind == HWI_FILTER_SCOPE && hwi_scope_matches(filter->pattern, name))
      return true;
  }
  return false;
}

/* A path is chosen with every scope in it. Paths outward of it have smaller numbers. */
bool *hwi_budget_choose_scopes(const struct hwi_budget *budget, const struct hwi_profile *profile)
{
  bool *chosen = calloc((size_t)profile->scope_count + 1, sizeof *chosen);
  if (!chosen)
    return NULL;
  chosen[0] = !hwi_budget_has(budget, HWI_FILTER_SCOPE);
  for (uint32_t i = 1; i < profile->scope_count; i++)
    chosen[i] = chosen[profile->scopes[i].outer] || names_scope(budget, profile->scopes[i].name);
  return chosen;
}

/* --- errors --- */

static int wrong(const struct hwi_budget *budget, const char *what, const char *text, struct hwi_error *error)
{
  return hwi_error_set(error, HW_ERR_USAGE, "rule '%.150s': %s '%.100s'", budget->text, what, text);
}

static int unknown(const struct hwi_budget *budget, const char *what, const struct hwi_suggestion *suggestion,
                   const char *known, struct hwi_error *error)
{
  if (suggestion->best)
    return hwi_error_set(error, HW_ERR_USAGE, "rule '%.150s': there is no %s '%.60s'; did you mean '%s'?", budget->text,
                         what, suggestion->word, suggestion->best);
  return hwi_error_set(error, HW_ERR_USAGE, "rule '%.150s': there is no %s '%.60s'; there are %s", budget->text, what,
                       suggestion->word, known);
}

/* --- the parts --- */

static int unknown_metric(const struct hwi_budget *budget, const struct hwi_suggestion *suggestion,
                          struct hwi_error *error)
{
  static const char prefix[] = "duration"; /* it is written once */
  struct hwi_line known = {0};
  for (int i = 0; i < HWI_METRIC_DURATION; i++)
    hwi_line_printf(&known, "%s, ", metrics[i].name);
  hwi_line_puts(&known, prefix);
  const char *separator = "";
  for (const struct hwi_figure *figure = hwi_duration_figures; figure->key; figure++) {
    if (!figure->metric)
      continue;
    hwi_line_printf(&known, "%s%s", separator, figure->metric + sizeof prefix - 1);
    separator = ", ";
  }
  int status = unknown(budget, "figure", suggestion, hwi_line_text(&known), error);
  hwi_line_release(&known);
  return status;
}

static int parse_metric(struct hwi_budget *budget, const char *name, struct hwi_error *error)
{
  struct hwi_suggestion suggestion;
  hwi_suggestion_init(&suggestion, name, strlen(name));
  for (int i = 0; i < HWI_METRIC_DURATION; i++) {
    hwi_suggestion_offer(&suggestion, metrics[i].name);
    if (strcmp(metrics[i].name, name) == 0) {
      budget->metric = (enum hwi_metric)i;
      return HW_OK;
    }
  }
  for (const struct hwi_figure *figure = hwi_duration_figures; figure->key; figure++) {
    if (!figure->metric)
      continue;
    hwi_suggestion_offer(&suggestion, figure->metric);
    if (strcmp(figure->metric, name) == 0) {
      budget->metric = HWI_METRIC_DURATION;
      budget->duration = figure;
      return HW_OK;
    }
  }
  return unknown_metric(budget, &suggestion, error);
}

/* Returns whether a filter begins at `text`: letters, then '='. Patterns may contain commas: "func=f(int, int)". */
static bool begins_filter(const char *text)
{
  size_t letters = strspn(text, "abcdefghijklmnopqrstuvwxyz");
  return letters > 0 && text[letters] == '=' && text[letters + 1] != '=';
}

static bool is_some_entry(const char *pattern)
{
  int entry = HW_ENTRY_NONE + 1;
  while (entry < HW_ENTRY_COUNT && !hwi_function_matches(pattern, hwi_entry_name((uint32_t)entry)))
    entry++;
  return entry < HW_ENTRY_COUNT;
}

static int parse_filter(struct hwi_budget *budget, char *text, struct hwi_error *error)
{
  char *equals = strchr(text, '=');
  if (!begins_filter(text))
    return wrong(budget, "a filter is KIND=PATTERN, not", text, error);
  *equals = '\0';
  if (budget->filter_count == HWI_FILTERS_MAX)
    return wrong(budget, "has too many filters, from", text, error);
  struct hwi_suggestion suggestion;
  hwi_suggestion_init(&suggestion, text, strlen(text));
  struct hwi_filter *filter = &budget->filters[budget->filter_count];
  for (int kind = 0; kind < HWI_FILTER_KINDS; kind++) {
    hwi_suggestion_offer(&suggestion, hwi_filter_names[kind]);
    if (strcmp(hwi_filter_names[kind], text) != 0)
      continue;
    *filter = (struct hwi_filter){.kind = (enum hwi_filter_kind)kind, .pattern = equals + 1};
    if (equals[1] == '\0')
      return wrong(budget, "has no pattern for", text, error);
    if (kind == HWI_FILTER_SIZE && !hwi_size_range_parse(filter->pattern, &filter->smallest, &filter->largest))
      return wrong(budget, "size takes N, N..M, N.. or ..M, not", equals + 1, error);
    if (kind == HWI_FILTER_ENTRY && !is_some_entry(equals + 1))
      return wrong(budget, "entry takes what a report calls an entry point, such as malloc or 'operator new*', not",
                   equals + 1, error);
    if ((kind == HWI_FILTER_FROM || kind == HWI_FILTER_TO) && hwi_budget_has(budget, (enum hwi_filter_kind)kind))
      return wrong(budget, "has twice", text, error);
    budget->filter_count++;
    return HW_OK;
  }
  return unknown(budget, "filter", &suggestion, "func, file, module, thread, scope, size, from, to, entry", error);
}

static int parse_filters(struct hwi_budget *budget, char *text, struct hwi_error *error)
{
  int status = HW_OK;
  for (char *at = text, *next; at && status == HW_OK; at = next) {
    next = strchr(at, ',');
    while (next && !begins_filter(next + 1))
      next = strchr(next + 1, ',');
    if (next)
      *next++ = '\0';
    status = parse_filter(budget, at, error);
  }
  return status;
}

/* Parses a whole number with a unit of sizes, or any number without a unit: 200MB, 0, 1e6, 1.5e3. */
static bool parse_figure(const char *text, uint64_t *figure)
{
  if (hwi_size_parse(text, figure))
    return true;
  if (*text == '\0' || strspn(text, "0123456789.eE+") != strlen(text) || !strchr("0123456789", *text))
    return false;
  char *end;
  errno = 0;
  double value = strtod(text, &end);
  if (errno != 0 || *end != '\0' || value >= 0x1p63)
    return false;
  *figure = (uint64_t)nearbyint(value);
  return true;
}

static int parse_limit(struct hwi_budget *budget, const char *text, struct hwi_error *error)
{
  bool is_time = hwi_metric_unit(budget->metric) == HWI_UNIT_NS;
  struct hwi_limit *limit = &budget->limit;
  bool relative = *text == '+' || *text == '-';
  limit->less = *text == '-';
  if (relative && hwi_percent_parse(text + 1, &limit->percent)) {
    limit->kind = HWI_LIMIT_PERCENT;
    limit->percent = limit->less ? -limit->percent : limit->percent;
    return HW_OK;
  }
  limit->kind = relative ? HWI_LIMIT_CHANGE : HWI_LIMIT_FIGURE;
  if (is_time ? hwi_duration_parse(text + relative, &limit->figure) : parse_figure(text + relative, &limit->figure))
    return HW_OK;
  if (is_time)
    return wrong(budget, "a limit is a duration such as 10us, or against --baseline +5% or +1us, not", text, error);
  return wrong(budget, "a limit is a number such as 200MB or 1e6, or against --baseline +5% or +1MB, not", text, error);
}

/* --- a rule --- */

/* Returns the '=' before the limit: the one after the last ")" that is followed by '=', else the first '='. */
static char *find_limit(char *text)
{
  char *found = NULL;
  if (!strchr(text, '('))
    return strchr(text, '=');
  for (char *at = text; (at = strstr(at, ")=")); at++)
    found = at + 1;
  return found;
}

/* Whether it has other filters than those for breaches of forbidden zones. */
static bool is_narrowed_otherwise(const struct hwi_budget *budget)
{
  return hwi_budget_has(budget, HWI_FILTER_THREAD) || hwi_budget_has(budget, HWI_FILTER_SIZE) ||
         hwi_budget_has(budget, HWI_FILTER_FROM) || hwi_budget_has(budget, HWI_FILTER_TO);
}

static int parse(struct hwi_budget *budget, struct hwi_error *error)
{
  char *equals = find_limit(budget->copy);
  if (!equals)
    return wrong(budget, "a rule is FIGURE=LIMIT or FIGURE(FILTER,...)=LIMIT, not", budget->text, error);
  *equals = '\0';
  char *filters = strchr(budget->copy, '(');
  if (filters) {
    *filters++ = '\0';
    equals[-1] = '\0'; /* the ")" */
  }
  int status = parse_metric(budget, budget->copy, error);
  if (status == HW_OK && filters)
    status = parse_filters(budget, filters, error);
  if (status == HW_OK && budget->filter_count > 0 && !metrics[budget->metric].takes_filters)
    status = wrong(budget, "takes no filter:", hwi_budget_figure_name(budget), error);
  if (status == HW_OK && hwi_budget_has(budget, HWI_FILTER_ENTRY) && metrics[budget->metric].unit != HWI_UNIT_NS)
    status =
        wrong(budget, "only how long calls took can be narrowed by entry=, not", hwi_budget_figure_name(budget), error);
  if (status == HW_OK && budget->metric == HWI_METRIC_FORBIDDEN && is_narrowed_otherwise(budget))
    status =
        wrong(budget, "can only be narrowed by func, file, module and scope:", hwi_budget_figure_name(budget), error);
  return status == HW_OK ? parse_limit(budget, equals + 1, error) : status;
}

int hwi_budgets_add(struct hwi_budgets *budgets, const char *text, struct hwi_error *error)
{
  if (!hwi_grow((void **)&budgets->items, &budgets->room, budgets->count + 1, sizeof *budgets->items))
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory for another rule");
  struct hwi_budget *budget = &budgets->items[budgets->count];
  *budget = (struct hwi_budget){.text = text, .copy = strdup(text)};
  if (!budget->copy)
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory for another rule");
  budgets->count++;
  return parse(budget, error);
}

int hwi_budgets_read(struct hwi_budgets *budgets, const char *path, struct hwi_error *error)
{
  int status = hwi_text_file_read(path, &budgets->file_text, error);
  for (char *at = budgets->file_text, *next; at && status == HW_OK; at = next) {
    next = hwi_text_file_line(&at);
    if (*at != '\0' && *at != '#')
      status = hwi_budgets_add(budgets, at, error);
  }
  return status;
}

void hwi_budgets_release(struct hwi_budgets *budgets)
{
  for (size_t i = 0; i < budgets->count; i++)
    free(budgets->items[i].copy);
  free(budgets->items);
  free(budgets->file_text);
  *budgets = (struct hwi_budgets){0};
}
