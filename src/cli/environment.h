/* environment.h - heapwright's own variables (HEAPWRIGHT_*) */
#ifndef HWI_CLI_ENVIRONMENT_H
#define HWI_CLI_ENVIRONMENT_H

#include "cli/command.h"

/* Warns on stderr about each HEAPWRIGHT_* variable in `environment` (as environ) that no part of heapwright reads.
 * Returns the number of warnings. */
int hwi_environment_check(char **environment);

#endif
