/* program_names.h - finds under which names programs were run, if these differ from the names of their files */
#ifndef HWI_PROFILE_BLOCKS_PROGRAM_NAMES_H
#define HWI_PROFILE_BLOCKS_PROGRAM_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "profile/blocks/frames.h"
#include "profile/profile.h"

/* Sets `run_as` of the modules that are the programs of counted images: if redis-server is a link to redis-check-rdb,
 * it becomes redis-server. A file that was run under several names, like busybox, keeps its own name. Returns false if
 * there is no memory. */
bool hwi_program_names_find(struct hwi_frames *frames, const struct hwi_image *images, size_t count);

#endif
