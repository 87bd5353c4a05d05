/* plotting.c - the option that chooses charts */
#include "cli/plotting.h"

#include <string.h>

#include "report/input/suggest.h"

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
