/* commands.c - the list of subcommands, in the order of their use, and their help */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/system_words.h"
#include "cli/command.h"
#include "report/words/line.h"

const struct hwi_command *const hwi_commands[] = {
    &hwi_command_record, &hwi_command_report, &hwi_command_diff,    &hwi_command_check, &hwi_command_export,
    &hwi_command_import, &hwi_command_tune,   &hwi_command_control, &hwi_command_live,  &hwi_command_push,
    &hwi_command_core,   &hwi_command_leaks,  &hwi_command_run,     &hwi_command_test,  NULL,
};

/* --- help --- */

enum { HELP_COLUMN = 30 }; /* column at which the explanation of an option begins */

void hwi_help_all(FILE *out)
{
  fputs("heapwright - shows where a program's heap memory goes\n"
        "\n"
        "usage: heapwright COMMAND [options] ...\n\n",
        out);
  for (const struct hwi_command *const *command = hwi_commands; *command; command++)
    fprintf(out, "  %-10s %s\n", (*command)->name, (*command)->summary);
  fputs("\n"
        "heapwright help COMMAND explains a command; heapwright --version prints the version.\n"
        "\n",
        out);
  fputs(hwi_first_steps, out);
}

static void print_option(const struct hwi_option *option)
{
  struct hwi_line line = {0};
  if (option->letter != 0)
    hwi_line_printf(&line, "  -%c, --%s", option->letter, option->name);
  else
    hwi_line_printf(&line, "      --%s", option->name);
  bool maybe = option->kind == HWI_OPTION_MAYBE;
  if (option->kind == HWI_OPTION_CHOICE || maybe) {
    for (const char *const *choice = option->choices; *choice; choice++)
      hwi_line_printf(&line, "%s%s", choice > option->choices ? "|" : maybe ? "[=" : " ", *choice);
    hwi_line_puts(&line, maybe ? "]" : "");
  } else if (option->value) {
    bool is_optional = option->kind == HWI_OPTION_MAYBE_SIZE || option->kind == HWI_OPTION_MAYBE_COUNT;
    hwi_line_printf(&line, is_optional ? "[=%s]" : " %s", option->value);
  }
  if (line.bytes > HELP_COLUMN - 2)
    hwi_line_puts(&line, "\n");
  hwi_line_pad(&line, HELP_COLUMN);
  fputs(hwi_line_text(&line), stdout);
  hwi_line_release(&line);
  for (const char *text = option->help; text;) {
    size_t bytes = strcspn(text, "\n");
    printf("%.*s\n", (int)bytes, text);
    text = text[bytes] == '\n' ? text + bytes + 1 : NULL;
    if (text)
      printf("%*s", HELP_COLUMN, "");
  }
}

void hwi_help_command(const struct hwi_command *command)
{
  bool asks = command->summary[strlen(command->summary) - 1] == '?';
  printf("usage: heapwright %s %s\n\n%c%s%s\n\noptions:\n", command->name, command->usage,
         toupper((unsigned char)command->summary[0]), command->summary + 1, asks ? "" : ".");
  for (const struct hwi_option *option = command->options; option->name; option++)
    print_option(option);
  printf("  -h, --%-*s%s\n", HELP_COLUMN - 8, "help", "this text");
  if (*command->details != '\0')
    printf("\n%s", command->details);
  if (command->print_more)
    command->print_more();
}
