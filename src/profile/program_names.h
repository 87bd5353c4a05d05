/* program_names.h - what programs were run as, where that is not what their files are called */
#ifndef HWI_PROFILE_PROGRAM_NAMES_H
#define HWI_PROFILE_PROGRAM_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "profile/frames.h"
#include "profile/profile.h"

/* Sets `run_as` of the modules that are the programs of counted images: of redis-server, a link to redis-check-rdb, the former. One
 * file that was run under several names, as busybox is, keeps its own. False: no memory. */
bool hwi_program_names_find(struct hwi_frames *frames, const struct hwi_image *images, size_t count);

#endif
