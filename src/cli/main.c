/* main.c - finds the subcommand and runs it */
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "allocators/heap/config.h"
#include "base/version.h"
#include "cli/answer.h"
#include "cli/command.h"
#include "report/input/suggest.h"

extern char **environ;

/* --- heapwright's own variables --- */

static const char prefix[] = "HEAPWRIGHT_";

/* The variables that the recorder, the pool and the heap read, and those that `run` passes to its library; without those of
 * the fields of a heap's config. */
static const char *const known[] = {
    "HEAPWRIGHT_OUTPUT",
    "HEAPWRIGHT_RUN",
    "HEAPWRIGHT_DEPTH",
    "HEAPWRIGHT_MAX_SIZE",
    "HEAPWRIGHT_USABLE",
    "HEAPWRIGHT_DURATIONS",
    "HEAPWRIGHT_PAUSED",
    "HEAPWRIGHT_CHILDREN",
    "HEAPWRIGHT_ONLY_PROCESS",
    "HEAPWRIGHT_CHECK",
    "HEAPWRIGHT_REDIRECT",
    "HEAPWRIGHT_LAUNCHER",
    "HEAPWRIGHT_POOL_SIZE",
    "HEAPWRIGHT_POOL_GROWTH",
    "HEAPWRIGHT_POOL_POLICY",
    "HEAPWRIGHT_POOL_LOCK",
    "HEAPWRIGHT_POOL_HUGE_PAGES",
    "HEAPWRIGHT_POOL_STATS",
    "HEAPWRIGHT_POOL_TOUCH",
    "HEAPWRIGHT_ALONE",
    "HEAPWRIGHT_TRAP",
    "HEAPWRIGHT_FRAMES",
    "HEAPWRIGHT_INLINE",
    "HEAPWRIGHT_RED_ZONE",
    "HEAPWRIGHT_KEEP_FREED",
    "HEAPWRIGHT_REPORT_DAMAGE",
    "HEAPWRIGHT_ITT_IGNORE",
    "HEAPWRIGHT_ITT_VERBOSE",
    "HEAPWRIGHT_QUIET",
    "HEAPWRIGHT_SAMPLE",
    "HEAPWRIGHT_STATS",
    HWI_HEAP_LIBC_VARIABLE,
    HWI_HEAP_CONFIG_VARIABLE,
};

/* Returns whether `name` is this variable, and offers it otherwise. */
static bool is_or_offer(const char *name, struct hwi_suggestion *suggestion, const char *variable, size_t bytes)
{
  hwi_suggestion_offer(suggestion, name);
  return strlen(name) == bytes && memcmp(name, variable, bytes) == 0;
}

/* Warns on stderr about each HEAPWRIGHT_* variable that no part of heapwright reads. */
static void check_environment(void)
{
  for (char **variable = environ; *variable; variable++) {
    if (strncmp(*variable, prefix, sizeof prefix - 1) != 0)
      continue;
    size_t bytes = strcspn(*variable, "=");
    struct hwi_suggestion suggestion;
    hwi_suggestion_init(&suggestion, *variable, bytes);
    bool found = false;
    for (size_t i = 0; i < sizeof known / sizeof *known && !found; i++)
      found = is_or_offer(known[i], &suggestion, *variable, bytes);
    for (size_t i = 0; i < HWI_HEAP_FIELDS && !found; i++)
      found = is_or_offer(hwi_heap_fields[i].variable, &suggestion, *variable, bytes);
    if (found)
      continue;
    bool near = suggestion.best;
    hwi_warn("the environment variable %.*s is none of heapwright's and has no effect%s%s%s", (int)bytes, *variable,
             near ? "; did you mean " : "", near ? suggestion.best : "", near ? "?" : "");
  }
}

/* --- the command --- */

static const struct hwi_command *find_command(const char *name)
{
  for (const struct hwi_command *const *command = hwi_commands; *command; command++) {
    if (strcmp((*command)->name, name) == 0)
      return *command;
  }
  return NULL;
}

static int unknown_command(const char *name)
{
  struct hwi_suggestion suggestion;
  hwi_suggestion_init(&suggestion, name, strlen(name));
  for (const struct hwi_command *const *command = hwi_commands; *command; command++)
    hwi_suggestion_offer(&suggestion, (*command)->name);
  hwi_suggestion_offer(&suggestion, "help");
  if (name[0] == '-')
    return hwi_fail(HWI_EXIT_TROUBLE, "unknown option %s; a command comes first: 'heapwright help' lists them", name);
  if (suggestion.best)
    return hwi_fail(HWI_EXIT_TROUBLE, "there is no command '%s'; did you mean '%s'?", name, suggestion.best);
  return hwi_fail(HWI_EXIT_TROUBLE, "there is no command '%s'; 'heapwright help' lists them", name);
}

/* If writing to stdout failed, the command has failed. */
static int close_stdout(int status)
{
  if (hwi_is_written(stdout))
    return status;
  return hwi_fail(HWI_EXIT_TROUBLE, "stdout: writing failed: %m");
}

static int refuse(const struct hwi_command *command)
{
  return hwi_fail(HWI_EXIT_TROUBLE, "%s", command->missing);
}

static int help(const char *name)
{
  if (!name) {
    hwi_help_all(stdout);
    return close_stdout(HWI_EXIT_OK);
  }
  const struct hwi_command *command = find_command(name);
  if (!command)
    return unknown_command(name);
  if (command->missing)
    return refuse(command);
  hwi_help_command(command);
  return close_stdout(HWI_EXIT_OK);
}

static int run_command(const struct hwi_command *command, char **argv)
{
  struct hwi_parsed parsed;
  if (command->missing)
    return refuse(command);
  int status = hwi_options_parse(command, argv, &parsed);
  if (status == 0 && parsed.help)
    hwi_help_command(command);
  else if (status == 0)
    status = command->run(parsed.values, parsed.word_count, parsed.words);
  hwi_options_release(&parsed);
  return close_stdout(status);
}

int main(int argc, char **argv)
{
  setlocale(LC_CTYPE, "");
  check_environment();
  if (argc < 2) {
    hwi_help_all(stderr); /* on stderr, since the user did not ask for help */
    return HWI_EXIT_TROUBLE;
  }
  const char *name = argv[1];
  if (strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
    return help(argv[2]);
  if (strcmp(name, "--version") == 0) {
    puts("heapwright " HWI_VERSION);
    return close_stdout(HWI_EXIT_OK);
  }
  const struct hwi_command *command = find_command(name);
  return command ? run_command(command, argv + 2) : unknown_command(name);
}
