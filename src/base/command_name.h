/* command_name.h - what a program was run as, from its arguments as reports print them */
#ifndef HWI_BASE_COMMAND_NAME_H
#define HWI_BASE_COMMAND_NAME_H

#include <stdbool.h>
#include <string.h>

struct hwi_command_name {
  char text[256]; /* as long as a file's name may be; empty where there is none */
};

/* The last name of the first argument's path: of `./a -b` the `a`, of a login shell's `-bash` the `bash`. The arguments are joined by
 * blanks, and one that a shell would split stands in quotes, in which an apostrophe is '\''. A longer name is cut. */
static inline struct hwi_command_name hwi_command_name(const char *command)
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
  struct hwi_command_name found = {0};
  for (size_t bytes = 0; name < end && bytes < sizeof found.text - 1; bytes++) {
    found.text[bytes] = *name;
    name += is_quoted && *name == '\'' ? sizeof apostrophe - 1 : 1;
  }
  return found;
}

#endif
