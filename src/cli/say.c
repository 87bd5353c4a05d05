/* say.c - messages on stderr: one line each, beginning with "heapwright: " */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "report/words/line.h"

/* Writes the line in one call, so that lines of several processes do not mix. File names in it are untrusted: control
 * characters and line breaks in them are made harmless. */
static void say(const char *format, va_list arguments)
{
  char line[2048];
  struct hwi_line clean = {0};
  int used = vsnprintf(line, sizeof line, format, arguments);
  if (used < 0)
    return;
  hwi_line_clean(&clean, line);
  fprintf(stderr, "heapwright: %s%s\n", clean.failed ? line : hwi_line_text(&clean),
          (size_t)used >= sizeof line ? "..." : "");
  hwi_line_release(&clean);
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

void hwi_warn_of(struct hwi_line *remarks)
{
  for (const char *at = hwi_line_text(remarks); *at != '\0'; at += strcspn(at, "\n") + 1)
    hwi_warn("%.*s", (int)strcspn(at, "\n"), at);
  hwi_line_release(remarks);
}
