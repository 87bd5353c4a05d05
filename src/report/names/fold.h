/* fold.h - the lines that a stack becomes
 *
 * A stack of real software has dozens of frames, and only a few are of interest. hwi_named_frames_trim leaves out
 * some. Of the others, three or more consecutive frames of the same shared library are folded into one line, unless
 * they include the innermost frame or the program's own (hwi_named_frames_own); adjacent folds become one. A
 * function that calls itself is one line. A stack that is still too long is then folded where the standard library
 * calls itself, so that its caller is still shown, and after that in its middle: the innermost lines and the
 * outermost one stay.
 */
#ifndef HWI_REPORT_NAMES_FOLD_H
#define HWI_REPORT_NAMES_FOLD_H

#include "report/names/named_frames.h"

enum { HWI_FOLD_LINES_MAX = 8 }; /* for a stack, or for a part of a tree without a branch */

struct hwi_fold_line {
  uint32_t first, count; /* in the loaded frames */
  bool folded;           /* false: one frame is shown, which calls itself `count` - 1 times */
};

struct hwi_folded {
  struct hwi_fold_line *lines;
  uint32_t count, room;
  bool joins_recursion;
};

/* `lines_max` is at least 3, or 0 for no folding: then every frame is a line. Returns 0 or a negative status. */
int hwi_fold(struct hwi_folded *folded, const struct hwi_named_frames *frames, uint32_t lines_max,
             struct hwi_error *error);
/* The same for a part of a tree without a branch. All of `frames` belong to it: nothing is trimmed, and the first
 * and the last frame stay. */
int hwi_fold_chain(struct hwi_folded *folded, const struct hwi_named_frames *frames, uint32_t lines_max,
                   struct hwi_error *error);
void hwi_folded_release(struct hwi_folded *folded);

#endif
