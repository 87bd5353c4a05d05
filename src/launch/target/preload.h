/* preload.h - finds the installed parts of heapwright, and makes library paths that LD_PRELOAD can hold */
#ifndef HWI_LAUNCH_TARGET_PRELOAD_H
#define HWI_LAUNCH_TARGET_PRELOAD_H

#include <stddef.h>

#include "base/error.h"

#define HWI_RECORDER_NAME "libheapwright-record.so"

/* Finds the absolute path of one of our libraries or programs by its file name, relative to the folder of this
 * executable, both in the build tree and in an installation. Like the next functions, returns 0 or a negative status.
 * *path is malloc'd, or NULL on failure. */
int hwi_installed_find(char **path, const char *name, struct hwi_error *error);

/* Makes *path, the malloc'd absolute path of a library, usable in LD_PRELOAD. The dynamic loader would split a path at
 * a blank or a colon, and expand a dollar sign. If *path has one of these, it is replaced by the path of a symbolic
 * link to the library, in a folder of the user's; the link's name ends in `name`. On failure *path is NULL. */
int hwi_preload_name(char **path, const char *name, struct hwi_error *error);

/* Finds one of our libraries by its file name, for LD_PRELOAD. It also works if the command or one of its children is a
 * 32-bit program: the 32-bit loader finds an empty library instead. *path is malloc'd, or NULL on failure. */
int hwi_preload_find(char **path, const char *library, struct hwi_error *error);

/* Finds the recorder, under a path with which programs built with AddressSanitizer start, too. */
int hwi_preload_find_recorder(char **path, struct hwi_error *error);

#endif
