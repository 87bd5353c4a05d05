/* cmd_diff.c - heapwright diff: what changed between two recordings */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/answer.h"
#include "cli/ranking.h"
#include "cli/reading.h"
#include "cli/suppressing.h"
#include "compare/compare.h"
#include "report/units.h"
#include "symbols/symbols.h"

struct values {
  struct hwi_ranking ranking;
  struct hwi_reading reading;
  const char *threshold, *suppressions;
  struct hwi_answer answer;
  bool exit_code;
};

static const struct values defaults = {.ranking = HWI_RANKING_DEFAULTS, .answer = HWI_ANSWER_DEFAULTS};

static const struct hwi_option options[] = {
    HWI_RANKING_OPTIONS(ranking),
    HWI_SUPPRESSING_OPTION(suppressions),
    {.name = "threshold",
     .kind = HWI_OPTION_TEXT,
     .off = offsetof(struct values, threshold),
     .value = "SIZE|PERCENT",
     .help = "leave out changes up to SIZE (or so many calls), or up to PERCENT% of OLD's whole"},
    {.name = "exit-code",
     .kind = HWI_OPTION_ON,
     .off = offsetof(struct values, exit_code),
     .help = "exit 1 where anything, or the whole, grew beyond the threshold"},
    HWI_READING_OPTIONS(reading),
    HWI_ANSWER_OPTIONS(answer),
    {0},
};

/* "1MB", "500" or "2.5%". */
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
  if (values->answer.format == HWI_FORMAT_JSON) {
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

static int compare(const struct values *values, const struct hwi_compare_options *wanted, char **words,
                   struct hwi_profile *const profiles[HWI_SIDES])
{
  struct hwi_symbols *symbols;
  int status =
      hwi_reading_symbols(&values->reading, (const char *const[]){words[HWI_OLD], words[HWI_NEW], NULL}, &symbols);
  if (status != 0)
    return status;
  struct hwi_names names = hwi_reading_names(symbols);
  const struct hwi_profile *const both[HWI_SIDES] = {profiles[HWI_OLD], profiles[HWI_NEW]};
  struct hwi_comparison comparison;
  struct hwi_error error = {0};
  if (hwi_compare(&comparison, both, &names, wanted, &error) < 0)
    status = hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text);
  else
    status = print_comparison(values, &comparison);
  hwi_comparison_release(&comparison);
  hwi_symbols_destroy(symbols);
  return status;
}

static int read_and_compare(const struct values *values, const struct hwi_compare_options *wanted, char **words)
{
  struct hwi_profile *profiles[HWI_SIDES] = {NULL, NULL};
  int status = 0;
  for (int side = 0; side < HWI_SIDES && status == 0; side++)
    status = hwi_reading_profile(&values->reading, words[side], &profiles[side]);
  if (status == 0)
    status = compare(values, wanted, words, profiles);
  for (int side = 0; side < HWI_SIDES; side++) {
    if (profiles[side] != NULL)
      hwi_profile_destroy(profiles[side]);
  }
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
  if (status != 0)
    return status;
  if (word_count != HWI_SIDES)
    return hwi_fail(HWI_EXIT_TROUBLE, "diff takes two recordings, OLD and NEW, not %d", word_count);
  struct hwi_compare_options wanted = {.report = hwi_ranking_options(&values->ranking)};
  if (values->threshold != NULL && !parse_threshold(values->threshold, &wanted))
    return hwi_fail(HWI_EXIT_TROUBLE,
                    "--threshold takes a size such as 4096, 64K or 1MB, or a percentage such as 5%%, not '%s'",
                    values->threshold);
  struct hwi_suppressions suppressions;
  status = hwi_suppressing_begin(&suppressions, values->suppressions);
  wanted.suppressions = values->suppressions != NULL ? &suppressions : NULL;
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
        "Rows say 'new' or 'gone' where one side has none, and 'similar' where inlining or a signature changed.\n"
        "\n"
        "examples:\n"
        "  heapwright diff before.hwt after.hwt       what holds more or less at the peak\n"
        "  heapwright diff --cost calls --by function before.hwt after.hwt\n"
        "                                             who allocates more or less often\n"
        "  heapwright diff --exit-code --threshold 1% before.hwt after.hwt\n"
        "                                             fail where anything grew by more than 1 %\n",
    .options = options,
    .defaults = &defaults,
    .values_bytes = sizeof(struct values),
    .usage_status = HWI_EXIT_TROUBLE,
    .run = run,
};
