/* options.c - parses a command line by the table of its command */
#include "cli/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size_text.h"
#include "cli/command.h"
#include "report/input/quantities.h"
#include "report/input/suggest.h"
#include "report/words/line.h"

struct parser {
  const struct hwi_command *command;
  char **next; /* in argv */
  struct hwi_parsed *parsed;
};

static bool needs_value(const struct hwi_option *option)
{
  return option->kind >= HWI_OPTION_TEXT && option->kind < HWI_OPTION_MAYBE;
}

enum { SPELLED_BYTES = 64 };

/* Returns the option as the user spells it, for messages. */
static const char *spelled(const struct hwi_option *option, bool is_short, char buffer[SPELLED_BYTES])
{
  if (is_short)
    snprintf(buffer, SPELLED_BYTES, "-%c", option->letter);
  else
    snprintf(buffer, SPELLED_BYTES, "--%s", option->name);
  return buffer;
}

static int wrong_choice(const struct parser *parser, const struct hwi_option *option, const char *value)
{
  struct hwi_line list = {0};
  struct hwi_suggestion suggestion;
  hwi_suggestion_init(&suggestion, value, strlen(value));
  for (const char *const *choice = option->choices; *choice; choice++) {
    hwi_line_printf(&list, "%s%s", choice > option->choices ? ", " : "", *choice);
    hwi_suggestion_offer(&suggestion, *choice);
  }
  bool near = suggestion.best;
  int status = hwi_fail(parser->command->usage_status, "--%s takes one of %s, not '%s'%s%s%s", option->name,
                        hwi_line_text(&list), value, near ? "; did you mean '" : "", near ? suggestion.best : "",
                        near ? "'?" : "");
  hwi_line_release(&list);
  return status;
}

static int store_choice(const struct parser *parser, const struct hwi_option *option, const char *value, int *field)
{
  for (int i = 0; option->choices[i]; i++) {
    if (strcmp(option->choices[i], value) == 0) {
      *field = i;
      return 0;
    }
  }
  return wrong_choice(parser, option, value);
}

static bool count_parse(const char *text, uint64_t *count)
{
  if (*text < '0' || *text > '9')
    return false;
  char *end;
  errno = 0;
  *count = strtoull(text, &end, 10);
  return errno == 0 && *end == '\0';
}

static int wrong_value(const struct parser *parser, const struct hwi_option *option, const char *value,
                       const char *expected)
{
  return hwi_fail(parser->command->usage_status, "--%s takes %s, not '%s'", option->name, expected, value);
}

static int store(const struct parser *parser, const struct hwi_option *option, const char *value)
{
  void *field = (char *)parser->parsed->values + option->off;
  switch ((enum hwi_option_kind)option->kind) {
  case HWI_OPTION_ON:
  case HWI_OPTION_OFF:
    *(bool *)field = option->kind == HWI_OPTION_ON;
    return 0;
  case HWI_OPTION_SET:
    *(int *)field = option->preset;
    return 0;
  case HWI_OPTION_MAYBE:
    if (value)
      return store_choice(parser, option, value, field);
    *(int *)field = option->preset;
    return 0;
  case HWI_OPTION_TEXT:
    *(const char **)field = value;
    return 0;
  case HWI_OPTION_TEXTS: {
    struct hwi_texts *texts = field;
    if (texts->count == HWI_TEXTS_MAX)
      return hwi_fail(parser->command->usage_status, "--%s may be given at most %d times", option->name, HWI_TEXTS_MAX);
    texts->items[texts->count++] = value;
    return 0;
  }
  case HWI_OPTION_MAYBE_COUNT:
    if (!value) {
      *(uint64_t *)field = (uint64_t)option->preset;
      return 0;
    }
    /* fall through */
  case HWI_OPTION_COUNT:
    return count_parse(value, field) ? 0 : wrong_value(parser, option, value, "a whole number");
  case HWI_OPTION_MAYBE_SIZE:
    if (!value) {
      *(uint64_t *)field = (uint64_t)option->preset;
      return 0;
    }
    /* fall through */
  case HWI_OPTION_SIZE:
    return hwi_size_parse(value, field) ? 0
                                        : wrong_value(parser, option, value, "a size such as 4096, 64K, 512MiB or 2GB");
  case HWI_OPTION_DURATION:
    return hwi_duration_parse(value, field) ? 0
                                            : wrong_value(parser, option, value, "a time such as 5s, 200ms or 1.5m");
  case HWI_OPTION_CHOICE:
    return store_choice(parser, option, value, field);
  }
  return 0;
}

static int unknown_long(const struct parser *parser, const char *name, size_t name_bytes)
{
  struct hwi_suggestion suggestion;
  hwi_suggestion_init(&suggestion, name, name_bytes);
  for (const struct hwi_option *option = parser->command->options; option->name; option++)
    hwi_suggestion_offer(&suggestion, option->name);
  hwi_suggestion_offer(&suggestion, "help");
  const char *command = parser->command->name;
  if (suggestion.best)
    return hwi_fail(parser->command->usage_status, "%s has no option --%.*s; did you mean --%s?", command,
                    (int)name_bytes, name, suggestion.best);
  return hwi_fail(parser->command->usage_status, "%s has no option --%.*s; 'heapwright help %s' lists them", command,
                  (int)name_bytes, name, command);
}

static bool is_choice(const struct hwi_option *option, const char *word)
{
  for (int i = 0; word && option->choices[i]; i++) {
    if (strcmp(option->choices[i], word) == 0)
      return true;
  }
  return false;
}

/* `value` is the text after the '=' or the letter, or NULL. */
static int apply(struct parser *parser, const struct hwi_option *option, bool is_short, const char *value)
{
  char buffer[SPELLED_BYTES];
  if (needs_value(option)) {
    if (!value)
      value = *parser->next;
    if (!value)
      return hwi_fail(parser->command->usage_status, "%s needs a value: %s %s", spelled(option, is_short, buffer),
                      buffer, option->value ? option->value : "...");
    if (value == *parser->next)
      parser->next++;
  } else if (option->kind == HWI_OPTION_MAYBE) {
    if (!value && is_choice(option, *parser->next))
      value = *parser->next++;
  } else if (option->kind == HWI_OPTION_MAYBE_SIZE) {
    uint64_t size;
    if (!value && *parser->next && hwi_size_parse(*parser->next, &size))
      value = *parser->next++;
  } else if (option->kind == HWI_OPTION_MAYBE_COUNT) {
    uint64_t count;
    if (!value && *parser->next && count_parse(*parser->next, &count))
      value = *parser->next++;
  } else if (value) {
    return hwi_fail(parser->command->usage_status, "%s takes no value", spelled(option, is_short, buffer));
  }
  return store(parser, option, value);
}

static int parse_long(struct parser *parser, const char *text)
{
  size_t name_bytes = strcspn(text, "=");
  const char *value = text[name_bytes] == '=' ? text + name_bytes + 1 : NULL;
  for (const struct hwi_option *option = parser->command->options; option->name; option++) {
    if (strlen(option->name) == name_bytes && memcmp(option->name, text, name_bytes) == 0)
      return apply(parser, option, false, value);
  }
  if (strcmp(text, "help") == 0) {
    parser->parsed->help = true;
    return 0;
  }
  return unknown_long(parser, text, name_bytes);
}

static const struct hwi_option *find_letter(const struct parser *parser, char letter)
{
  for (const struct hwi_option *option = parser->command->options; option->name; option++) {
    if (option->letter == letter)
      return option;
  }
  return NULL;
}

static int parse_short(struct parser *parser, const char *letters)
{
  for (; *letters != '\0' && !parser->parsed->help; letters++) {
    const struct hwi_option *option = find_letter(parser, *letters);
    if (!option && *letters == 'h') {
      parser->parsed->help = true;
      return 0;
    }
    if (!option)
      return hwi_fail(parser->command->usage_status, "%s has no option -%c; 'heapwright help %s' lists them",
                      parser->command->name, *letters, parser->command->name);
    bool valued = needs_value(option);
    int status = apply(parser, option, true, valued && letters[1] != '\0' ? letters + 1 : NULL);
    if (status != 0 || valued)
      return status;
  }
  return 0;
}

int hwi_options_parse(const struct hwi_command *command, char **argv, struct hwi_parsed *parsed)
{
  *parsed = (struct hwi_parsed){.words = argv, .values = malloc(command->values_bytes)};
  if (!parsed->values)
    return hwi_fail(HWI_EXIT_TROUBLE, "no memory");
  memcpy(parsed->values, command->defaults, command->values_bytes);
  struct parser parser = {.command = command, .next = argv, .parsed = parsed};
  bool only_words = false;
  while (*parser.next && !parsed->help) {
    char *text = *parser.next++;
    int status = 0;
    if (only_words || text[0] != '-' || text[1] == '\0') {
      parsed->words[parsed->word_count++] = text;
      only_words |= command->words_end_options;
    } else if (strcmp(text, "--") == 0) {
      only_words = true;
      if (command->command_after_dashes)
        parsed->words[parsed->word_count++] = text;
    } else if (text[1] == '-') {
      status = parse_long(&parser, text + 2);
    } else {
      status = parse_short(&parser, text + 1);
    }
    if (status != 0)
      return status;
  }
  parsed->words[parsed->word_count] = NULL;
  return 0;
}

void hwi_options_release(struct hwi_parsed *parsed)
{
  free(parsed->values);
  parsed->values = NULL;
}
