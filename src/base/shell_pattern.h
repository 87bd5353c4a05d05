/* shell_pattern.h - whether a name is the one that a user asked for */
#ifndef HWI_BASE_SHELL_PATTERN_H
#define HWI_BASE_SHELL_PATTERN_H

#include <fnmatch.h>
#include <stdbool.h>
#include <string.h>

/* `pattern` is a shell pattern (*, ?, [...]) for the whole name, or the name as it is: "operator new[]" looks like a
 * pattern. */
static inline bool hwi_shell_pattern_matches(const char *pattern, const char *name)
{
  return strcmp(pattern, name) == 0 || fnmatch(pattern, name, 0) == 0;
}

#endif
