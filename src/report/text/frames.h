/* frames.h - a stack's frames as lines of a text: those that say something, in columns
 *
 * What is printed is first measured, so that all stacks share their columns: init, measure each, fit, print each, release.
 */
#ifndef HWI_REPORT_TEXT_FRAMES_H
#define HWI_REPORT_TEXT_FRAMES_H

#include "report/names/fold.h"
#include "report/text/text.h"

enum { HWI_FRAMES_INDENT = 6 };

struct hwi_frame_columns {
  size_t function, place, module; /* cells */
};

struct hwi_text_frames {
  struct hwi_text *text;
  struct hwi_named_frames *frames;
  struct hwi_folded folded;
  struct hwi_frame_columns columns;
  bool hint_given;            /* how to unfold has been said */
  uint32_t printed, stripped; /* frames; of these: without a name since their file is stripped */
  bool *told; /* by module: its build-id has been, which nameless frames have once; NULL: no memory, the text fails */
};

/* Both are borrowed until the release. */
void hwi_text_frames_init(struct hwi_text_frames *printer, struct hwi_text *text, struct hwi_named_frames *frames);
void hwi_text_frames_release(struct hwi_text_frames *printer);

/* Widens the columns for what `stack` wants. */
int hwi_text_frames_measure(struct hwi_text_frames *printer, uint32_t stack, struct hwi_error *error);

/* Narrows them to the width of the text; functions take what is left. */
void hwi_text_frames_fit(struct hwi_text_frames *printer);

/* Adds "... 9 frames of librclcpp": what a fold of `frames` stands for. */
void hwi_text_frames_fold(struct hwi_line *line, const struct hwi_text *text, const struct hwi_named_frames *frames,
                          const struct hwi_fold_line *fold);

/* Prints the lines of `stack`, below its figures. HW_ERR_MEMORY, as measuring has it. */
int hwi_text_frames_print(struct hwi_text_frames *printer, uint32_t stack, struct hwi_error *error);

/* A line that says where names are to be had, if most of the frames printed so far are of stripped files. */
void hwi_text_frames_hint(struct hwi_text_frames *printer);

#endif
