/* chart.c - the list of charts, and the data that they need */
#include "plot/chart.h"

#include <inttypes.h>
#include <string.h>

#include "report/selection/selection.h"

const char *const hwi_chart_names[] = {
    [HWI_CHART_LIVE] = "live",
    [HWI_CHART_LIVE_BY_STACK] = "live-by-stack",
    [HWI_CHART_LIVE_BY_SIZE] = "live-by-size",
    [HWI_CHART_LIVE_BY_THREAD] = "live-by-thread",
    [HWI_CHART_SIZES] = "sizes",
    [HWI_CHART_LIFETIMES] = "lifetimes",
    [HWI_CHART_THREADS] = "threads",
    [HWI_CHART_DURATIONS] = "durations",
    [HWI_CHART_DURATIONS_ALONG_TIME] = "durations-along-time",
    [HWI_CHARTS] = NULL,
};

bool hwi_chart_is_along_time(enum hwi_chart chart)
{
  return chart <= HWI_CHART_LIVE_BY_THREAD;
}

static bool is_of_durations(enum hwi_chart chart)
{
  return chart == HWI_CHART_DURATIONS || chart == HWI_CHART_DURATIONS_ALONG_TIME;
}

struct hwi_chart_title hwi_chart_title(const struct hwi_plot *plot, const char *title)
{
  struct hwi_chart_title made;
  snprintf(made.text, sizeof made.text, "%s%s", title, plot->profile->sample_bytes ? " (estimates)" : "");
  return made;
}

int hwi_chart_check(const struct hwi_plot *plot, enum hwi_chart chart, struct hwi_error *error)
{
  bool is_moment = plot->profile->span.kind == HWI_SPAN_MOMENT;
  if (is_moment && (hwi_chart_is_along_time(chart) || chart == HWI_CHART_LIFETIMES || is_of_durations(chart)))
    return hwi_error_set(error, HW_ERR_USAGE,
                         "--chart %s is over time, but --at is one moment: leave --at out, or use --from and --to",
                         hwi_chart_names[chart]);
  if (chart == HWI_CHART_LIFETIMES && hwi_report_splits_stacks(&plot->request->report.options))
    return hwi_error_set(
        error, HW_ERR_USAGE,
        "--chart lifetimes: lifetimes are known only for whole stacks, not by thread or size: leave --thread "
        "out, and --only or --ignore of threads and sizes");
  if (is_of_durations(chart) && plot->profile->heap)
    return hwi_error_set(error, HW_ERR_USAGE, "--chart %s is of calls of malloc, not of a heap: leave --heap out",
                         hwi_chart_names[chart]);
  if (is_of_durations(chart) && !hwi_profile_is_timed(plot->profile))
    return hwi_error_set(error, HW_ERR_USAGE,
                         "--chart %s: the recording has no durations of calls; record them with: heapwright "
                         "record --durations COMMAND",
                         hwi_chart_names[chart]);
  return HW_OK;
}

/* Returns the division of a chart of live bytes by parts. */
static enum hwi_division division_of(enum hwi_chart chart)
{
  return (enum hwi_division)(chart - HWI_CHART_LIVE_BY_STACK);
}
static_assert(HWI_CHART_LIVE_BY_SIZE - HWI_CHART_LIVE_BY_STACK == (int)HWI_DIVISION_SIZE &&
                  HWI_CHART_LIVE_BY_THREAD - HWI_CHART_LIVE_BY_STACK == (int)HWI_DIVISION_THREAD,
              "the charts by parts are in the order of the divisions");

double hwi_chart_height_cm(const struct hwi_plot *plot, enum hwi_chart chart)
{
  const double axes = 2.6, row = 0.55;
  switch (chart) {
  case HWI_CHART_LIVE:
  case HWI_CHART_SIZES:
  case HWI_CHARTS:
    break;
  case HWI_CHART_LIVE_BY_STACK:
  case HWI_CHART_LIVE_BY_SIZE:
  case HWI_CHART_LIVE_BY_THREAD:
    return hwi_chart_parts_height_cm(plot, division_of(chart));
  case HWI_CHART_LIFETIMES:
    return axes - 0.4 + row * HWI_LIFETIMES;
  case HWI_CHART_THREADS:
    return axes + row * hwi_chart_thread_rows(plot);
  case HWI_CHART_DURATIONS:
    return hwi_chart_durations_height_cm(plot);
  case HWI_CHART_DURATIONS_ALONG_TIME:
    return hwi_chart_durations_along_height_cm(plot);
  }
  return 7;
}

void hwi_chart_draw(struct hwi_plot *plot, enum hwi_chart chart, const struct hwi_box *box)
{
  static void (*const draw[HWI_CHARTS])(struct hwi_plot * plot, const struct hwi_box *box) = {
      [HWI_CHART_LIVE] = hwi_chart_live,           [HWI_CHART_SIZES] = hwi_chart_sizes,
      [HWI_CHART_LIFETIMES] = hwi_chart_lifetimes, [HWI_CHART_THREADS] = hwi_chart_threads,
      [HWI_CHART_DURATIONS] = hwi_chart_durations, [HWI_CHART_DURATIONS_ALONG_TIME] = hwi_chart_durations_along,
  };
  fprintf(plot->script, "\n# --- %s ---\n\n", hwi_chart_names[chart]);
  if (draw[chart])
    draw[chart](plot, box);
  else
    hwi_chart_parts(plot, box, division_of(chart));
}

/* --- texts that several charts use --- */

static bool is_named_alike(const struct hwi_profile *profile, uint32_t thread)
{
  for (uint32_t i = 0; i < profile->thread_count; i++) {
    if (i != thread &&
        memcmp(profile->threads[i].name, profile->threads[thread].name, sizeof profile->threads[i].name) == 0)
      return true;
  }
  return false;
}

void hwi_chart_thread_name(struct hwi_line *line, const struct hwi_profile *profile, uint32_t thread)
{
  const struct hwi_profile_thread *it = &profile->threads[thread];
  if (*it->name == '\0') {
    hwi_line_printf(line, "thread %" PRIu32, it->tid);
    return;
  }
  hwi_line_printf(line, "%.*s", (int)sizeof it->name, it->name);
  if (is_named_alike(profile, thread))
    hwi_line_printf(line, " (%" PRIu32 ")", it->tid);
}

struct hwi_number hwi_chart_class_name(unsigned class)
{
  static const char *const units[] = {"", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"};
  enum { STEP_BITS = 10 };
  uint64_t most = hwi_size_class_most(class);
  size_t unit = 0;
  while (unit + 1 < sizeof units / sizeof *units && most >> STEP_BITS > 0 && most % (1 << STEP_BITS) == 0) {
    most >>= STEP_BITS;
    unit++;
  }
  struct hwi_number name;
  snprintf(name.text, sizeof name.text, "%" PRIu64 "%s", most, units[unit]);
  return name;
}

struct hwi_number hwi_chart_peak_name(const struct hwi_profile *profile)
{
  return profile->span.kind == HWI_SPAN_MOMENT ? hwi_time_text(profile->span.from_ns) : (struct hwi_number){"the peak"};
}

struct hwi_number hwi_chart_end_name(const struct hwi_profile *profile)
{
  const struct hwi_span *span = &profile->span;
  if (span->kind == HWI_SPAN_INTERVAL && span->to_ns < profile->duration_ns)
    return hwi_time_text(span->to_ns);
  return (struct hwi_number){"the end"};
}
