/* preload.h - where what belongs to heapwright is installed, and libraries as LD_PRELOAD can name them */
#ifndef HWI_LAUNCH_PRELOAD_H
#define HWI_LAUNCH_PRELOAD_H

#include <stddef.h>

#include "base/error.h"

#define HWI_RECORDER_NAME "libheapwright-record.so"

/* The absolute path of a library or program of ours by its file name: beside this executable's folder, as the build tree and
 * an installation have it. *path is malloc'd; NULL where it fails. */
int hwi_installed_find(char **path, const char *name, struct hwi_error *error);

/* Makes *path, the malloc'd absolute path of a library, one that can stand in LD_PRELOAD as it is: where it has a blank, a colon
 * or a dollar sign, which the dynamic loader would split at or expand, it becomes that of a symbolic link to it in a
 * folder of the user's, whose name ends in `name`. Where that fails, *path is NULL. */
int hwi_preload_name(char **path, const char *name, struct hwi_error *error);

/* A library of ours by its file name, fit for LD_PRELOAD, also where the command or one of its children is a 32-bit program: that
 * one's loader finds an empty library. *path is malloc'd; NULL where it fails. */
int hwi_preload_find(char **path, const char *library, struct hwi_error *error);

/* The recorder, under a name with which AddressSanitizer's programs start, too. */
int hwi_preload_find_recorder(char **path, struct hwi_error *error);

#endif
