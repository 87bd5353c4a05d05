/* frames.h - prints a stack's significant frames as lines of a text, in columns
 *
 * All stacks are measured before they are printed, so that they share their columns: init, measure each, fit, print
 * each, release.
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
  bool hint_given;            /* the hint how to unfold was printed */
  uint32_t printed, stripped; /* frames; of these, those without a name since their file is stripped */
  uint32_t unverified;        /* those without a name since their file has no build-id */
  bool *id_is_printed;        /* by module: its build ID was printed. NULL: no memory, the text fails */
};

/* Both are borrowed until the release. */
void hwi_text_frames_init(struct hwi_text_frames *printer, struct hwi_text *text, struct hwi_named_frames *frames);
void hwi_text_frames_release(struct hwi_text_frames *printer);

/* Widens the columns for the frames of `stack`. Returns 0 or HW_ERR_MEMORY. */
int hwi_text_frames_measure(struct hwi_text_frames *printer, uint32_t stack, struct hwi_error *error);

/* Narrows the columns to the width of the text; functions get the cells that are left. */
void hwi_text_frames_fit(struct hwi_text_frames *printer);

/* Adds the line for a fold of `frames`: "... 9 frames of librclcpp". */
void hwi_text_frames_fold(struct hwi_line *line, const struct hwi_text *text, const struct hwi_named_frames *frames,
                          const struct hwi_fold_line *fold);

/* Prints the lines of `stack`, below its figures. Returns 0 or HW_ERR_MEMORY. */
int hwi_text_frames_print(struct hwi_text_frames *printer, uint32_t stack, struct hwi_error *error);

/* Prints how to get names, if some of the frames printed so far are of files without a build-id, or most are of stripped ones. */
void hwi_text_frames_hint(struct hwi_text_frames *printer);

#endif
