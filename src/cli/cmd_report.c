/* cmd_report.c - heapwright report: explains a recording */
#include "cli/reading.h"
#include "report/json_figures.h"
#include "symbols/symbols.h"

enum format { FORMAT_TEXT = 0, FORMAT_JSON = 1 };
enum { FRAMES_FOLDED = 0, FRAMES_ALL = 1 };

struct values {
  struct hwi_report_options report;
  int format, frames;
  struct hwi_reading reading;
};

static const struct values defaults = {.report = {.cost = HWI_COST_DEFAULT, .top = HWI_TOP_DEFAULT, .min_calls = 1}};

static const char *const frames_choices[] = {"folded", "all", NULL};
static const char *const format_choices[] = {"text", "json", NULL};

static const struct hwi_option options[] = {
    {.name = "cost",
     .kind = HWI_OPTION_CHOICE,
     .off = offsetof(struct values, report.cost),
     .choices = hwi_cost_names,
     .help = "what is ranked: bytes held at the peak (the default), bytes live at the end,\n"
             "calls, bytes allocated in all, or blocks freed at once"},
    {.name = "by",
     .kind = HWI_OPTION_CHOICE,
     .off = offsetof(struct values, report.by),
     .choices = hwi_by_names,
     .help = "what it is grouped by (default: stack)"},
    {.name = "top",
     .letter = 'n',
     .kind = HWI_OPTION_COUNT,
     .off = offsetof(struct values, report.top),
     .value = "N",
     .help = "rows to show; 0: all (default: 10 in text, all in JSON)"},
    {.name = "min-calls",
     .kind = HWI_OPTION_COUNT,
     .off = offsetof(struct values, report.min_calls),
     .value = "N",
     .help = "leave out stacks with fewer calls (default: 1)"},
    {.name = "thread",
     .kind = HWI_OPTION_TEXT,
     .off = offsetof(struct values, report.thread),
     .value = "PATTERN",
     .help = "only what threads of this name (with * and ?) or id allocated"},
    {.name = "leaks",
     .kind = HWI_OPTION_ON,
     .off = offsetof(struct values, report.leaks),
     .help = "what is still allocated at the end, without the runtime's own blocks"},
    {.name = "frames",
     .kind = HWI_OPTION_CHOICE,
     .off = offsetof(struct values, frames),
     .choices = frames_choices,
     .help = "every frame of a stack, or without those that say little (default: folded)"},
    HWI_READING_OPTIONS(reading),
    {.name = "format",
     .kind = HWI_OPTION_CHOICE,
     .off = offsetof(struct values, format),
     .choices = format_choices,
     .help = "how to print it (default: text)"},
    {.name = "json",
     .kind = HWI_OPTION_SET,
     .preset = FORMAT_JSON,
     .off = offsetof(struct values, format),
     .help = "short for --format json"},
    {0},
};

static int print_report(const struct values *values, const struct hwi_profile *profile, struct hwi_symbols *symbols)
{
  struct hwi_report report = {.profile = profile, .names = hwi_reading_names(symbols), .options = values->report};
  report.options.all_frames = values->frames == FRAMES_ALL;
  struct hwi_error error = {0};
  int status;
  if (values->format == FORMAT_JSON) {
    status = hwi_report_json(&report, stdout, &error);
  } else {
    struct hwi_style style;
    hwi_style_init(&style, stdout);
    status = hwi_report_text(&report, &style, &error);
  }
  return status < 0 ? hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text) : HWI_EXIT_OK;
}

static int report_on(const struct values *values, const char *path)
{
  struct hwi_profile *profile;
  struct hwi_symbols *symbols;
  int status = hwi_reading_profile(&values->reading, path, &profile);
  if (status != 0)
    return status;
  status = hwi_reading_symbols(&values->reading, &symbols);
  if (status == 0) {
    status = print_report(values, profile, symbols);
    hwi_symbols_destroy(symbols);
  }
  hwi_profile_destroy(profile);
  return status;
}

/* What the options cannot mean together; NULL: nothing. */
static const char *contradiction(const struct values *values)
{
  const struct hwi_report_options *report = &values->report;
  bool by_stack = report->by != HWI_BY_THREAD && report->by != HWI_BY_SIZE;
  if (report->leaks && report->cost != HWI_COST_DEFAULT && report->cost != HWI_COST_LIVE)
    return "--leaks ranks what is live at the end: leave --cost out";
  if (report->leaks && !by_stack)
    return "--leaks needs stacks: group by stack, function, file, line or module; or use --cost live";
  if (report->thread != NULL && report->by == HWI_BY_SIZE)
    return "sizes are not kept by thread: leave --thread or --by size out";
  return NULL;
}

static int run(const void *given, int word_count, char **words)
{
  const struct values *values = given;
  const char *wrong = contradiction(values);
  if (wrong != NULL)
    return hwi_fail(HWI_EXIT_TROUBLE, "%s", wrong);
  int status = hwi_reading_check(&values->reading);
  if (status != 0)
    return status;
  if (word_count > 1)
    return hwi_fail(HWI_EXIT_TROUBLE, "report takes one trace, not %d; '%s' is one too many", word_count, words[1]);
  return report_on(values, word_count == 1 ? words[0] : ".");
}

const struct hwi_command hwi_command_report = {
    .name = "report",
    .summary = "explain a recording (the newest one here, when none is named)",
    .usage = "[options] [TRACE]",
    .details = "TRACE is a recording, its folder NAME.children, or a folder in which the newest is taken.\n"
               "\n"
               "examples:\n"
               "  heapwright report                          the newest recording here, at its peak\n"
               "  heapwright report --leaks app.hwt          what was not freed\n"
               "  heapwright report --cost temporary --by line\n"
               "                                             where blocks are freed as soon as allocated\n"
               "  heapwright report --thread 'control*' --frames all --top 0\n"
               "                                             everything that the control threads allocate\n",
    .options = options,
    .defaults = &defaults,
    .values_bytes = sizeof(struct values),
    .usage_status = HWI_EXIT_TROUBLE,
    .run = run,
};
