/* page_and_charts.c - the HTML page and the charts as answers of report and diff */
#include "cli/page_and_charts.h"

#include <string.h>

#include "report/content/evidence.h"
#include "report/input/suggest.h"

/* --- charts --- */

static int unknown_chart(const char *word, size_t bytes)
{
  struct hwi_suggestion suggestion;
  hwi_suggestion_init(&suggestion, word, bytes);
  for (const char *const *name = hwi_chart_names; *name; name++)
    hwi_suggestion_offer(&suggestion, *name);
  if (suggestion.best)
    return hwi_fail(HWI_EXIT_TROUBLE, "--chart: there is no chart '%.*s'; did you mean '%s'?", (int)bytes, word,
                    suggestion.best);
  return hwi_fail(
      HWI_EXIT_TROUBLE,
      "--chart: there is no chart '%.*s'; there are live, live-by-stack, live-by-size, live-by-thread, sizes, "
      "lifetimes, threads and durations",
      (int)bytes, word);
}

static int add_chart(struct hwi_plotting *plotting, const char *word, size_t bytes)
{
  int chart = 0;
  while (chart < HWI_CHARTS &&
         (strlen(hwi_chart_names[chart]) != bytes || memcmp(hwi_chart_names[chart], word, bytes) != 0))
    chart++;
  if (chart == HWI_CHARTS)
    return unknown_chart(word, bytes);
  for (uint32_t i = 0; i < plotting->chart_count; i++) {
    if (plotting->charts[i] == (enum hwi_chart)chart)
      return hwi_fail(HWI_EXIT_TROUBLE, "--chart names %s twice", hwi_chart_names[chart]);
  }
  plotting->charts[plotting->chart_count++] = (enum hwi_chart)chart;
  return 0;
}

int hwi_plotting_check(struct hwi_plotting *plotting, const struct hwi_answer *answer)
{
  if (!plotting->words)
    return 0;
  if (!hwi_answer_is_plot(answer))
    return hwi_fail(HWI_EXIT_TROUBLE, "--chart needs a file to draw to: -o FILE.pdf, .svg, .png or .gp");
  int status = 0;
  for (const char *word = plotting->words; status == 0;) {
    size_t bytes = strcspn(word, ",");
    status = add_chart(plotting, word, bytes);
    if (word[bytes] == '\0')
      break;
    word += bytes + 1;
  }
  return status;
}

enum hwi_plot_form hwi_plotting_form(const struct hwi_answer *answer)
{
  static const enum hwi_plot_form forms[] = {[HWI_FORMAT_PDF] = HWI_PLOT_PDF,
                                             [HWI_FORMAT_SVG] = HWI_PLOT_SVG,
                                             [HWI_FORMAT_PNG] = HWI_PLOT_PNG,
                                             [HWI_FORMAT_SCRIPT] = HWI_PLOT_SCRIPT};
  return forms[answer->format];
}

struct hwi_plot_request hwi_plotting_request(const struct hwi_plotting *plotting, const struct hwi_answer *answer)
{
  struct hwi_plot_request request = {
      .form = hwi_plotting_form(answer), .script_path = answer->path, .chart_count = plotting->chart_count};
  memcpy(request.charts, plotting->charts, sizeof request.charts);
  return request;
}

/* --- the page --- */

bool hwi_answer_is_page(const struct hwi_answer *answer)
{
  return answer->format == HWI_FORMAT_HTML || answer->format == HWI_FORMAT_PAGE;
}

enum hwi_page_form hwi_page_form_of(enum hwi_format format)
{
  return format == HWI_FORMAT_HTML ? HWI_PAGE_HTML : HWI_PAGE_DATA;
}

const char *hwi_ranking_not_in_picture(const struct hwi_ranking *ranking, bool is_plot)
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
      {"--instances", report->instances != usual->instances, false},
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

/* --- other processes in the page --- */

static uint32_t pid_of(const struct hwi_profile *profile, uint32_t image)
{
  return profile->images[image].info ? profile->images[image].info->header.pid : 0;
}

static bool has(const struct hwi_other_processes *others, uint32_t pid)
{
  for (uint32_t i = 0; i < others->count; i++)
    if (others->pids[i] == pid)
      return true;
  return false;
}

/* Returns the PID whose image allocated most among those that are neither taken nor `shown`, or 0 if there is none. */
static uint32_t find_next(const struct hwi_other_processes *others, uint32_t shown)
{
  const struct hwi_profile *profile = others->report->profile;
  uint32_t found = 0;
  uint64_t most = 0;
  for (uint32_t i = 0; i < profile->image_count; i++) {
    uint32_t pid = pid_of(profile, i);
    uint64_t bytes = profile->images[i].totals.allocated_bytes;
    if (bytes <= most || pid == 0 || pid == shown || has(others, pid))
      continue;
    most = bytes;
    found = pid;
  }
  return found;
}

void hwi_other_processes_init(struct hwi_other_processes *others, const struct hwi_report *report,
                              const struct hwi_reading_source *source)
{
  uint32_t counted;
  const struct hwi_image *largest = hwi_largest_image(report->profile, &counted);
  uint32_t shown = counted == 1 ? largest->info->header.pid : 0;
  *others = (struct hwi_other_processes){.report = report, .source = *source};
  if (source->reading->pid != 0 || !largest)
    return;
  while (others->count < HWI_PAGE_OTHERS_MAX) {
    uint32_t pid = find_next(others, shown);
    if (pid == 0)
      break;
    others->pids[others->count++] = pid;
  }
}

static int open_process(void *context, uint32_t index, struct hwi_report *report)
{
  struct hwi_other_processes *others = context;
  struct hwi_profile *profile;
  others->reading = *others->source.reading;
  others->reading.children = false;
  others->reading.pid = others->pids[index];
  others->reading.chains = NULL; /* they are of the stacks of the report's own process */
  int status = hwi_reading_try_profile(&others->reading, others->source.path, &profile);
  if (status < 0)
    return status;
  *report = *others->report;
  report->profile = profile;
  report->pid = others->pids[index];
  others->one = (struct hwi_reading_source){&others->reading, others->source.path};
  report->replayer = hwi_reading_replayer(&others->one);
  return HW_OK;
}

static void close_process(void *context, struct hwi_report *report)
{
  (void)context;
  hwi_profile_destroy((struct hwi_profile *)report->profile);
}

struct hwi_page_others hwi_other_processes_of_page(struct hwi_other_processes *others)
{
  return (struct hwi_page_others){others->count, open_process, close_process, others};
}
