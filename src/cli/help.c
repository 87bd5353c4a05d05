/* help.c - help, worded from the tables of the commands */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"

enum { HELP_COLUMN = 30 }; /* where what an option does begins */

void hwi_help_all(void)
{
  puts("heapwright - where a program's heap goes\n"
       "\n"
       "usage: heapwright COMMAND [options] ...\n");
  for (const struct hwi_command *const *command = hwi_commands; *command != NULL; command++)
    printf("  %-10s %s\n", (*command)->name, (*command)->summary);
  puts("\n"
       "heapwright help COMMAND explains a command; heapwright --version prints the version.\n"
       "\n"
       "Begin with:\n"
       "  heapwright record ./program\n"
       "  heapwright report");
}

/* Appends to a line in the making; what does not fit is left out. */
static void append(char *line, size_t line_bytes, const char *text)
{
  size_t used = strlen(line);
  strncat(line, text, line_bytes - 1 - used);
}

static void print_option(const struct hwi_option *option)
{
  char line[256] = "  ";
  char letter[] = {'-', option->letter, ',', ' ', '\0'};
  append(line, sizeof line, option->letter != 0 ? letter : "    ");
  append(line, sizeof line, "--");
  append(line, sizeof line, option->name);
  if (option->kind == HWI_OPTION_CHOICE) {
    for (const char *const *choice = option->choices; *choice != NULL; choice++) {
      append(line, sizeof line, choice == option->choices ? " " : "|");
      append(line, sizeof line, *choice);
    }
  } else if (option->value != NULL) {
    append(line, sizeof line, " ");
    append(line, sizeof line, option->value);
  }
  if (strlen(line) > HELP_COLUMN - 2)
    printf("%s\n%*s", line, HELP_COLUMN, "");
  else
    printf("%-*s", HELP_COLUMN, line);
  for (const char *text = option->help; text != NULL;) {
    size_t bytes = strcspn(text, "\n");
    printf("%.*s\n", (int)bytes, text);
    text = text[bytes] == '\n' ? text + bytes + 1 : NULL;
    if (text != NULL)
      printf("%*s", HELP_COLUMN, "");
  }
}

void hwi_help_command(const struct hwi_command *command)
{
  printf("usage: heapwright %s %s\n\n%s.\n\noptions:\n", command->name, command->usage, command->summary);
  for (const struct hwi_option *option = command->options; option->name != NULL; option++)
    print_option(option);
  printf("  -h, --%-*s%s\n", HELP_COLUMN - 8, "help", "this text");
  if (*command->details != '\0')
    printf("\n%s", command->details);
}
