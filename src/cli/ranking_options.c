/* ranking_options.c - the options of commands that rank stacks, or groups of them */
#include "cli/ranking_options.h"

#include <string.h>

#include "base/system_words.h"
#include "report/content/durations.h"
#include "report/input/quantities.h"
#include "report/selection/narrowing.h"

enum { FRAMES_FOLDED = 0, FRAMES_ALL = 1 };
const char *const hwi_frames_names[] = {"folded", "all", NULL};

int hwi_choosing_check(const struct hwi_report_options *options)
{
  struct hwi_error error = {0};
  return hwi_narrowing_check(options, &error) < 0 ? hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text) : 0;
}

/* Scopes are not stacks: options about stacks do not apply to a tree of scopes, or to instances. */
static int check_scopes(const struct hwi_report_options *report)
{
  const char *wanted = report->tree == HWI_TREE_SCOPES           ? "--tree=scopes"
                       : report->instances != HWI_INSTANCES_NONE ? "--instances"
                                                                 : NULL;
  if (!wanted)
    return 0;
  const char *other = report->by != HWI_BY_STACK && report->by != HWI_BY_SCOPE           ? "--by"
                      : report->tree != HWI_TREE_SCOPES && report->tree != HWI_TREE_NONE ? "--tree"
                      : report->tree == HWI_TREE_SCOPES && report->min_share >= 0        ? "--min-share"
                      : report->leaks                                                    ? "--leaks"
                      : report->lifetimes                                                ? "--lifetimes"
                      : report->resizes                                                  ? "--resizes"
                      : report->rss                                                      ? "--rss"
                      : report->durations                                                ? "--durations"
                                                                                         : NULL;
  return other ? hwi_fail(HWI_EXIT_TROUBLE, "%s is about scopes: leave %s out", wanted, other) : 0;
}

int hwi_ranking_check(const struct hwi_ranking *ranking)
{
  const struct hwi_report_options *report = &ranking->report;
  if (report->leaks && report->cost != HWI_COST_DEFAULT && report->cost != HWI_COST_LIVE)
    return hwi_fail(HWI_EXIT_TROUBLE, "--leaks ranks what is live at the end: leave --cost out");
  if (report->leaks && !hwi_by_is_of_frames(report->by))
    return hwi_fail(HWI_EXIT_TROUBLE, "--leaks needs stacks: group by stack, function, file, line or module; or use "
                                      "--cost live");
  int status = check_scopes(report);
  if (status != 0)
    return status;
  if (report->tree != HWI_TREE_NONE && report->tree != HWI_TREE_SCOPES && !hwi_by_is_of_frames(report->by))
    return hwi_fail(HWI_EXIT_TROUBLE, "--tree needs stacks: its nodes are functions, files, lines or modules (--by)");
  const char *of_stacks = report->lifetimes ? "--lifetimes" : report->resizes ? "--resizes" : NULL;
  if (report->lifetimes && report->resizes)
    return hwi_fail(HWI_EXIT_TROUBLE, "--lifetimes and --resizes are two tables: ask for one of them");
  if (of_stacks && report->by != HWI_BY_STACK)
    return hwi_fail(HWI_EXIT_TROUBLE, "%s shows stacks: leave --by out", of_stacks);
  if (of_stacks && report->tree != HWI_TREE_NONE)
    return hwi_fail(HWI_EXIT_TROUBLE, "%s lists stacks: leave --tree out", of_stacks);
  status = hwi_choosing_check(report);
  if (status == 0 && of_stacks && hwi_report_splits_stacks(report))
    return hwi_fail(HWI_EXIT_TROUBLE,
                    "%s is known only for whole stacks, not by thread or size: leave --thread "
                    "out, and --only or --ignore of threads and sizes",
                    of_stacks);
  return status;
}

/* Parses "3%", and "3" without the sign. */
static bool parse_share(const char *share, double *percent)
{
  enum { WORD_BYTES = 64 };
  char with_sign[WORD_BYTES];
  int bytes = snprintf(with_sign, sizeof with_sign, "%s%%", share);
  return hwi_percent_parse(share, percent) || (bytes < WORD_BYTES && hwi_percent_parse(with_sign, percent));
}

int hwi_ranking_share(struct hwi_ranking *ranking, const char *share)
{
  enum { PERCENT_MAX = 100 };
  if (!share)
    return 0;
  double *percent = &ranking->report.min_share;
  if (!parse_share(share, percent) || *percent > PERCENT_MAX)
    return hwi_fail(HWI_EXIT_TROUBLE, "--min-share takes a percentage such as 5%% or 0.1, not '%s'", share);
  if (ranking->report.tree == HWI_TREE_NONE)
    return hwi_fail(HWI_EXIT_TROUBLE, "--min-share is about a tree: add --tree");
  return 0;
}

/* Durations are about calls, not about blocks. */
const char *hwi_ranking_not_in_durations(const struct hwi_ranking *ranking)
{
  const struct hwi_report_options *report = &ranking->report;
  return report->lifetimes                  ? "--lifetimes"
         : report->resizes                  ? "--resizes"
         : report->rss                      ? "--rss"
         : report->leaks                    ? "--leaks"
         : report->by != HWI_BY_STACK       ? "--by"
         : report->tree != HWI_TREE_NONE    ? "--tree"
         : report->cost != HWI_COST_DEFAULT ? "--cost"
         : report->min_calls > 1            ? "--min-calls"
                                            : NULL;
}

int hwi_ranking_require_durations(const struct hwi_profile *profile, const char *path)
{
  if (hwi_profile_is_timed(profile))
    return 0;
  if (profile->heap)
    return hwi_fail(HWI_EXIT_TROUBLE, "--durations is a table of calls of malloc, not of a heap: leave --heap out");
  return hwi_fail(HWI_EXIT_TROUBLE,
                  "%s has no durations of calls; record them%s with: heapwright record --durations COMMAND", path,
                  hwi_where_to_record);
}

bool hwi_frames_are_all(int frames)
{
  return frames == FRAMES_ALL;
}

struct hwi_report_options hwi_ranking_options(const struct hwi_ranking *ranking)
{
  struct hwi_report_options options = ranking->report;
  options.all_frames = hwi_frames_are_all(ranking->frames);
  options.scopes_as_tree = options.tree == HWI_TREE_SCOPES;
  if (options.scopes_as_tree)
    options.tree = HWI_TREE_NONE;
  if (options.scopes_as_tree || options.instances != HWI_INSTANCES_NONE)
    options.by = HWI_BY_SCOPE;
  if (options.tree != HWI_TREE_NONE && options.by == HWI_BY_STACK)
    options.by = HWI_BY_FUNCTION;
  return options;
}

/* --- suppressions --- */

int hwi_suppressing_check(const char *path, bool leaks)
{
  if (!path || leaks)
    return 0;
  return hwi_fail(HWI_EXIT_TROUBLE, "--suppressions is about unfreed blocks: add --leaks");
}

int hwi_suppressing_begin(struct hwi_suppressions *suppressions, const char *path)
{
  *suppressions = (struct hwi_suppressions){0};
  struct hwi_error error = {0};
  if (!path || hwi_suppressions_read(suppressions, path, &error) == HW_OK)
    return 0;
  return hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text);
}

void hwi_suppressing_end(struct hwi_suppressions *suppressions, bool used)
{
  for (size_t i = 0; used && i < suppressions->count; i++) {
    const struct hwi_suppression *item = &suppressions->items[i];
    if (item->stacks == 0)
      hwi_warn("%s, line %u: leak:%s matches no leak%s", suppressions->path, item->line, item->pattern,
               item->is_late ? " that an earlier line does not match" : "");
  }
  hwi_suppressions_release(suppressions);
}
