/* start_options.h - the options of commands that start a program: its allocator and its environment variables */
#ifndef HWI_CLI_START_OPTIONS_H
#define HWI_CLI_START_OPTIONS_H

#include <string.h>

#include "cli/command.h"
#include "launch/start/allocator.h"

/* Rows of the command's table of options, for `const char *allocator; struct hwi_texts variables` in its `struct
 * values`. `what` is the help text: what the allocator is used for, and the default. */
/* clang-format off */
#define HWI_START_OPTIONS(allocator, variables, what)                                                               \
  {.name = "allocator",                                                                                                \
   .letter = 'a',                                                                                                      \
   HWI_VALUE(TEXT, allocator),                                                                                         \
   .value = "NAME|FILE",                                                                                               \
   .help = what ":\n" HWI_ALLOCATORS},                                                                                 \
  {.name = "env",                                                                                                      \
   HWI_VALUE(TEXTS, variables),                                                                                        \
   .value = "NAME=VALUE",                                                                                              \
   .help = "set a variable for the command; may be given again"}
/* clang-format on */

/* Returns whether each variable has a name and a value. HWI_VARIABLES_WRONG is the error message otherwise. */
static inline bool hwi_variables_are_right(const struct hwi_texts *variables)
{
  for (size_t i = 0; i < variables->count; i++) {
    if (!strchr(variables->items[i], '=') || variables->items[i][0] == '=')
      return false;
  }
  return true;
}
#define HWI_VARIABLES_WRONG "--env takes NAME=VALUE"

#endif
