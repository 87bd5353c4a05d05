/* cmd_tune.c - heapwright tune: how large a pool this program needs, or which size classes a heap */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/answer.h"
#include "cli/read_recording.h"
#include "report/words/line.h"
#include "report/words/style.h"
#include "tune/classes/classes.h"
#include "tune/launch_lines.h"
#include "tune/tune.h"
#include "tune/tune_text.h"

struct values {
  struct hwi_reading reading;
  struct hwi_answer answer;
  const char *margin;
  uint64_t classes;  /* how many; or: */
  const char *check; /* another recording, or NULL */
};

/* A pool is wanted, no classes; `--classes` without a number. */
#define NO_CLASSES (UINT64_MAX - 1)
#define ANY_CLASSES UINT64_MAX

/* The formats of launch files follow text and JSON, in their order; then those of tables of classes. */
enum { FIRST_LAUNCH_FORM = HWI_FORMAT_JSON + 1, CONFIG_FORMAT = FIRST_LAUNCH_FORM + HWI_LAUNCH_PYTHON + 1, C_FORMAT };

static const char *const format_names[] = {"text", "json", "env", "sh", "xml", "py", "conf", "c", NULL};
static const char *const suffixes[] = {".txt", ".json", ".env", ".sh", ".xml", ".py", ".conf", ".c"};
static const struct hwi_formats formats = {format_names, suffixes};

static const struct values defaults = {.answer = HWI_ANSWER_DEFAULTS_OF(&formats), .classes = NO_CLASSES};

static const struct hwi_option options[] = {
    {.name = "margin",
     HWI_VALUE(TEXT, margin),
     .value = "PERCENT",
     .help = "how much larger than the smallest sufficient pool (default: 10%)"},
    {.name = "classes",
     HWI_VALUE(MAYBE_COUNT, classes),
     .preset = -1,
     .value = "N",
     .help = "instead of a pool: the N size classes of a heap (run -a heap) that waste least, at\n"
             "most 64; without N also how many. If another table may be better, that is said"},
    {.name = "check",
     HWI_VALUE(TEXT, check),
     .value = "TRACE",
     .help = "with --classes: also say what the table saves in this other recording"},
    HWI_ANSWER_OPTIONS_OF(answer, format_names,
                          ".env (NAME=VALUE), .sh (export),\n"
                          ".xml and .py (of a ROS 2 launch file), .txt or .json; with --classes also .conf (for\n"
                          "HEAPWRIGHT_HEAP_CONFIG) and .c"),
    HWI_READING_PROCESSES(reading, "the one that allocated most"),
    {0},
};

/* --- what is wanted --- */

static int read_margin(const char *text, uint64_t *percent)
{
  char *end;
  *percent = HWI_TUNE_MARGIN_DEFAULT;
  if (!text)
    return 0;
  *percent = strtoull(text, &end, 10);
  if (*text < '0' || *text > '9' || (*end != '\0' && strcmp(end, "%") != 0) || *percent > HWI_TUNE_MARGIN_MAX)
    return hwi_fail(HWI_EXIT_TROUBLE, "--margin %s: try a whole percentage up to %d%%, such as 10%%", text,
                    HWI_TUNE_MARGIN_MAX);
  return 0;
}

static int check_classes(const struct values *values, const struct hwi_answer *answer)
{
  if (values->classes == NO_CLASSES && answer->format >= CONFIG_FORMAT)
    return hwi_fail(HWI_EXIT_TROUBLE, "the format %s is for a table of size classes: add --classes",
                    format_names[answer->format]);
  if (values->classes == NO_CLASSES && values->check)
    return hwi_fail(HWI_EXIT_TROUBLE, "--check is for a table of size classes: add --classes");
  if (values->classes == NO_CLASSES)
    return 0;
  if (values->margin)
    return hwi_fail(HWI_EXIT_TROUBLE, "--margin is for a pool, and --classes for a heap: leave one of them out");
  if (values->classes != ANY_CLASSES && (values->classes == 0 || values->classes > HWI_CLASS_COUNT_MAX))
    return hwi_fail(HWI_EXIT_TROUBLE, "--classes %" PRIu64 ": a heap has from 1 to %d size classes", values->classes,
                    HWI_CLASS_COUNT_MAX);
  return 0;
}

/* --- a pool --- */

static int write_pool(const void *answer, int format, FILE *out, struct hwi_error *error)
{
  const struct hwi_tune *tune = answer;
  if (format == HWI_FORMAT_TEXT) {
    struct hwi_style style;
    hwi_style_init(&style, out);
    return hwi_tune_text(tune, &style, error);
  }
  if (format == HWI_FORMAT_JSON)
    return hwi_tune_json(tune, out, error);
  char bytes[32];
  snprintf(bytes, sizeof bytes, "%" PRIu64, tune->processes->pool_bytes);
  hwi_launch_lines_write((enum hwi_launch_form)(format - FIRST_LAUNCH_FORM), "libheapwright-tlsf.so",
                         "HEAPWRIGHT_POOL_SIZE", bytes, out);
  return HW_OK;
}

/* --- size classes --- */

static int write_class_lines(const struct hwi_classes *classes, enum hwi_launch_form form, FILE *out,
                             struct hwi_error *error)
{
  struct hwi_line sizes = {0};
  hwi_classes_list(classes, &sizes);
  hwi_launch_lines_write(form, "libheapwright-heap.so", HWI_CLASSES_VARIABLE, hwi_line_text(&sizes), out);
  bool failed = sizes.failed;
  hwi_line_release(&sizes);
  return failed ? hwi_error_set(error, HW_ERR_MEMORY, "no memory to write the answer") : HW_OK;
}

static int write_classes(const void *answer, int format, FILE *out, struct hwi_error *error)
{
  const struct hwi_classes *classes = answer;
  if (format == HWI_FORMAT_TEXT) {
    struct hwi_style style;
    hwi_style_init(&style, out);
    return hwi_classes_text(classes, &style, error);
  }
  if (format == HWI_FORMAT_JSON)
    return hwi_classes_json(classes, out, error);
  if (format < CONFIG_FORMAT)
    return write_class_lines(classes, (enum hwi_launch_form)(format - FIRST_LAUNCH_FORM), out, error);
  return (format == C_FORMAT ? hwi_classes_c : hwi_classes_config)(classes, out, error);
}

/* --- the answer --- */

typedef int write_fn(const void *answer, int format, FILE *out, struct hwi_error *error);

static int print_answer(const struct hwi_answer *how, write_fn *write, const void *answer)
{
  struct hwi_answer_file to;
  struct hwi_error error = {0};
  int status = hwi_answer_open(&to, how->path);
  if (status != 0)
    return status;
  if (write(answer, how->format, to.out, &error) < 0)
    status = hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text);
  return hwi_answer_close(&to, status);
}

/* The next two: what only the text says by itself. */
static void warn_if_not_whole(const struct hwi_profile *profile, const char *doubt)
{
  if (!hwi_tune_is_whole(profile))
    hwi_warn("%s", doubt);
}

static void warn_if_few(const struct hwi_classes *classes)
{
  struct hwi_line line = {0};
  if (!hwi_classes_are_few(classes))
    return;
  hwi_classes_say_few(classes, &line);
  hwi_warn("%s", hwi_line_text(&line));
  hwi_line_release(&line);
}

static int tune_pool(const struct hwi_tune_question *question, const struct hwi_answer *how)
{
  struct hwi_tune tune;
  struct hwi_error error = {0};
  if (hwi_tune_init(&tune, question, &error) < 0)
    return hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text);
  if (how->format != HWI_FORMAT_TEXT)
    warn_if_not_whole(question->profile, HWI_TUNE_POOL_DOUBT);
  int status = print_answer(how, write_pool, &tune);
  hwi_tune_release(&tune);
  return status;
}

/* --pid is not of the other recording: another run has other ones. */
static int check_table(struct hwi_classes *classes, const struct values *values)
{
  struct hwi_reading reading = values->reading;
  char path[HWI_READING_PATH_BYTES];
  struct hwi_reading_source source = {&reading, path};
  const struct hwi_replayer replayer = hwi_reading_replayer(&source);
  struct hwi_profile *profile;
  struct hwi_error error = {0};
  reading.pid = 0;
  int status = hwi_reading_find(values->check, path, sizeof path);
  if (status == 0)
    status = hwi_reading_profile(&reading, path, &profile);
  if (status != 0)
    return status;
  if (hwi_classes_check(classes, values->check, profile, &replayer, &error) < 0)
    status = hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text);
  hwi_profile_destroy(profile);
  return status;
}

static int tune_classes(const struct hwi_tune_question *question, const struct values *values,
                        const struct hwi_answer *how)
{
  struct hwi_classes classes;
  struct hwi_error error = {0};
  const size_t count = values->classes == ANY_CLASSES ? HWI_CLASSES_CHOSEN : (size_t)values->classes;
  if (hwi_classes_init(&classes, question->profile, count, &question->replayer, &error) < 0)
    return hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text);
  int status = values->check ? check_table(&classes, values) : 0;
  if (status == 0 && how->format != HWI_FORMAT_TEXT) {
    warn_if_few(&classes);
    warn_if_not_whole(question->profile, HWI_TUNE_CLASSES_DOUBT);
  }
  if (status == 0)
    status = print_answer(how, write_classes, &classes);
  hwi_classes_release(&classes);
  return status;
}

/* --- the recording --- */

static int run(const void *given, int word_count, char **words)
{
  const struct values *values = given;
  struct hwi_answer answer = values->answer;
  char path[HWI_READING_PATH_BYTES];
  struct hwi_reading_source source = {&values->reading, path};
  struct hwi_tune_question question = {.replayer = hwi_reading_replayer(&source)};
  struct hwi_profile *profile;
  int status = hwi_reading_check(&values->reading);
  if (status == 0 && word_count != 1)
    return hwi_fail(HWI_EXIT_TROUBLE, "tune takes one recording, not %d", word_count);
  if (status == 0)
    status = hwi_answer_check(&answer);
  if (status == 0)
    status = check_classes(values, &answer);
  if (status == 0)
    status = read_margin(values->margin, &question.margin_percent);
  if (status == 0)
    status = hwi_reading_find(words[0], path, sizeof path);
  if (status == 0)
    status = hwi_reading_profile(&values->reading, path, &profile);
  if (status != 0)
    return status;
  question.profile = profile;
  if (values->classes != NO_CLASSES)
    status = tune_classes(&question, values, &answer);
  else if (profile->sample_bytes)
    status = hwi_fail(HWI_EXIT_TROUBLE,
                      "%s is sampled: tune makes every call again, and most of them are not in it; record without "
                      "--sample",
                      path);
  else
    status = tune_pool(&question, &answer);
  hwi_profile_destroy(profile);
  return status;
}

const struct hwi_command hwi_command_tune = {
    .name = "tune",
    .summary = "how large a real-time pool, or which size classes, does this program need?",
    .usage = "[options] TRACE",
    .details =
        "Makes the recording's calls again, in their order, on the pool of libheapwright-tlsf.so itself, and names the\n"
        "HEAPWRIGHT_POOL_SIZE on which it does not grow. Another run may need more: record it under its highest load,\n"
        "and choose a margin for the difference.\n"
        "\n"
        "With --classes: the size classes of libheapwright-heap.so with which the recorded blocks need least memory, and\n"
        "what they save. No other table of so many classes needs less, by the sizes of the blocks that were live at the\n"
        "peak and over time.\n"
        "\n"
        "examples:\n"
        "  heapwright tune app.hwt                       the size, and what it is made of\n"
        "  heapwright tune --margin 25% app.hwt -o pool.env\n"
        "  heapwright tune --children build.hwt          every process of the run\n"
        "  heapwright tune --classes app.hwt -o app.conf\n"
        "  heapwright tune --classes --check other.hwt app.hwt\n"
        "  HEAPWRIGHT_HEAP_CONFIG=app.conf heapwright run -a heap -- ./app\n",
    .options = options,
    .defaults = &defaults,
    .values_bytes = sizeof(struct values),
    .usage_status = HWI_EXIT_TROUBLE,
    .run = run,
};
