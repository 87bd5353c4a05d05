/* token_file.h - reads a file with a token, which users do not write into a command line, where others see it */
#ifndef HWI_REPORT_INPUT_TOKEN_FILE_H
#define HWI_REPORT_INPUT_TOKEN_FILE_H

#include <stddef.h>

#include "base/error.h"

/* Reads the only line of the file of --token: `least` to `most` visible characters of ASCII. *token is malloc'd, or NULL after a
 * failure. Returns 0 or a negative status. */
int hwi_token_file_read(char **token, const char *path, size_t least, size_t most, struct hwi_error *error);

#endif
