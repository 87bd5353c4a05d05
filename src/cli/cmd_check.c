/* cmd_check.c - heapwright check: does a recording keep its budgets? */
#include <string.h>

#include "cli/answer.h"
#include "cli/ranking_options.h"
#include "cli/read_recording.h"
#include "compare/check.h"
#include "report/words/style.h"
#include "symbols/symbols.h"

enum { BLAMED_DEFAULT = 3, BLAMED_MAX = 1000000 };

struct values {
  struct hwi_texts max;
  const char *rules, *baseline, *suppressions, *output;
  struct hwi_reading reading;
  uint64_t top;
  int frames, format;
};

enum { FORMAT_JUNIT = HWI_FORMAT_JSON + 1 };
static const char *const format_names[] = {"text", "json", "junit", NULL};
static const char *const suffixes[] = {".txt", ".json", ".xml"};
static const struct hwi_formats formats = {format_names, suffixes};

static const struct values defaults = {.top = BLAMED_DEFAULT};

static const struct hwi_option options[] = {
    {.name = "max",
     HWI_VALUE(TEXTS, max),
     .value = "RULE",
     .help = "a figure and its limit: FIGURE[(FILTER,...)]=LIMIT; may be given again"},
    {.name = "rules",
     HWI_VALUE(TEXT, rules),
     .value = "FILE",
     .help = "a file of rules, one per line; lines that begin with # are comments"},
    {.name = "baseline",
     HWI_VALUE(TEXT, baseline),
     .value = "OLD",
     .help = "the recording that limits such as +5% or +1MB are relative to, or a report of it\n"
             "that was saved as JSON"},
    HWI_SUPPRESSING_OPTION(suppressions),
    {.name = "output",
     .letter = 'o',
     HWI_VALUE(TEXT, output),
     .value = "FILE",
     .help = "also write the results to FILE, in addition to printing them; its suffix names\n"
             "the format: .txt, .json, or .xml for JUnit's"},
    {.name = "format", HWI_VALUE(CHOICE, format), .choices = format_names, .help = "how to print them (default: text)"},
    {.name = "json", HWI_VALUE(SET, format), .preset = HWI_FORMAT_JSON, .help = "short for --format json"},
    {.name = "top",
     .letter = 'n',
     HWI_VALUE(COUNT, top),
     .value = "N",
     .help = "stacks to show for a rule that failed (default: 3)"},
    HWI_FRAMES_OPTION(frames),
    HWI_READING_OPTIONS(reading),
    {0},
};

/* --- output --- */

static int print_verdicts(struct hwi_check *check, int format, FILE *out)
{
  struct hwi_error error = {0};
  int status;
  if (format == HWI_FORMAT_JSON) {
    status = hwi_check_json(check, out, &error);
  } else if (format == FORMAT_JUNIT) {
    status = hwi_check_junit(check, out, &error);
  } else {
    struct hwi_style style;
    hwi_style_init(&style, out);
    status = hwi_check_text(check, &style, &error);
  }
  return status < 0 ? hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text) : 0;
}

static bool has_file(const struct values *values)
{
  return values->output && strcmp(values->output, "-") != 0; /* the result is printed in any case */
}

static int write_file(struct hwi_check *check, const char *path)
{
  struct hwi_answer_file to;
  int status = hwi_answer_open(&to, path);
  return status != 0 ? status : hwi_answer_close(&to, print_verdicts(check, hwi_format_of(&formats, path), to.out));
}

static void warn_of_names(const struct hwi_check *check)
{
  for (size_t i = 0; i < check->budgets->count; i++) {
    const struct hwi_verdict *verdict = &check->verdicts[i];
    for (size_t k = 0; k < verdict->note_count; k++)
      hwi_warn("rule '%s': %s", verdict->budget->text, verdict->notes[k]);
  }
}

static int report_verdicts(const struct values *values, struct hwi_check *check)
{
  static const int statuses[] = {
      [HWI_VERDICT_OK] = HWI_EXIT_OK, [HWI_VERDICT_FAILED] = HWI_EXIT_NO, [HWI_VERDICT_UNKNOWN] = HWI_EXIT_TROUBLE};
  int status = print_verdicts(check, values->format, stdout);
  if (status == 0 && has_file(values))
    status = write_file(check, values->output);
  if (values->format != HWI_FORMAT_TEXT) /* the text has the note next to the rule */
    warn_of_names(check);
  return status != 0 ? status : statuses[hwi_check_state(check)];
}

/* --- runs --- */

/* A saved report has no events. What it leaves out belongs to no stack. */
static struct hwi_check_run run_of(struct hwi_compared *run)
{
  if (run->saved)
    return (struct hwi_check_run){.profile = run->profile, .rest = run->saved->rest};
  return (struct hwi_check_run){.profile = run->profile, .replayer = hwi_reading_replayer(&run->source)};
}

/* `runs` are the run and, if it has a profile, the baseline. */
static int check(const struct values *values, const struct hwi_budgets *budgets, struct hwi_compared runs[2],
                 struct hwi_suppressions *suppressions)
{
  const char *const traces[] = {runs[0].path, hwi_compared_trace(&runs[1]), NULL};
  struct hwi_symbols *symbols;
  int status = hwi_reading_symbols(&values->reading, traces, &symbols);
  if (status != 0)
    return status;
  const struct hwi_check_question question = {
      .run = run_of(&runs[0]),
      .baseline = run_of(&runs[1]),
      .names = hwi_reading_names(symbols),
      .baseline_names = hwi_compared_names(&runs[1], symbols),
      .budgets = budgets,
      .suppressions = suppressions->path ? suppressions : NULL,
      .top = values->top,
      .all_frames = hwi_frames_are_all(values->frames),
  };
  struct hwi_check verdicts;
  struct hwi_error error = {0};
  if (hwi_check_init(&verdicts, &question, &error) < 0)
    status = hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text);
  else
    status = report_verdicts(values, &verdicts);
  hwi_check_release(&verdicts);
  hwi_symbols_destroy(symbols);
  return status;
}

static int read_runs(const struct values *values, const char *path, struct hwi_compared runs[2])
{
  int status = hwi_compared_open(&runs[0], &values->reading, path);
  if (status == 0 && runs[0].saved)
    status = hwi_fail(HWI_EXIT_TROUBLE,
                      "%s is a saved report, which can only be the --baseline; check takes a recording", runs[0].path);
  if (status == 0 && values->baseline)
    status = hwi_compared_open(&runs[1], &values->reading, values->baseline);
  return status;
}

static int read_and_check(const struct values *values, const struct hwi_budgets *budgets, const char *path)
{
  struct hwi_compared runs[2] = {0};
  struct hwi_suppressions suppressions;
  int status = hwi_suppressing_begin(&suppressions, values->suppressions);
  if (status == 0)
    status = read_runs(values, path, runs);
  bool read = status == 0;
  if (read)
    status = check(values, budgets, runs, &suppressions);
  hwi_suppressing_end(&suppressions, read);
  hwi_compared_close(&runs[0]);
  hwi_compared_close(&runs[1]);
  return status;
}

/* --- rules --- */

static int read_rules(const struct values *values, struct hwi_budgets *budgets)
{
  struct hwi_error error = {0};
  int status = values->rules ? hwi_budgets_read(budgets, values->rules, &error) : HW_OK;
  for (size_t i = 0; i < values->max.count && status == HW_OK; i++)
    status = hwi_budgets_add(budgets, values->max.items[i], &error);
  if (status < 0)
    return hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text);
  if (budgets->count == 0)
    return hwi_fail(HWI_EXIT_TROUBLE, "check needs a rule: --max peak=200MB, or a file of them: --rules FILE");
  return 0;
}

static int run(const void *given, int word_count, char **words)
{
  const struct values *values = given;
  int status = hwi_reading_check(&values->reading);
  if (status != 0)
    return status;
  if (word_count != 1)
    return hwi_fail(HWI_EXIT_TROUBLE, "check takes one recording, not %d", word_count);
  if (values->top > BLAMED_MAX)
    return hwi_fail(HWI_EXIT_TROUBLE, "--top: at most %d stacks can be shown", BLAMED_MAX);
  if (has_file(values) && hwi_format_of(&formats, values->output) == HWI_FORMAT_UNKNOWN)
    return hwi_format_refuse(&formats, values->output, "");
  struct hwi_budgets budgets = {0};
  status = read_rules(values, &budgets);
  if (status == 0)
    status = read_and_check(values, &budgets, words[0]);
  hwi_budgets_release(&budgets);
  return status;
}

const struct hwi_command hwi_command_check = {
    .name = "check",
    .summary = "does a recording keep its budgets?",
    .usage = "[options] TRACE --max RULE...",
    .details =
        "A rule is FIGURE=LIMIT, or FIGURE(FILTER,...)=LIMIT. Figures: peak, own_peak, live, live_blocks, unfreed,\n"
        "unfreed_blocks, calls, bytes, temporary, failed, lost, and of recordings with --durations duration_mean, _p50,\n"
        "_p99, _p99_9, _p99_99, _max. Filters: func=, file=, module=, thread=, scope= (with * and ?), size= (N, N..M),\n"
        "entry=, from= and to= (5s, 90%, peak, end, a mark). Limits: 200MB, 1e6, 2us, and with --baseline +5%, +1MB.\n"
        "Exit status: 0 if all hold, 1 if one failed, 2 if one could not be decided.\n"
        "\n"
        "examples:\n"
        "  heapwright check app.hwt --max peak=200MB --max unfreed=0\n"
        "  heapwright check app.hwt --max 'calls(thread=control,from=5s)=0'\n"
        "  heapwright check new.hwt --baseline old.hwt --max peak=+5% -o budgets.xml\n",
    .options = options,
    .defaults = &defaults,
    .values_bytes = sizeof(struct values),
    .usage_status = HWI_EXIT_TROUBLE,
    .run = run,
};
