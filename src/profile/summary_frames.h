/* summary_frames.h - what a summary keeps of the tree of frames, and of the modules that these are in */
#ifndef HWI_PROFILE_SUMMARY_FRAMES_H
#define HWI_PROFILE_SUMMARY_FRAMES_H

#include "profile/frames.h"
#include "profile/summary_pass.h"

/* Writes them, or reads them into what is all zero. What was read is sound: there is a frame 0 and a module 0, no index leaves its
 * list, and callers come before whom they call. */
void hwi_summary_pass_frames(struct hwi_pass *pass, struct hwi_frames *frames);

#endif
