/* cmd_check.c - heapwright check: does a recording keep its budgets? */
#include <string.h>

#include "cli/answer.h"
#include "cli/ranking.h"
#include "cli/reading.h"
#include "cli/suppressing.h"
#include "compare/check.h"
#include "symbols/symbols.h"

enum { BLAMED_DEFAULT = 3, BLAMED_MAX = 1000000 };

struct values {
  struct hwi_texts max;
  const char *rules, *baseline, *suppressions, *output;
  struct hwi_reading reading;
  uint64_t top;
  int frames, format;
};

static const struct values defaults = {.top = BLAMED_DEFAULT};

static const struct hwi_option options[] = {
    {.name = "max",
     .kind = HWI_OPTION_TEXTS,
     .off = offsetof(struct values, max),
     .value = "RULE",
     .help = "a figure and its limit: FIGURE[(FILTER,...)]=LIMIT; may be given again"},
    {.name = "rules",
     .kind = HWI_OPTION_TEXT,
     .off = offsetof(struct values, rules),
     .value = "FILE",
     .help = "more of them, one a line; lines that begin with # are comments"},
    {.name = "baseline",
     .kind = HWI_OPTION_TEXT,
     .off = offsetof(struct values, baseline),
     .value = "OLD",
     .help = "the recording that limits such as +5% or +1MB are changes against"},
    HWI_SUPPRESSING_OPTION(suppressions),
    {.name = "output",
     .letter = 'o',
     .kind = HWI_OPTION_TEXT,
     .off = offsetof(struct values, output),
     .value = "FILE",
     .help = "write the verdicts to FILE, too: .xml is JUnit's format, .json ours"},
    {.name = "json",
     .kind = HWI_OPTION_SET,
     .preset = HWI_FORMAT_JSON,
     .off = offsetof(struct values, format),
     .help = "print JSON"},
    {.name = "top",
     .letter = 'n',
     .kind = HWI_OPTION_COUNT,
     .off = offsetof(struct values, top),
     .value = "N",
     .help = "stacks to show for a rule that failed (default: 3)"},
    {.name = "frames",
     .kind = HWI_OPTION_CHOICE,
     .off = offsetof(struct values, frames),
     .choices = hwi_frames_names,
     .help = "every frame of a stack, or without those that say little (default: folded)"},
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
  } else {
    struct hwi_style style;
    hwi_style_init(&style, out);
    status = hwi_check_text(check, &style, &error);
  }
  return status < 0 ? hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text) : 0;
}

static bool ends_with(const char *text, const char *suffix)
{
  size_t bytes = strlen(text), suffix_bytes = strlen(suffix);
  return bytes > suffix_bytes && strcmp(text + bytes - suffix_bytes, suffix) == 0;
}

static int write_file(struct hwi_check *check, const char *path)
{
  struct hwi_answer_file to;
  int status = hwi_answer_open(&to, path);
  if (status != 0)
    return status;
  struct hwi_error error = {0};
  int written =
      ends_with(path, ".xml") ? hwi_check_junit(check, to.out, &error) : hwi_check_json(check, to.out, &error);
  return hwi_answer_close(&to, written < 0 ? hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text) : 0);
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
  if (status == 0 && values->output != NULL)
    status = write_file(check, values->output);
  if (values->format == HWI_FORMAT_JSON) /* the text says it beside the rule */
    warn_of_names(check);
  return status != 0 ? status : statuses[hwi_check_state(check)];
}

/* --- runs --- */

struct recording {
  const struct hwi_reading *reading;
  char path[HWI_READING_PATH_BYTES];
  struct hwi_profile *profile;
};

static int replay(void *context, const struct hwi_block_sink *sink, struct hwi_error *error)
{
  const struct recording *recording = context;
  return hwi_reading_replay(recording->reading, recording->path, sink, error);
}

static int read_recording(struct recording *recording, const struct hwi_reading *reading, const char *path)
{
  recording->reading = reading;
  int status = hwi_reading_find(path, recording->path, sizeof recording->path);
  return status == 0 ? hwi_reading_profile(reading, recording->path, &recording->profile) : status;
}

/* recordings: the run and, where it has a profile, the baseline. */
static int check(const struct values *values, const struct hwi_budgets *budgets, struct recording recordings[2],
                 struct hwi_suppressions *suppressions)
{
  const char *const paths[] = {recordings[0].path, recordings[1].profile != NULL ? recordings[1].path : NULL, NULL};
  struct hwi_symbols *symbols;
  int status = hwi_reading_symbols(&values->reading, paths, &symbols);
  if (status != 0)
    return status;
  const struct hwi_check_question question = {
      .run = {recordings[0].profile, replay, &recordings[0]},
      .baseline = {recordings[1].profile, replay, &recordings[1]},
      .names = hwi_reading_names(symbols),
      .budgets = budgets,
      .suppressions = suppressions->path != NULL ? suppressions : NULL,
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

static int read_and_check(const struct values *values, const struct hwi_budgets *budgets, const char *path)
{
  struct recording recordings[2] = {{0}};
  struct hwi_suppressions suppressions;
  int status = hwi_suppressing_begin(&suppressions, values->suppressions);
  if (status == 0)
    status = read_recording(&recordings[0], &values->reading, path);
  if (status == 0 && values->baseline != NULL)
    status = read_recording(&recordings[1], &values->reading, values->baseline);
  bool read = status == 0;
  if (read)
    status = check(values, budgets, recordings, &suppressions);
  hwi_suppressing_end(&suppressions, read);
  for (int i = 0; i < 2; i++) {
    if (recordings[i].profile != NULL)
      hwi_profile_destroy(recordings[i].profile);
  }
  return status;
}

/* --- rules --- */

static int read_rules(const struct values *values, struct hwi_budgets *budgets)
{
  struct hwi_error error = {0};
  int status = values->rules != NULL ? hwi_budgets_read(budgets, values->rules, &error) : HW_OK;
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
  if (values->output != NULL && !ends_with(values->output, ".xml") && !ends_with(values->output, ".json"))
    return hwi_fail(HWI_EXIT_TROUBLE, "-o %s: its suffix names no format; the known ones are .xml and .json",
                    values->output);
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
        "unfreed_blocks, calls, bytes, temporary, failed, lost. Filters: func=, file=, module=, thread= (with * and ?),\n"
        "size= (N, N..M), from= and to= (5s, 90%, peak, end, a mark). Limits: 200MB, 1e6, and with --baseline +5%, +1MB.\n"
        "Exit status: 0 where all hold, 1 where one failed, 2 where it could not be told.\n"
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
