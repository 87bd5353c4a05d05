/* stack_path.h - what makes stacks of two runs the same stack
 *
 * A stack becomes a path of numbers (identity.h), without the frames that say nothing (hwi_named_frames_trim), and with loops
 * taken out: going from the outermost frame inwards, a frame that occurred already takes the path back to where it did. So a
 * recursion is the same however deep it went, and however many functions it goes round.
 */
#ifndef HWI_COMPARE_STACK_PATH_H
#define HWI_COMPARE_STACK_PATH_H

#include "compare/identity.h"

/* Begins with who asks, the rest zero; what is given is borrowed. */
struct hwi_stack_paths {
  struct hwi_identities *identities;
  struct hwi_named_frames *frames[2]; /* of both sides */
  struct hwi_error *error;
  uint32_t *numbers; /* of the path made last, outermost first */
  bool *vague;
  size_t count, numbers_room, vague_room;
};

/* The path of a side's stack, its strict numbers or its loose ones. False: no memory. */
bool hwi_stack_path_make(struct hwi_stack_paths *path, int side, uint32_t stack, bool loose);
void hwi_stack_paths_release(struct hwi_stack_paths *path);

#endif
