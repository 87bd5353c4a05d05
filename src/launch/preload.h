/* preload.h - where the recorder library is */
#ifndef HWI_LAUNCH_PRELOAD_H
#define HWI_LAUNCH_PRELOAD_H

#include <stddef.h>

#include "base/error.h"

#define HWI_RECORDER_NAME "libheapwright-record.so"

/* The absolute path of the recorder: beside this executable's folder, as the build tree and an installation have it. It can
 * stand in LD_PRELOAD as it is: where its own path has a blank, a colon or a dollar sign, which the dynamic loader would
 * split at or expand, *path is that of a symbolic link to it in a folder of the user's. *path is malloc'd. */
int hwi_preload_find(char **path, struct hwi_error *error);

#endif
