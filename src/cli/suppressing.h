/* suppressing.h - the option --suppressions of commands that examine unfreed blocks at the end */
#ifndef HWI_CLI_SUPPRESSING_H
#define HWI_CLI_SUPPRESSING_H

#include "cli/command.h"
#include "report/selection/leaks.h"

/* Row of the command's table of options, for `const char *field` in its `struct values`. */
/* clang-format off */
#define HWI_SUPPRESSING_OPTION(field)                                                                                  \
  {.name = "suppressions",                                                                                             \
   HWI_VALUE(TEXT, field),                                                                                             \
   .value = "FILE",                                                                                                    \
   .help = "known leaks to ignore: lines leak:PATTERN, as for LeakSanitizer"}
/* clang-format on */

/* For commands that examine unfreed blocks only with --leaks. Returns 0, or an exit status if --leaks is missing. */
int hwi_suppressing_check(const char *path, bool leaks);

/* Reads the file at `path`, if it is not NULL. Returns 0, or an exit status after reporting the error on stderr. Call
 * hwi_suppressing_end in either case. */
int hwi_suppressing_begin(struct hwi_suppressions *suppressions, const char *path);

/* `used`: the stacks were matched, so warn about each line that matched none. */
void hwi_suppressing_end(struct hwi_suppressions *suppressions, bool used);

#endif
