/* cmd_report.c - heapwright report: explains a recording */
#include "cli/answer.h"
#include "cli/page_and_charts.h"
#include "cli/ranking_options.h"
#include "cli/span.h"
#include "export/export.h"
#include "report/content/scopes.h"
#include "report/names/named_frames.h"
#include "report/words/line.h"
#include "report/words/style.h"
#include "symbols/symbols.h"

struct values {
  struct hwi_ranking ranking;
  const char *suppressions, *min_share;
  struct hwi_answer answer;
  struct hwi_reading reading;
  struct hwi_span_words span;
  struct hwi_plotting plotting;
  bool keep_names;
};

static const struct values defaults = {.ranking = HWI_RANKING_DEFAULTS, .answer = HWI_PAGE_ANSWER_DEFAULTS};

static const struct hwi_option options[] = {
    HWI_RANKING_OPTIONS(ranking),
    HWI_TREE_OPTIONS(ranking, min_share),
    HWI_SUPPRESSING_OPTION(suppressions),
    {.name = "lifetimes",
     HWI_VALUE(ON, ranking.report.lifetimes),
     .help = "how long blocks live, stack by stack: freed at once, in less than 1 ms, 1 s,\n"
             "1 min, later, or never"},
    {.name = "resizes",
     HWI_VALUE(ON, ranking.report.resizes),
     .help = "how blocks grow, stack by stack: by realloc, and containers (an estimate): steps,\n"
             "bytes copied, sizes in the end"},
    {.name = "rss",
     HWI_VALUE(ON, ranking.report.rss),
     .help = "resident memory along time: asked for, rounding, free in the allocator, code, ...;\n"
             "with --children of all processes together"},
    {.name = "durations",
     HWI_VALUE(ON, ranking.report.durations),
     .help = "how long calls took, by function, and the slowest calls with their stacks; for a\n"
             "recording made with 'heapwright record --durations'"},
    {.name = "instances",
     HWI_VALUE(MAYBE, ranking.report.instances),
     .preset = HWI_INSTANCES_COST,
     .choices = hwi_instances_names,
     .help = "the worst ten instances of each scope, by --cost or the longest: when each began,\n"
             "how long it took, and what it did by block size"},
    HWI_SPAN_OPTIONS(span),
    HWI_READING_OPTIONS(reading),
    {.name = "keep-names",
     HWI_VALUE(ON, keep_names),
     .help = "store the names of all stacks next to the recording (NAME.names), for reports\n"
             "where the program's files are not: on another machine, on Windows"},
    HWI_PAGE_ANSWER_OPTIONS(answer),
    HWI_PLOTTING_OPTION(plotting),
    {0},
};

/* --- the page, and plots --- */

static int print_page(const struct hwi_report *report, const struct hwi_reading_source *source, enum hwi_format format,
                      FILE *out)
{
  struct hwi_error error = {0};
  struct hwi_other_processes processes;
  hwi_other_processes_init(&processes, report, source);
  const struct hwi_page_others others = hwi_other_processes_of_page(&processes);
  const struct hwi_page_request request = {
      .runs = report, .run_count = 1, .others = &others, .form = hwi_page_form_of(format)};
  int status = hwi_page_write(&request, out, &error);
  return status < 0 ? hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text) : HWI_EXIT_OK;
}

static int draw_plot(const struct values *values, const struct hwi_report *report, FILE *out)
{
  struct hwi_error error = {0};
  struct hwi_plot_request request = hwi_plotting_request(&values->plotting, &values->answer);
  request.report = *report;
  int status = hwi_plot_write(&request, out, &error);
  hwi_warn_of(&request.remarks);
  return status < 0 ? hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text) : HWI_EXIT_OK;
}

static int check_pictures(const struct values *values)
{
  bool is_plot = hwi_answer_is_plot(&values->answer), is_page = hwi_answer_is_page(&values->answer);
  const struct hwi_span_words *span = &values->span;
  const char *option = is_plot || is_page ? hwi_ranking_not_in_picture(&values->ranking, is_plot) : NULL;
  if (is_page && (span->from || span->to || span->at))
    option = span->from ? "--from" : span->to ? "--to" : "--at";
  if (!option)
    return 0;
  if (is_plot)
    return hwi_fail(HWI_EXIT_TROUBLE,
                    "%s is about tables, and plots have none: leave it out; --chart says what is drawn", option);
  return hwi_page_refuse(option);
}

/* --- the report --- */

static int print_report(const struct values *values, const struct hwi_report *report, FILE *out)
{
  struct hwi_error error = {0};
  int status;
  if (values->answer.format == HWI_FORMAT_JSON) {
    status = hwi_report_json(report, out, &error);
  } else {
    struct hwi_style style;
    hwi_style_init(&style, out);
    status = hwi_report_text(report, &style, &error);
  }
  return status < 0 ? hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text) : HWI_EXIT_OK;
}

/* Looks up the names of all stacks, whether the report shows them or not. */
static int keep_names(const struct hwi_report *report, struct hwi_symbols *symbols, const char *found)
{
  struct hwi_named_frames frames;
  struct hwi_error error = {0};
  int status = hwi_named_frames_init(&frames, report, &error);
  for (uint32_t stack = 1; stack < report->profile->stack_count && status == 0; stack++)
    status = hwi_named_frames_load(&frames, stack, &error);
  hwi_named_frames_release(&frames);
  if (status < 0)
    return hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text);
  if (!hwi_symbols_keep_names(symbols))
    return hwi_fail(HWI_EXIT_TROUBLE, "the names cannot be stored in %s.names: %m", found);
  return HWI_EXIT_OK;
}

/* `path` is the recording as the user named it, or NULL; `found` is its file. */
static int report_on(const struct values *values, const char *path, const char *found,
                     struct hwi_suppressions *suppressions, FILE *out)
{
  struct hwi_profile *profile;
  struct hwi_symbols *symbols;
  int status = hwi_span_profile(&values->span, &values->reading, found, &profile);
  if (status != 0)
    return status;
  struct hwi_reading_source source = {&values->reading, found};
  if (values->ranking.report.durations)
    status = hwi_ranking_require_durations(profile, found);
  if (status == 0)
    status = hwi_reading_symbols_of(&values->reading, found, &symbols);
  if (status == 0) {
    struct hwi_report report = {.profile = profile,
                                .names = hwi_reading_names(symbols),
                                .options = hwi_ranking_options(&values->ranking),
                                .replayer = hwi_reading_replayer(&source),
                                .trace = path,
                                .pid = (uint32_t)values->reading.pid,
                                .suppressions = suppressions->path ? suppressions : NULL};
    if (hwi_answer_is_plot(&values->answer))
      status = draw_plot(values, &report, out);
    else if (hwi_answer_is_page(&values->answer))
      status = print_page(&report, &source, (enum hwi_format)values->answer.format, out);
    else
      status = print_report(values, &report, out);
    if (values->keep_names && status == HWI_EXIT_OK)
      status = keep_names(&report, symbols, found);
    else
      hwi_symbols_save_names(symbols, profile->has_summary);
    hwi_symbols_destroy(symbols);
  }
  hwi_profile_destroy(profile);
  return status;
}

/* Scopes by rules are found before the report. */
static int find_and_report(struct values *values, const char *path, struct hwi_suppressions *suppressions, FILE *out)
{
  char found[HWI_READING_PATH_BYTES];
  struct hwi_scope_rules rules = {0};
  int status = hwi_reading_find(path ? path : ".", found, sizeof found);
  if (status == 0)
    status = hwi_reading_find_scopes(&values->reading, found, &rules);
  if (status == 0)
    status = report_on(values, path, found, suppressions, out);
  hwi_scope_rules_release(&rules);
  return status;
}

/* Determines the format of the report. If the suffix is a format of export, the error names that command. */
static int check_answer(struct hwi_answer *answer, const char *trace)
{
  if (hwi_answer_has_format(answer))
    return hwi_answer_check(answer);
  const struct hwi_export_format *format = hwi_export_format_of(answer->path);
  if (!format)
    return hwi_answer_check(answer);
  struct hwi_line command = {0};
  hwi_line_puts(&command, "heapwright export ");
  if (trace) {
    hwi_line_shell_word(&command, trace);
    hwi_line_puts(&command, " ");
  }
  hwi_line_puts(&command, "-o ");
  hwi_line_shell_word(&command, answer->path);
  int status = hwi_fail(HWI_EXIT_TROUBLE, "-o %s: report writes .txt, .json, .html and plots; for %s run: %s",
                        answer->path, format->name, hwi_line_text(&command));
  hwi_line_release(&command);
  return status;
}

/* --rss is about the whole process and the whole run, not about stacks or an interval. */
static int check_rss(const struct values *values)
{
  const struct hwi_report_options *report = &values->ranking.report;
  const struct hwi_span_words *span = &values->span;
  if (!report->rss)
    return 0;
  if (report->lifetimes || report->resizes || report->leaks || report->tree != HWI_TREE_NONE ||
      report->by != HWI_BY_STACK || hwi_report_is_narrowed(report))
    return hwi_fail(HWI_EXIT_TROUBLE, "--rss is a table of the process's memory, not of stacks: leave --by, --tree, "
                                      "--leaks, --lifetimes, --resizes and filters out");
  if (values->reading.heap)
    return hwi_fail(HWI_EXIT_TROUBLE, "--rss is a table of the process's memory, not of a heap: leave --heap out");
  if (span->from || span->to || span->at)
    return hwi_fail(HWI_EXIT_TROUBLE, "--rss is of the whole run: leave --from, --to and --at out");
  return 0;
}

static int check_durations(const struct values *values)
{
  const struct hwi_report_options *report = &values->ranking.report;
  const char *other = hwi_ranking_not_in_durations(&values->ranking);
  if (report->durations && other)
    return hwi_fail(HWI_EXIT_TROUBLE, "--durations is a table of its own: leave %s out", other);
  if (report->durations && values->span.at)
    return hwi_fail(HWI_EXIT_TROUBLE, "--at shows a moment, in which no call ends: ask for an interval with --from "
                                      "and --to");
  return 0;
}

static int run(const void *given, int word_count, char **words)
{
  struct values values = *(const struct values *)given;
  int status = hwi_ranking_share(&values.ranking, values.min_share);
  if (status == 0)
    status = hwi_ranking_check(&values.ranking);
  if (status == 0)
    status = hwi_suppressing_check(values.suppressions, values.ranking.report.leaks);
  if (status == 0)
    status = hwi_reading_check(&values.reading);
  if (status == 0)
    status = hwi_span_check(&values.span, values.ranking.report.cost);
  if (status == 0)
    status = check_rss(&values);
  if (status == 0)
    status = check_durations(&values);
  if (status == 0)
    status = check_answer(&values.answer, word_count == 1 ? words[0] : NULL);
  values.reading.instance_details =
      values.ranking.report.instances != HWI_INSTANCES_NONE || hwi_answer_is_page(&values.answer);
  if (status == 0)
    status = check_pictures(&values);
  if (status == 0)
    status = hwi_plotting_check(&values.plotting, &values.answer);
  if (status != 0)
    return status;
  if (word_count > 1)
    return hwi_fail(HWI_EXIT_TROUBLE, "report takes one trace, not %d; '%s' is one too many", word_count, words[1]);
  struct hwi_suppressions suppressions;
  struct hwi_answer_file to;
  status = hwi_suppressing_begin(&suppressions, values.suppressions);
  if (status == 0)
    status = hwi_answer_open(&to, values.answer.path);
  if (status == 0) {
    status = find_and_report(&values, word_count == 1 ? words[0] : NULL, &suppressions, to.out);
    status = hwi_answer_close(&to, status);
  }
  hwi_suppressing_end(&suppressions, status == 0);
  return status;
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
               "  heapwright report -o app.html app.hwt      everything, to look at in a browser\n"
               "  heapwright report -o app.pdf app.hwt       charts and top stacks, to print\n"
               "  heapwright report -o fig.svg --chart live-by-stack app.hwt\n"
               "                                             one chart, for a document\n"
               "  heapwright report -o app.json app.hwt      everything, for scripts\n"
               "  heapwright report --from 5s --to 90%       what happened between, and what was live meanwhile\n"
               "  heapwright report --at loaded              what was live when the mark 'loaded' was set\n"
               "  heapwright report --tree --cost calls      who calls whom that allocates so often\n"
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
