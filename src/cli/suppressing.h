/* suppressing.h - the option --suppressions of commands that look at what is left at the end */
#ifndef HWI_CLI_SUPPRESSING_H
#define HWI_CLI_SUPPRESSING_H

#include "cli/command.h"
#include "report/input/suppressions.h"

/* Row of the command's table of options, for `const char *field` in its `struct values`. */
/* clang-format off */
#define HWI_SUPPRESSING_OPTION(field)                                                                                  \
  {.name = "suppressions",                                                                                             \
   HWI_VALUE(TEXT, field),                                                                                             \
   .value = "FILE",                                                                                                    \
   .help = "known leaks, which do not count: lines leak:PATTERN, as for LeakSanitizer"}
/* clang-format on */

/* Of commands that look at what is left only with --leaks: 0, or an exit status where it is not given. */
int hwi_suppressing_check(const char *path, bool leaks);

/* Reads the file named; nothing where it is NULL. 0, or an exit status, worded on stderr. To be ended with
 * hwi_suppressing_end in either case. */
int hwi_suppressing_begin(struct hwi_suppressions *suppressions, const char *path);

/* `used`: the stacks were looked at; lines that matched none are warned about. */
void hwi_suppressing_end(struct hwi_suppressions *suppressions, bool used);

#endif
