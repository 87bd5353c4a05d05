/* frame_columns.h - writes and reads a summary's tree of frames and its modules */
#ifndef HWI_PROFILE_COLUMNS_FRAME_COLUMNS_H
#define HWI_PROFILE_COLUMNS_FRAME_COLUMNS_H

#include "profile/blocks/frames.h"
#include "profile/columns/pass.h"

/* Writes the frames and modules, or reads them into lists that are all zero. Lists that were read are sound: there is a
 * frame 0 and a module 0, no index is out of range, and callers come before the frames that they call. */
void hwi_pass_frames(struct hwi_pass *pass, struct hwi_frames *frames);

#endif
