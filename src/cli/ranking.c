/* ranking.c - the options of commands that rank stacks, or groups of them */
#include "cli/ranking.h"

enum { FRAMES_FOLDED = 0, FRAMES_ALL = 1 };
const char *const hwi_frames_names[] = {"folded", "all", NULL};

int hwi_ranking_check(const struct hwi_ranking *ranking)
{
  const struct hwi_report_options *report = &ranking->report;
  bool by_stack = report->by != HWI_BY_THREAD && report->by != HWI_BY_SIZE;
  if (report->leaks && report->cost != HWI_COST_DEFAULT && report->cost != HWI_COST_LIVE)
    return hwi_fail(HWI_EXIT_TROUBLE, "--leaks ranks what is live at the end: leave --cost out");
  if (report->leaks && !by_stack)
    return hwi_fail(HWI_EXIT_TROUBLE, "--leaks needs stacks: group by stack, function, file, line or module; or use "
                                      "--cost live");
  if (report->lifetimes && report->by != HWI_BY_STACK)
    return hwi_fail(HWI_EXIT_TROUBLE, "--lifetimes shows stacks: leave --by out");
  if (report->lifetimes && report->thread != NULL)
    return hwi_fail(HWI_EXIT_TROUBLE,
                    "--lifetimes is known of whole stacks, whichever thread allocated: leave --thread "
                    "out");
  return 0;
}

bool hwi_frames_are_all(int frames)
{
  return frames == FRAMES_ALL;
}

struct hwi_report_options hwi_ranking_options(const struct hwi_ranking *ranking)
{
  struct hwi_report_options options = ranking->report;
  options.all_frames = hwi_frames_are_all(ranking->frames);
  return options;
}
