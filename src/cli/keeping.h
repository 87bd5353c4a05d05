/* keeping.h - copies the executed files next to a recording, so that names stay available after a rebuild */
#ifndef HWI_CLI_KEEPING_H
#define HWI_CLI_KEEPING_H

#include <stdbool.h>

/* Copies the programs and libraries of all processes of the run next to the recording. Prints how many files were
 * copied, and which could not be. */
void hwi_keep_files(const char *path, bool quiet);

#endif
