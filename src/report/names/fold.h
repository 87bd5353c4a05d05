/* fold.h - the lines that a stack becomes
 *
 * A stack of real software has dozens of frames of which a handful say something. Besides what hwi_named_frames_trim leaves out,
 * three or more frames in a row of the same shared library are folded into one line, unless the innermost frame is among
 * them or the program's own (hwi_named_frames_own), and neighbouring folds become one. A function that calls itself is one line.
 * What is then still longer than a stack may be is folded where the standard library is within itself, so that who called it
 * is shown, and then in its middle: the innermost lines and the outermost one stay.
 */
#ifndef HWI_REPORT_NAMES_FOLD_H
#define HWI_REPORT_NAMES_FOLD_H

#include "report/names/named_frames.h"

enum { HWI_FOLD_LINES_MAX = 8 }; /* of a stack, or of a part of a tree where it does not branch */

struct hwi_fold_line {
  uint32_t first, count; /* of the loaded frames */
  bool folded;           /* false: one is shown, which calls itself `count` - 1 times */
};

struct hwi_folded {
  struct hwi_fold_line *lines;
  uint32_t count, room;
  bool joins_recursion;
};

/* `lines_max`: at least 3; 0: no folding at all, every frame a line. */
int hwi_fold(struct hwi_folded *folded, const struct hwi_named_frames *frames, uint32_t lines_max,
             struct hwi_error *error);
/* The same for frames of a tree that follow one another without a branch, which are all of `frames`: nothing is trimmed, and the
 * first and the last one stay. */
int hwi_fold_chain(struct hwi_folded *folded, const struct hwi_named_frames *frames, uint32_t lines_max,
                   struct hwi_error *error);
void hwi_folded_release(struct hwi_folded *folded);

#endif
