/* check.c - whether a run keeps its budgets */
#include "compare/check.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "compare/blame.h"
#include "profile/blocks/sample.h"
#include "report/selection/leaks.h"
#include "report/selection/selection.h"
#include "report/words/line.h"
#include "report/words/number.h"

static struct hwi_number figure_text(const struct hwi_verdict *verdict, uint64_t figure)
{
  switch (hwi_metric_unit(verdict->budget->metric)) {
  case HWI_UNIT_BYTES:
    return hwi_bytes_text(figure);
  case HWI_UNIT_NS:
    return hwi_short_time_text(figure);
  case HWI_UNIT_COUNT:
    break;
  }
  return hwi_count_text(figure);
}

/* --- limits --- */

static uint64_t limit_of(const struct hwi_limit *limit, uint64_t baseline)
{
  switch (limit->kind) {
  case HWI_LIMIT_FIGURE:
    break;
  case HWI_LIMIT_CHANGE:
    if (limit->less)
      return baseline > limit->figure ? baseline - limit->figure : 0;
    return baseline + limit->figure < baseline ? UINT64_MAX : baseline + limit->figure;
  case HWI_LIMIT_PERCENT: {
    double figure = floor((double)baseline * (1 + limit->percent / 100));
    return figure <= 0 ? 0 : figure >= 0x1p64 ? UINT64_MAX : (uint64_t)figure;
  }
  }
  return limit->figure;
}

/* --- verdicts --- */

static void set_unknown(struct hwi_verdict *verdict, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void set_unknown(struct hwi_verdict *verdict, const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  verdict->state = HWI_VERDICT_UNKNOWN;
  free(verdict->why);
  if (vasprintf(&verdict->why, format, arguments) < 0)
    verdict->why = NULL;
  va_end(arguments);
}

static void judge(struct hwi_verdict *verdict, const struct hwi_measure *base, const struct hwi_profile *profile)
{
  const struct hwi_measure *measure = verdict->measure;
  bool relative = verdict->budget->limit.kind != HWI_LIMIT_FIGURE;
  bool exceeds = measure->figure > verdict->limit;
  verdict->state = exceeds ? HWI_VERDICT_FAILED : HWI_VERDICT_OK;
  if (measure->doubt && !(exceeds && measure->at_least)) {
    set_unknown(verdict, "%s: what is not in the recording may %s", measure->doubt,
                exceeds ? "have made it less" : "exceed the limit");
  } else if (!exceeds && measure->figure + measure->doubtful > verdict->limit) {
    const char *module = hwi_module_path(profile, measure->filter.missing_module);
    set_unknown(verdict, "%s more are in code of %s, whose names are missing",
                figure_text(verdict, measure->doubtful).text, hwi_base_name(module));
  } else if (relative && base->doubt && exceeds) {
    set_unknown(verdict, "not all of the baseline is known: %s", base->doubt);
  } else if (relative && base->doubtful > 0 && exceeds) {
    set_unknown(verdict, "%s more of the baseline are in code whose names are missing",
                figure_text(verdict, base->doubtful).text);
  }
}

static int add_notes(struct hwi_verdict *verdict, struct hwi_error *error)
{
  static const char *const nouns[] = {"function", "source file", "module", "thread"};
  const struct hwi_frame_filter *filter = &verdict->measure->filter;
  for (size_t i = 0; i < verdict->budget->filter_count; i++) {
    if (filter->patterns[i].matched)
      continue;
    const struct hwi_filter *asked = &verdict->budget->filters[i];
    const struct hwi_line *line = &filter->patterns[i].nearest;
    const char *nearest = line->bytes > 0 ? hwi_line_text(line) : NULL;
    char *note;
    if (asprintf(&note, "no %s here matches '%s'%s%s%s", nouns[asked->kind], asked->pattern,
                 nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "") < 0)
      return hwi_error_set(error, HW_ERR_MEMORY, "no memory for a note");
    verdict->notes[verdict->note_count++] = note;
  }
  return HW_OK;
}

static int make_verdicts(struct hwi_check *check, struct hwi_error *error)
{
  int status = HW_OK;
  for (size_t i = 0; i < check->budgets->count && status == HW_OK; i++) {
    struct hwi_verdict *verdict = &check->verdicts[i];
    const struct hwi_measure *base = &check->base_measures[i];
    *verdict = (struct hwi_verdict){.budget = &check->budgets->items[i], .measure = &check->measures[i]};
    verdict->baseline = base->figure;
    verdict->limit = limit_of(&verdict->budget->limit, base->figure);
    judge(verdict, base, check->report.profile);
    status = add_notes(verdict, error);
  }
  return status;
}

/* --- runs --- */

static int measure_run(struct hwi_measure *measures, struct hwi_named_frames *frames, const struct hwi_check_run *run,
                       const struct hwi_check_question *question, struct hwi_error *error)
{
  struct hwi_measured_run measured = {.profile = run->profile,
                                      .filtered = {.frames = frames, .suppressions = question->suppressions},
                                      .replayer = run->replayer,
                                      .rest = run->rest,
                                      .is_baseline = run == &question->baseline};
  int status = hwi_missing_names_init(&measured.filtered.missing, frames, error);
  if (status == HW_OK)
    status = hwi_measure_all(measures, question->budgets, &measured, error);
  hwi_missing_names_release(&measured.filtered.missing);
  return status;
}

/* Counts what the suppressions leave out at the run's end, once; else each rule would count it again. */
static int count_suppressed(struct hwi_check *check, struct hwi_suppressions *suppressions, struct hwi_error *error)
{
  struct hwi_runtime_blocks runtime = {.frames = &check->frames, .suppressions = suppressions};
  const struct hwi_stack_filter filter = {hwi_runtime_blocks_keep, &runtime};
  struct hwi_selection selection;
  int status = hwi_selection_init(&selection, &check->report, &filter, error);
  hwi_selection_release(&selection);
  return status;
}

/* Finds the growth for each failed rule about a change, except durations, which do not add up. */
static int find_growth(struct hwi_check *check, struct hwi_stack_paths *paths)
{
  int status = HW_OK;
  for (size_t i = 0; i < check->budgets->count && status == HW_OK; i++) {
    struct hwi_verdict *verdict = &check->verdicts[i];
    const struct hwi_measure *const measures[] = {&check->base_measures[i], verdict->measure};
    bool needs_growth = verdict->state == HWI_VERDICT_FAILED && verdict->budget->limit.kind != HWI_LIMIT_FIGURE;
    if (needs_growth && hwi_metric_unit(verdict->budget->metric) != HWI_UNIT_NS && measures[0]->by_stack &&
        measures[1]->by_stack)
      status = hwi_growth_find(measures, paths, &verdict->growth);
  }
  return status;
}

static int compare_stacks(struct hwi_check *check, struct hwi_named_frames *base_frames, struct hwi_error *error)
{
  struct hwi_identities identities;
  const struct hwi_named_frames *const frames[] = {base_frames, &check->frames};
  struct hwi_stack_paths paths = {.identities = &identities, .frames = {base_frames, &check->frames}, .error = error};
  int status = hwi_identities_init(&identities, frames, error);
  if (status == HW_OK)
    status = find_growth(check, &paths);
  hwi_stack_paths_release(&paths);
  hwi_identities_release(&identities);
  return status;
}

static int judge_with_baseline(struct hwi_check *check, const struct hwi_check_question *question,
                               struct hwi_error *error)
{
  struct hwi_report report = {.profile = question->baseline.profile, .names = question->baseline_names};
  struct hwi_named_frames frames;
  int status = hwi_named_frames_init(&frames, &report, error);
  if (status == HW_OK)
    status = measure_run(check->base_measures, &frames, &question->baseline, question, error);
  if (status == HW_OK)
    status = make_verdicts(check, error);
  if (status == HW_OK)
    status = compare_stacks(check, &frames, error);
  hwi_named_frames_release(&frames);
  return status;
}

static int find_relative(const struct hwi_budgets *budgets, struct hwi_error *error)
{
  for (size_t i = 0; i < budgets->count; i++) {
    if (budgets->items[i].limit.kind != HWI_LIMIT_FIGURE)
      return hwi_error_set(error, HW_ERR_USAGE, "rule '%.150s' is about a change: add --baseline OLD",
                           budgets->items[i].text);
  }
  return HW_OK;
}

int hwi_check_init(struct hwi_check *check, const struct hwi_check_question *question, struct hwi_error *error)
{
  size_t count = question->budgets->count;
  *check = (struct hwi_check){.report = {.profile = question->run.profile, .names = question->names},
                              .budgets = question->budgets,
                              .measures = calloc(count + 1, sizeof *check->measures),
                              .base_measures = calloc(count + 1, sizeof *check->base_measures),
                              .verdicts = calloc(count + 1, sizeof *check->verdicts),
                              .top = question->top};
  check->report.options = (struct hwi_report_options){.all_frames = question->all_frames};
  if (!check->measures || !check->base_measures || !check->verdicts)
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory for %zu rules", count);
  int status = question->baseline.profile ? HW_OK : find_relative(question->budgets, error);
  if (status == HW_OK)
    status = hwi_named_frames_init(&check->frames, &check->report, error);
  if (status == HW_OK)
    status = measure_run(check->measures, &check->frames, &question->run, question, error);
  if (status == HW_OK && question->suppressions)
    status = count_suppressed(check, question->suppressions, error);
  if (status < 0)
    return status;
  return question->baseline.profile ? judge_with_baseline(check, question, error) : make_verdicts(check, error);
}

void hwi_check_release(struct hwi_check *check)
{
  for (size_t i = 0; i < check->budgets->count; i++) {
    if (check->measures)
      hwi_measure_release(&check->measures[i]);
    if (check->base_measures)
      hwi_measure_release(&check->base_measures[i]);
    if (!check->verdicts)
      continue;
    for (size_t k = 0; k < check->verdicts[i].note_count; k++)
      free(check->verdicts[i].notes[k]);
    free(check->verdicts[i].why);
    free(check->verdicts[i].growth);
  }
  free(check->measures);
  free(check->base_measures);
  free(check->verdicts);
  hwi_named_frames_release(&check->frames);
  *check = (struct hwi_check){0};
}

/* --- output of a verdict --- */

enum hwi_verdict_state hwi_check_state(const struct hwi_check *check)
{
  enum hwi_verdict_state state = HWI_VERDICT_OK;
  for (size_t i = 0; i < check->budgets->count; i++) {
    if (check->verdicts[i].state == HWI_VERDICT_FAILED)
      return HWI_VERDICT_FAILED;
    if (check->verdicts[i].state == HWI_VERDICT_UNKNOWN)
      state = HWI_VERDICT_UNKNOWN;
  }
  return state;
}

const char *hwi_verdict_word(enum hwi_verdict_state state)
{
  static const char *const words[] = {"ok", "FAILED", "unknown"};
  return words[state];
}

/* Adds the error of an estimate, if it is known. */
static void add_estimate(struct hwi_line *line, const struct hwi_verdict *verdict)
{
  const struct hwi_measure *measure = verdict->measure;
  if (measure->is_estimate && measure->variance > 0)
    hwi_line_printf(line, ", an estimate within %s (95 %%)",
                    figure_text(verdict, hwi_sample_error(measure->variance)).text);
  else if (measure->is_estimate)
    hwi_line_puts(line, ", an estimate");
}

void hwi_verdict_add_figures(struct hwi_line *line, const struct hwi_verdict *verdict)
{
  const struct hwi_limit *limit = &verdict->budget->limit;
  uint64_t figure = verdict->measure->figure;
  const char *unit = ""; /* if the number does not include it */
  struct hwi_number shown = figure_text(verdict, figure), most = figure_text(verdict, verdict->limit);
  if (figure != verdict->limit && strcmp(shown.text, most.text) == 0) { /* rounded they would look equal */
    shown = hwi_count_text(figure);
    most = hwi_count_text(verdict->limit);
    unit = hwi_metric_unit(verdict->budget->metric) == HWI_UNIT_NS ? " ns" : "";
  }
  hwi_line_printf(line, "%s%s of %s%s", shown.text, unit, most.text, unit);
  struct hwi_number base = figure_text(verdict, verdict->baseline);
  if (limit->kind == HWI_LIMIT_PERCENT)
    hwi_line_printf(line, " (%+g %% on %s)", limit->percent, base.text);
  else if (limit->kind == HWI_LIMIT_CHANGE)
    hwi_line_printf(line, " (%c%s on %s)", limit->less ? '-' : '+', figure_text(verdict, limit->figure).text,
                    base.text);
  add_estimate(line, verdict);
}
