/* paging.c - the HTML page as an answer */
#include "cli/paging.h"

bool hwi_answer_is_page(const struct hwi_answer *answer)
{
  return answer->format == HWI_FORMAT_HTML || answer->format == HWI_FORMAT_PAGE;
}

enum hwi_page_form hwi_page_form_of(enum hwi_format format)
{
  return format == HWI_FORMAT_HTML ? HWI_PAGE_HTML : HWI_PAGE_DATA;
}

const char *hwi_ranking_beside_picture(const struct hwi_ranking *ranking, bool is_plot)
{
  static const struct hwi_ranking defaults = HWI_RANKING_DEFAULTS;
  const struct hwi_report_options *report = &ranking->report, *usual = &defaults.report;
  const struct {
    const char *name;
    bool is_given, plots_take_it;
  } options[] = {
      {"--cost", report->cost != usual->cost, true},
      {"--by", report->by != usual->by, false},
      {"--top", report->top != usual->top, true},
      {"--tree", report->tree != usual->tree, false},
      {"--min-share", report->min_share != usual->min_share, false},
      {"--min-calls", report->min_calls != usual->min_calls, true},
      {"--thread", report->thread != NULL, true},
      {"--only", report->only.count > 0, true},
      {"--ignore", report->ignore.count > 0, true},
      {"--leaks", report->leaks, false},
      {"--lifetimes", report->lifetimes, false},
      {"--resizes", report->resizes, false},
      {"--rss", report->rss, false},
      {"--durations", report->durations, false},
      {"--frames", ranking->frames != defaults.frames, true},
  };
  for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
    if (options[i].is_given && !(is_plot && options[i].plots_take_it))
      return options[i].name;
  }
  return NULL;
}

int hwi_page_refuse(const char *option)
{
  return hwi_fail(HWI_EXIT_TROUBLE, "the page has all of it, and the user chooses there what to show: leave %s out",
                  option);
}
