/* frames.h - the tree of frames that all stacks of a profile share
 *
 * Frames are distinguished by caller, module, address within the module and entry point, so that two loads of a
 * library, and the images of a run, share one frame. Modules are distinguished by path and build-id. Most frames call
 * only one other frame in all stacks: such a callee is found through its caller.
 */
#ifndef HWI_PROFILE_BLOCKS_FRAMES_H
#define HWI_PROFILE_BLOCKS_FRAMES_H

#include "profile/profile.h"
#include "trace/hash_table.h"

/* The stack and the first callee of a frame; 0: none yet. */
struct hwi_frame_links {
  uint32_t stack;        /* whose innermost frame it is */
  uint32_t first_callee; /* of frame 0: the first outermost frame */
};

/* `frames` and `links` are lists of table.h. The numbers of frames that are not first callees are in a hash table. */
struct hwi_frames {
  struct hwi_frame *frames; /* [1, count) */
  struct hwi_frame_links *links;
  size_t count, capacity, links_capacity;
  struct hwi_hash_table numbers;
  struct hwi_profile_module *modules; /* [1, module_count) */
  size_t module_count, module_capacity;
};

bool hwi_frames_init(struct hwi_frames *frames); /* false: no memory */
void hwi_frames_release(struct hwi_frames *frames);

/* Releases what only searches need: no frame is searched for any more. */
void hwi_frames_freeze(struct hwi_frames *frames);

/* Returns the number of the frame, or 0 if there is no memory. `frame->address` is relative to its module's load. */
uint32_t hwi_frames_intern(struct hwi_frames *frames, const struct hwi_frame *frame);

/* Removes the modules from `first` on. */
void hwi_frames_drop_modules(struct hwi_frames *frames, size_t first);

/* Returns the number of the module. Returns 0 if there is no memory, or if there are HWI_FRAME_MODULES_MOST already, 0
 * included. */
uint32_t hwi_frames_intern_module(struct hwi_frames *frames, const struct hwi_module *module);

/* Sets `run_as` of the modules that are the programs of counted images: if redis-server is a link to redis-check-rdb,
 * it becomes redis-server. A file that was run under several names, like busybox, keeps its own name. Returns false if
 * there is no memory. */
bool hwi_frames_name_programs(struct hwi_frames *frames, const struct hwi_image *images, size_t count);

#endif
