/* own_variables.h - warns of environment variables that look like heapwright's and are none */
#ifndef HWI_CLI_OWN_VARIABLES_H
#define HWI_CLI_OWN_VARIABLES_H

#include "cli/options.h"

/* Warns on stderr of each HEAPWRIGHT_* variable that no part of heapwright reads. */
void hwi_own_variables_check_environment(void);

/* The same for what --env gives. What the environment has, too, was reported already. */
void hwi_own_variables_check(const struct hwi_texts *variables);

#endif
