/* cmd_tune.c - heapwright tune: how large a pool this program needs */
#include <stdlib.h>
#include <string.h>

#include "cli/answer.h"
#include "cli/read_recording.h"
#include "report/words/style.h"
#include "tune/tune.h"

struct values {
  struct hwi_reading reading;
  struct hwi_answer answer;
  const char *margin;
};

/* The forms of launch files follow text and json, in their order. */
enum { FIRST_LAUNCH_FORM = HWI_FORMAT_JSON + 1 };

static const char *const format_names[] = {"text", "json", "env", "sh", "xml", "py", NULL};
static const char *const suffixes[] = {".txt", ".json", ".env", ".sh", ".xml", ".py"};
static const struct hwi_formats formats = {format_names, suffixes};

static const struct values defaults = {.answer = HWI_ANSWER_DEFAULTS_OF(&formats)};

static const struct hwi_option options[] = {
    {.name = "margin",
     HWI_VALUE(TEXT, margin),
     .value = "PERCENT",
     .help = "how much larger than the smallest sufficient pool (default: 10%)"},
    HWI_ANSWER_OPTIONS_OF(answer, format_names,
                          ".env (NAME=VALUE), .sh (export),\n"
                          ".xml and .py (of a ROS 2 launch file), .txt or .json"),
    HWI_READING_PROCESSES(reading),
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

/* --- the answer --- */

static int write_answer(const struct hwi_tune *tune, int format, FILE *out)
{
  struct hwi_error error = {0};
  int status = HW_OK;
  if (format == HWI_FORMAT_TEXT) {
    struct hwi_style style;
    hwi_style_init(&style, out);
    status = hwi_tune_text(tune, &style, &error);
  } else if (format == HWI_FORMAT_JSON) {
    status = hwi_tune_json(tune, out, &error);
  } else {
    hwi_tune_launch(tune, (enum hwi_launch_form)(format - FIRST_LAUNCH_FORM), out);
  }
  return status < 0 ? hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text) : 0;
}

static int print_answer(const struct hwi_tune *tune, const struct hwi_answer *answer)
{
  struct hwi_answer_file to;
  int status = hwi_answer_open(&to, answer->path);
  return status != 0 ? status : hwi_answer_close(&to, write_answer(tune, answer->format, to.out));
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
    status = read_margin(values->margin, &question.margin_percent);
  if (status == 0)
    status = hwi_reading_find(words[0], path, sizeof path);
  if (status == 0)
    status = hwi_reading_profile(&values->reading, path, &profile);
  if (status != 0)
    return status;
  if (profile->sample_bytes) {
    hwi_profile_destroy(profile);
    return hwi_fail(
        HWI_EXIT_TROUBLE,
        "%s is sampled: tune makes every call again, and most of them are not in it; record without --sample", path);
  }
  question.profile = profile;
  struct hwi_tune tune;
  struct hwi_error error = {0};
  if (hwi_tune_init(&tune, &question, &error) < 0) {
    status = hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text);
  } else {
    status = print_answer(&tune, &answer);
    hwi_tune_release(&tune);
  }
  hwi_profile_destroy(profile);
  return status;
}

const struct hwi_command hwi_command_tune = {
    .name = "tune",
    .summary = "how large a real-time pool does this program need?",
    .usage = "[options] TRACE",
    .details =
        "Makes the recording's calls again, in their order, on the pool of libheapwright-tlsf.so itself, and names the\n"
        "HEAPWRIGHT_POOL_SIZE on which it does not grow. Another run may need more: record it under its highest load,\n"
        "and choose a margin for the difference.\n"
        "\n"
        "examples:\n"
        "  heapwright tune app.hwt                       the size, and what it is made of\n"
        "  heapwright tune --margin 25% app.hwt -o pool.env\n"
        "  heapwright tune --children build.hwt          every process of the run\n",
    .options = options,
    .defaults = &defaults,
    .values_bytes = sizeof(struct values),
    .usage_status = HWI_EXIT_TROUBLE,
    .run = run,
};
