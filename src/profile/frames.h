/* frames.h - the tree of frames that all stacks of a profile share
 *
 * Frames are told apart by caller, module, address within the module and entry point, so that two loads of a library, and
 * the images of a run, meet in one frame. Modules are told apart by path and build-id.
 * Most frames call one other only, as far as stacks tell: such a callee is found at its caller.
 */
#ifndef HWI_PROFILE_FRAMES_H
#define HWI_PROFILE_FRAMES_H

#include "profile/profile.h"
#include "profile/tagged.h"

/* What hangs on a frame; 0: nothing yet. */
struct hwi_frame_links {
  uint32_t stack;        /* that it is the innermost frame of */
  uint32_t first_callee; /* of frame 0: the first frame that none called */
};

/* Both are lists of table.h. Frames that are no first callees have their numbers in a hash table. */
struct hwi_frames {
  struct hwi_frame *frames; /* [1, count) */
  struct hwi_frame_links *links;
  size_t count, capacity, links_capacity;
  struct hwi_tagged numbers;
  struct hwi_profile_module *modules; /* [1, module_count) */
  size_t module_count, module_capacity;
};

bool hwi_frames_init(struct hwi_frames *frames); /* false: no memory */
void hwi_frames_release(struct hwi_frames *frames);

/* No frame is looked for any more: gives back what that took. */
void hwi_frames_freeze(struct hwi_frames *frames);

/* The number of the frame, or 0: no memory. `frame->address` is relative to its module's load. */
uint32_t hwi_frames_intern(struct hwi_frames *frames, const struct hwi_frame *frame);

/* Forgets the modules from `first` on. */
void hwi_frames_drop_modules(struct hwi_frames *frames, size_t first);

/* The number of the module, or 0: no memory, or HWI_FRAME_MODULES_MOST are there, 0 included. */
uint32_t hwi_frames_intern_module(struct hwi_frames *frames, const struct hwi_module *module);

#endif
