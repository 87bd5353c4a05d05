/* main.c - finds the subcommand and runs it */
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "base/version.h"
#include "cli/answer.h"
#include "cli/command.h"
#include "cli/own_variables.h"
#include "report/input/suggest.h"

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
  hwi_own_variables_check_environment();
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
