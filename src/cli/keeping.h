/* keeping.h - the files that ran, kept beside a recording: a rebuild takes the names of an older one otherwise */
#ifndef HWI_CLI_KEEPING_H
#define HWI_CLI_KEEPING_H

#include <stdbool.h>

/* Copies the programs and libraries of all processes of the run there, and says how many. What cannot be kept is told, too. */
void hwi_keep_files(const char *path, bool quiet);

#endif
