/* cmd_diff.c - heapwright diff: what changed between two recordings */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/size_text.h"
#include "cli/answer.h"
#include "cli/page_and_charts.h"
#include "cli/ranking_options.h"
#include "cli/read_recording.h"
#include "compare/compare.h"
#include "report/input/quantities.h"
#include "report/selection/narrowing.h"
#include "report/words/style.h"
#include "symbols/symbols.h"

struct values {
  struct hwi_ranking ranking;
  struct hwi_reading reading;
  const char *threshold, *suppressions;
  struct hwi_answer answer;
  bool exit_code;
};

static const struct values defaults = {.ranking = HWI_RANKING_DEFAULTS, .answer = HWI_PAGE_ANSWER_DEFAULTS};

static const struct hwi_option options[] = {
    HWI_RANKING_OPTIONS(ranking),
    HWI_SUPPRESSING_OPTION(suppressions),
    {.name = "threshold",
     HWI_VALUE(TEXT, threshold),
     .value = "SIZE|PERCENT",
     .help = "leave out changes up to SIZE (or so many calls), or up to PERCENT% of OLD's whole"},
    {.name = "exit-code",
     HWI_VALUE(ON, exit_code),
     .help = "exit with 1 if a row, or the total, grew by more than the threshold"},
    {.name = "durations",
     HWI_VALUE(ON, ranking.report.durations),
     .help = "how long calls took in both runs, by function (recorded by 'heapwright record\n"
             "--durations')"},
    HWI_READING_OPTIONS(reading),
    HWI_PAGE_ANSWER_OPTIONS(answer),
    {0},
};

/* Parses "1MB", "500" or "2.5%". */
static bool parse_threshold(const char *text, struct hwi_compare_options *compare)
{
  compare->has_threshold = true;
  compare->percent = hwi_percent_parse(text, &compare->threshold);
  if (compare->percent)
    return true;
  uint64_t size;
  if (!hwi_size_parse(text, &size))
    return false;
  compare->threshold = (double)size;
  return true;
}

static int print_comparison(const struct values *values, struct hwi_comparison *comparison)
{
  struct hwi_answer_file to;
  int status = hwi_answer_open(&to, values->answer.path);
  if (status != 0)
    return status;
  struct hwi_error error = {0};
  int printed;
  if (hwi_answer_is_plot(&values->answer)) {
    printed = hwi_plot_write_diff(comparison, hwi_plotting_form(&values->answer), values->answer.path, to.out, &error);
  } else if (values->answer.format == HWI_FORMAT_JSON) {
    printed = hwi_compare_json(comparison, to.out, &error);
  } else {
    struct hwi_style style;
    hwi_style_init(&style, to.out);
    printed = hwi_compare_text(comparison, &style, &error);
  }
  status = hwi_answer_close(&to, printed < 0 ? hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text) : 0);
  if (status != 0)
    return status;
  return values->exit_code && hwi_comparison_grew(comparison) ? HWI_EXIT_NO : HWI_EXIT_OK;
}

static int compare(const struct values *values, struct hwi_compare_options wanted, struct hwi_compared runs[HWI_SIDES])
{
  const char *traces[HWI_SIDES + 1] = {NULL};
  for (int side = 0, count = 0; side < HWI_SIDES; side++) {
    if (hwi_compared_trace(&runs[side]))
      traces[count++] = hwi_compared_trace(&runs[side]);
  }
  struct hwi_symbols *symbols;
  int status = hwi_reading_symbols(&values->reading, traces, &symbols);
  if (status != 0)
    return status;
  const struct hwi_names names[HWI_SIDES] = {hwi_compared_names(&runs[HWI_OLD], symbols),
                                             hwi_compared_names(&runs[HWI_NEW], symbols)};
  const struct hwi_replayer replayers[HWI_SIDES] = {hwi_reading_replayer(&runs[HWI_OLD].source),
                                                    hwi_reading_replayer(&runs[HWI_NEW].source)};
  const struct hwi_profile *const profiles[HWI_SIDES] = {runs[HWI_OLD].profile, runs[HWI_NEW].profile};
  struct hwi_comparison comparison;
  struct hwi_error error = {0};
  wanted.replayers = wanted.report.durations ? replayers : NULL;
  if (hwi_compare(&comparison, profiles, names, &wanted, &error) < 0)
    status = hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text);
  else
    status = print_comparison(values, &comparison);
  hwi_comparison_release(&comparison);
  hwi_symbols_destroy(symbols);
  return status;
}

/* --- as a page --- */

static int write_page(const struct values *values, const struct hwi_report runs[HWI_SIDES])
{
  struct hwi_answer_file to;
  struct hwi_error error = {0};
  int status = hwi_answer_open(&to, values->answer.path);
  if (status != 0)
    return status;
  const struct hwi_page_request request = {
      .runs = runs, .run_count = HWI_SIDES, .form = hwi_page_form_of(values->answer.format)};
  if (hwi_page_write(&request, to.out, &error) < 0)
    status = hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text);
  return hwi_answer_close(&to, status);
}

static int compare_on_page(const struct values *values, struct hwi_compared runs[HWI_SIDES])
{
  struct hwi_symbols *symbols;
  struct hwi_report shown[HWI_SIDES];
  for (int side = 0; side < HWI_SIDES; side++)
    if (runs[side].saved)
      return hwi_fail(HWI_EXIT_TROUBLE, "%s: is a saved report; a page needs the recording itself", runs[side].path);
  int status = hwi_reading_symbols(&values->reading,
                                   (const char *const[]){runs[HWI_OLD].path, runs[HWI_NEW].path, NULL}, &symbols);
  if (status != 0)
    return status;
  for (int side = 0; side < HWI_SIDES; side++)
    shown[side] = (struct hwi_report){.profile = runs[side].profile,
                                      .names = hwi_reading_names(symbols),
                                      .replayer = hwi_reading_replayer(&runs[side].source)};
  status = write_page(values, shown);
  hwi_symbols_destroy(symbols);
  return status;
}

static int check_page(const struct values *values)
{
  if (!hwi_answer_is_page(&values->answer))
    return 0;
  const char *option = values->threshold      ? "--threshold"
                       : values->suppressions ? "--suppressions"
                       : values->exit_code    ? "--exit-code"
                                              : hwi_ranking_not_in_picture(&values->ranking, false);
  return option ? hwi_page_refuse(option) : 0;
}

/* --- how long calls took --- */

static int check_durations(const struct values *values)
{
  if (!values->ranking.report.durations)
    return 0;
  if (hwi_answer_is_plot(&values->answer))
    return hwi_fail(HWI_EXIT_TROUBLE, "--durations is a table, as text or JSON; to draw them: heapwright report "
                                      "--chart durations");
  const char *other = hwi_ranking_not_in_durations(&values->ranking);
  if (!other)
    other = values->ranking.report.top != HWI_TOP_DEFAULT ? "--top" : values->threshold ? "--threshold" : NULL;
  if (other)
    return hwi_fail(HWI_EXIT_TROUBLE, "--durations is a table of its own: leave %s out", other);
  if (values->exit_code)
    return hwi_fail(HWI_EXIT_TROUBLE, "times differ from run to run: leave --exit-code out; 'heapwright check --max "
                                      "duration_p99=...' sets them a limit");
  return 0;
}

/* --- the runs --- */

/* Refuses what a saved report does not contain. */
static int check_saved(const struct hwi_compare_options *wanted, const struct hwi_compared *run)
{
  if (!run->saved)
    return 0;
  if (run->saved->stacks_left_out > 0)
    return hwi_fail(HWI_EXIT_TROUBLE, "%s: leaves out %" PRIu64 " stacks; save it without --top", run->path,
                    run->saved->stacks_left_out);
  if (wanted->report.durations)
    return hwi_fail(HWI_EXIT_TROUBLE, "%s: is a saved report; for the durations of both runs give the recording itself",
                    run->path);
  int by = wanted->report.by;
  if (by == HWI_BY_THREAD || by == HWI_BY_SIZE || by == HWI_BY_SCOPE || hwi_report_splits_stacks(&wanted->report))
    return hwi_fail(HWI_EXIT_TROUBLE,
                    "%s: is a saved report; for single threads, sizes and scopes give the recording itself", run->path);
  return 0;
}

static int read_run(const struct values *values, const struct hwi_compare_options *wanted, const char *path,
                    struct hwi_compared *run)
{
  int status = hwi_compared_open(run, &values->reading, path);
  if (status == 0)
    status = check_saved(wanted, run);
  if (status == 0 && wanted->report.durations)
    status = hwi_ranking_require_durations(run->profile, run->path);
  return status;
}

static int read_and_compare(const struct values *values, const struct hwi_compare_options *wanted, char **words)
{
  struct hwi_compared runs[HWI_SIDES] = {0};
  int status = 0;
  for (int side = 0; side < HWI_SIDES && status == 0; side++)
    status = read_run(values, wanted, words[side], &runs[side]);
  if (status == 0)
    status = hwi_answer_is_page(&values->answer) ? compare_on_page(values, runs) : compare(values, *wanted, runs);
  for (int side = 0; side < HWI_SIDES; side++)
    hwi_compared_close(&runs[side]);
  return status;
}

static int run(const void *given, int word_count, char **words)
{
  struct values chosen = *(const struct values *)given;
  const struct values *values = &chosen;
  int status = hwi_ranking_check(&values->ranking);
  if (status == 0)
    status = hwi_suppressing_check(values->suppressions, values->ranking.report.leaks);
  if (status == 0)
    status = hwi_reading_check(&values->reading);
  if (status == 0)
    status = hwi_answer_check(&chosen.answer);
  if (status == 0)
    status = check_page(values);
  if (status == 0)
    status = check_durations(values);
  if (status != 0)
    return status;
  if (word_count != HWI_SIDES)
    return hwi_fail(HWI_EXIT_TROUBLE, "diff takes two recordings, OLD and NEW, not %d", word_count);
  struct hwi_compare_options wanted = {.report = hwi_ranking_options(&values->ranking)};
  if (values->threshold && !parse_threshold(values->threshold, &wanted))
    return hwi_fail(HWI_EXIT_TROUBLE,
                    "--threshold takes a size such as 4096, 64K or 1MB, or a percentage such as 5%%, not '%s'",
                    values->threshold);
  struct hwi_suppressions suppressions;
  status = hwi_suppressing_begin(&suppressions, values->suppressions);
  wanted.suppressions = values->suppressions ? &suppressions : NULL;
  if (status == 0)
    status = read_and_compare(values, &wanted, words);
  hwi_suppressing_end(&suppressions, status != HWI_EXIT_TROUBLE);
  return status;
}

const struct hwi_command hwi_command_diff = {
    .name = "diff",
    .summary = "what changed between two recordings",
    .usage = "[options] OLD NEW",
    .details =
        "Stacks are matched by the names of their functions, files and modules, so that neither addresses, nor lines\n"
        "that moved, nor the version of a library make a difference; a recursion is the same however deep it went.\n"
        "Either may be a report that was saved by 'heapwright report --json -o FILE' in place of a recording.\n"
        "Rows say 'new' or 'gone' where one side has none, and 'similar' where inlining or a signature changed.\n"
        "\n"
        "examples:\n"
        "  heapwright diff before.hwt after.hwt       what holds more or less at the peak\n"
        "  heapwright diff --cost calls --by function before.hwt after.hwt\n"
        "                                             who allocates more or less often\n"
        "  heapwright diff --exit-code --threshold 1% before.hwt after.hwt\n"
        "                                             fail where anything grew by more than 1 %\n"
        "  heapwright diff --durations before.hwt after.hwt\n"
        "                                             whether calls take longer\n"
        "  heapwright diff -o change.pdf before.hwt after.hwt\n"
        "                                             both runs in the same charts, to print\n",
    .options = options,
    .defaults = &defaults,
    .values_bytes = sizeof(struct values),
    .usage_status = HWI_EXIT_TROUBLE,
    .run = run,
};
