/* stack_path.h - what makes stacks of two runs the same stack
 *
 * A stack becomes a path of IDs (identity.h), without frames that are not informative (hwi_named_frames_trim), and
 * without loops: from the outermost frame inwards, a frame that occurred before cuts the path back to its first
 * occurrence. So a recursion of any depth, and through any number of functions, gives the same path.
 */
#ifndef HWI_COMPARE_STACK_PATH_H
#define HWI_COMPARE_STACK_PATH_H

#include "compare/identity.h"

/* The caller sets the first members and zeroes the rest. The pointers are borrowed. */
struct hwi_stack_paths {
  struct hwi_identities *identities;
  struct hwi_named_frames *frames[2]; /* of both sides */
  struct hwi_error *error;
  uint32_t *numbers; /* of the latest path, outermost first */
  bool *vague;
  size_t count, numbers_room, vague_room;
};

/* Makes the path of a side's stack, from strict or loose IDs. Returns false if there is no memory. */
bool hwi_stack_path_make(struct hwi_stack_paths *path, int side, uint32_t stack, bool loose);
void hwi_stack_paths_release(struct hwi_stack_paths *path);

#endif
