/* record_options.c - how a command is recorded: the options of `heapwright record` and of `heapwright live -- COMMAND` */
#include "cli/record_options.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/size_text.h"
#include "cli/own_variables.h"
#include "profile/profile.h"
#include "report/input/quantities.h"

/* --- what is wanted --- */

/* The launcher uses its default for 0. */
static uint64_t or_default(uint64_t value)
{
  return value == HWI_NOT_GIVEN ? 0 : value;
}

/* Returns the size of --sample, or else of the variable, which the recorder reads; 0 if it is none. */
static uint64_t sample_of(const struct hwi_recording_values *values)
{
  const char *variable = getenv("HEAPWRIGHT_SAMPLE");
  uint64_t bytes = values->sample_bytes;
  if (bytes == HWI_NOT_GIVEN && variable && !hwi_size_parse(variable, &bytes))
    return 0;
  return bytes;
}

/* Reads what is to be kept: a time or a size. A lower-case m alone could be either. Returns what is wrong, or NULL. */
static const char *parse_keep(const char *text, struct hwi_keep *keep)
{
  enum { SIZE_MIN = 1 << 20 };
  const size_t digits = strspn(text, "0123456789.");
  *keep = (struct hwi_keep){0};
  if (digits && strcmp(text + digits, "m") == 0)
    return "--keep: m is minutes or MiB; write min or M";
  if (text[digits] && hwi_duration_parse(text, &keep->ns))
    return keep->ns < HWI_NS_A_SECOND ? "--keep takes a time of at least 1s" : NULL;
  if (text[digits] && hwi_size_parse(text, &keep->bytes))
    return keep->bytes < SIZE_MIN ? "--keep takes a size of at least 1M" : NULL;
  return "--keep takes a time such as 10min or 24h, or a size such as 500MB or 2GB";
}

/* Returns what is wrong with the values, or NULL if they are valid. */
static const char *wrong_value(const struct hwi_recording_values *values)
{
  enum { DEPTH_MIN = 64, DEPTH_MAX = 65536, SIZE_MIN = 4 << 20, LIST_MAX = 255 };
  if (values->depth != HWI_NOT_GIVEN && (values->depth < DEPTH_MIN || values->depth > DEPTH_MAX))
    return "--depth takes a number from 64 to 65536";
  if (values->max_size < SIZE_MIN)
    return "--max-size takes at least 4M";
  const uint64_t sample_bytes = sample_of(values);
  if (sample_bytes != HWI_NOT_GIVEN && (!sample_bytes || sample_bytes > HW_SAMPLE_MAX_BYTES))
    return "--sample (HEAPWRIGHT_SAMPLE) takes a size from 1 byte to 1 GiB, such as 512K";
  if (sample_bytes != HWI_NOT_GIVEN && values->durations)
    return "--sample (HEAPWRIGHT_SAMPLE) and --durations exclude each other: the calls that a sample leaves out are not timed";
  if (values->duration_ns == 0)
    return "--duration must be more than 0; --paused begins without recording";
  if (values->only_process && values->only_process[0] == '\0')
    return "--only-process takes the name of a program, with * and ?";
  if (values->itt_ignore && strlen(values->itt_ignore) > LIST_MAX)
    return "--itt-ignore takes at most 255 characters";
  struct hwi_keep keep;
  const char *wrong_keep = values->keep ? parse_keep(values->keep, &keep) : NULL;
  if (wrong_keep)
    return wrong_keep;
  if (values->keep && !values->pack)
    return "--keep drops packed events, so it cannot be used with --no-pack";
  return hwi_variables_are_right(&values->variables) ? NULL : HWI_VARIABLES_WRONG;
}

/* Reads the limits at which the recording is saved. Returns their number, or -1 after a message. */
static int read_save_rules(const struct hwi_recording_values *values, struct hwi_save_rule rules[HWI_SAVE_RULES_MAX])
{
  struct hwi_error error = {0};
  if (values->save_when.count > HWI_SAVE_RULES_MAX)
    return hwi_fail(-1, "--save-when: there can be %d limits, not %zu", HWI_SAVE_RULES_MAX, values->save_when.count);
  for (size_t i = 0; i < values->save_when.count; i++) {
    if (hwi_save_rule_parse(&rules[i], values->save_when.items[i], &error) < 0)
      return hwi_fail(-1, "--save-when: %s", error.text);
    if (rules[i].figure != HWI_SAVE_RSS && !values->pack)
      return hwi_fail(-1, "--save-when '%s': live bytes are counted while the trace is packed; leave out --no-pack",
                      rules[i].text);
  }
  return (int)values->save_when.count;
}

int hwi_recording_wanted(const struct hwi_recording_values *values, struct hwi_launch_options *wanted,
                         struct hwi_save_rule rules[HWI_SAVE_RULES_MAX])
{
  const char *wrong = wrong_value(values);
  if (wrong)
    return hwi_fail(HWI_EXIT_LAUNCHER, "%s", wrong);
  const int rule_count = read_save_rules(values, rules);
  if (rule_count < 0)
    return HWI_EXIT_LAUNCHER;
  hwi_own_variables_check(&values->variables);
  *wanted = (struct hwi_launch_options){
      .only_process = values->only_process,
      .children = values->children,
      .depth = or_default(values->depth),
      .max_size = or_default(values->max_size),
      .usable = values->usable,
      .durations = values->durations,
      .sample_bytes = or_default(values->sample_bytes),
      .paused = values->paused,
      .itt_ignore = values->itt_ignore,
      .itt_verbose = values->itt_verbose,
      .ros = values->ros,
      .trap = values->trap,
      .duration_ns = or_default(values->duration_ns),
      .allocator = values->allocator,
      .variables = values->variables.items,
      .variable_count = values->variables.count,
      .pack = values->pack,
      .save_rules = rules,
      .save_rule_count = (size_t)rule_count,
      .warn = hwi_warn,
  };
  if (values->keep)
    (void)parse_keep(values->keep, &wanted->keep);
  return 0;
}

/* --- as words --- */

struct values {
  struct hwi_recording_values recording;
};

static const struct hwi_option options[] = {HWI_RECORDING_OPTIONS(recording), {.name = NULL}};

/* `value`: NULL for a flag. Returns false if there is no memory. */
static bool add(struct hwi_recording_words *words, const struct hwi_option *option, const char *value)
{
  const bool is_added =
      asprintf(&words->list[words->count], "--%s%s%s", option->name, value ? "=" : "", value ? value : "") >= 0;
  words->count += is_added;
  return is_added;
}

static bool add_texts(struct hwi_recording_words *words, const struct hwi_option *option, const struct hwi_texts *texts)
{
  bool is_added = true;
  for (size_t i = 0; i < texts->count && is_added; i++)
    is_added = add(words, option, texts->items[i]);
  return is_added;
}

static bool add_option(struct hwi_recording_words *words, const struct hwi_option *option, const void *values)
{
  const void *field = (const char *)values + option->off;
  char number[32];
  switch ((enum hwi_option_kind)option->kind) {
  case HWI_OPTION_ON:
  case HWI_OPTION_OFF:
    return *(const bool *)field != (option->kind == HWI_OPTION_ON) || add(words, option, NULL);
  case HWI_OPTION_SET:
    return *(const int *)field != option->preset || add(words, option, NULL);
  case HWI_OPTION_TEXT:
    return !*(const char *const *)field || add(words, option, *(const char *const *)field);
  case HWI_OPTION_TEXTS:
    return add_texts(words, option, field);
  default: /* a number */
    snprintf(number, sizeof number, "%" PRIu64 "%s", *(const uint64_t *)field,
             option->kind == HWI_OPTION_DURATION ? "ns" : "");
    return *(const uint64_t *)field == HWI_NOT_GIVEN || add(words, option, number);
  }
}

bool hwi_recording_words_init(struct hwi_recording_words *words, const struct hwi_recording_values *values,
                              char *const *command)
{
  enum { MOST = sizeof options / sizeof *options + 2 * HWI_TEXTS_MAX };
  size_t command_count = 0;
  while (command[command_count])
    command_count++;
  *words = (struct hwi_recording_words){.list = calloc(MOST + command_count + 1, sizeof(char *))};
  bool is_added = words->list;
  for (const struct hwi_option *option = options; option->name && is_added; option++)
    is_added = add_option(words, option, &(const struct values){*values});
  if (is_added)
    memcpy(words->list + words->count, command, command_count * sizeof *command);
  return is_added;
}

void hwi_recording_words_release(struct hwi_recording_words *words)
{
  for (size_t i = 0; i < words->count; i++)
    free(words->list[i]);
  free(words->list);
  *words = (struct hwi_recording_words){0};
}
