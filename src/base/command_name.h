/* command_name.h - the name of a program, from its command line as reports print it */
#ifndef HWI_BASE_COMMAND_NAME_H
#define HWI_BASE_COMMAND_NAME_H

#include <stdbool.h>
#include <string.h>

struct hwi_command_name {
  char text[256]; /* as long as a file's name may be; empty: there is none */
};

/* Returns the last component of the first argument's path: `a` for `./a -b`, `bash` for a login shell's `-bash`. The
 * arguments are joined by spaces. An argument that a shell would split is in single quotes, and an apostrophe in it is
 * written as '\''. A longer name is cut. */
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
