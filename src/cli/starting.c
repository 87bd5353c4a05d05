/* starting.c - the options of commands that start a program */
#include "cli/starting.h"

#include <string.h>

bool hwi_variables_are_right(const struct hwi_texts *variables)
{
  for (size_t i = 0; i < variables->count; i++) {
    if (!strchr(variables->items[i], '=') || variables->items[i][0] == '=')
      return false;
  }
  return true;
}
