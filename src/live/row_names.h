/* row_names.h - the names of the rows that a terminal shows, and the lines of a stack's frames */
#ifndef HWI_LIVE_ROW_NAMES_H
#define HWI_LIVE_ROW_NAMES_H

#include "live/rows.h"
#include "report/names/named_frames.h"
#include "report/words/line.h"

/* What names are made of. */
struct hwi_row_names {
  struct hwi_named_frames *frames;
  const struct hwi_live_question *question;
  const char *ellipsis;
};

/* Returns the function that requested the stack's memory, and its module; NULL if it is not known. */
const struct hwi_symbol *hwi_row_function(struct hwi_named_frames *frames, uint32_t stack, uint32_t *module);

/* Add a name, of at most `cells`. A function is that of one of its stacks. */
void hwi_row_function_add(struct hwi_line *line, const struct hwi_row_names *names, uint32_t stack, size_t cells);
void hwi_row_thread_add(struct hwi_line *line, const struct hwi_row_names *names, uint32_t thread, size_t cells);
void hwi_row_size_add(struct hwi_line *line, uint64_t size);
void hwi_row_class_add(struct hwi_line *line, unsigned class);
void hwi_row_process_add(struct hwi_line *line, const struct hwi_row_names *names, const struct hwi_image *image,
                         size_t cells);

/* Adds a frame of the stack that `names` has loaded: the function, and its place in the source or its module. */
void hwi_row_frame_add(struct hwi_line *line, const struct hwi_row_names *names, const struct hwi_shown_frame *frame);

#endif
