/* result_file.h - a file for results: whole under its name, or not there at all
 *
 * What is written goes to a temporary name in the same folder, which is renamed at the end. A name that is no ordinary file
 * (a pipe, /dev/null) is written to as it is; "-" is stdout.
 */
#ifndef HWI_CLI_RESULT_FILE_H
#define HWI_CLI_RESULT_FILE_H

#include <stdio.h>

#include "base/error.h"

struct hwi_result_file {
  const char *name; /* as the user gave it */
  char *to;         /* what is replaced in the end; NULL: nothing is */
  char *path;       /* the temporary name; NULL: there is none */
  FILE *out;
};

/* To be ended by hwi_result_file_commit or hwi_result_file_abandon where it succeeded. */
int hwi_result_file_open(struct hwi_result_file *file, const char *name, struct hwi_error *error);

/* Makes sure that all is written, and gives it its name. On failure nothing is left. */
int hwi_result_file_commit(struct hwi_result_file *file, struct hwi_error *error);
void hwi_result_file_abandon(struct hwi_result_file *file);

#endif
