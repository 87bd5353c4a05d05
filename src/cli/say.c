/* say.c - what the tool says on stderr: one line, "heapwright: " first */
#include <stdarg.h>
#include <stdio.h>

#include "cli/command.h"

/* One write for the line, so that lines of several processes do not mix. */
static void say(const char *format, va_list arguments)
{
  char line[2048];
  int used = vsnprintf(line, sizeof line, format, arguments);
  if (used < 0)
    return;
  fprintf(stderr, "heapwright: %s%s\n", line, (size_t)used >= sizeof line ? "..." : "");
}

int hwi_fail(int status, const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  say(format, arguments);
  va_end(arguments);
  return status;
}

void hwi_warn(const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  say(format, arguments);
  va_end(arguments);
}
