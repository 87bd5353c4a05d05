/* command_name.h - what a program was run as, from its arguments as reports print them */
#ifndef HWI_BASE_COMMAND_NAME_H
#define HWI_BASE_COMMAND_NAME_H

#include <stdbool.h>
#include <string.h>

/* Where the last name of the first argument's path begins in `command`, and in *bytes its length: of `./a -b` the `a`, of a login
 * shell's `-bash` the `bash`. The arguments are joined by blanks, and one that a shell would split stands in quotes, in which an
 * apostrophe is '\''. */
static inline const char *hwi_command_name(const char *command, size_t *bytes)
{
  static const char apostrophe[] = "'\\''";
  const bool is_quoted = *command == '\'';
  const char *name = command + is_quoted, *end = name + strcspn(name, is_quoted ? "'" : " ");
  while (is_quoted && strncmp(end, apostrophe, sizeof apostrophe - 1) == 0) {
    end += sizeof apostrophe - 1;
    end += strcspn(end, "'");
  }
  name += name < end && *name == '-';
  for (const char *at = name; at < end; at++)
    if (*at == '/' && at + 1 < end)
      name = at + 1;
  *bytes = (size_t)(end - name);
  return name;
}

#endif
