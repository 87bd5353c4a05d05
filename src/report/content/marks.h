/* marks.h - the moments of a run that have names: from the program (hw_mark) and from `heapwright control PID mark` */
#ifndef HWI_REPORT_CONTENT_MARKS_H
#define HWI_REPORT_CONTENT_MARKS_H

#include "profile/profile.h"

/* Returns the marks of the images that are counted, by time, and sets *count. The texts belong to the profile; the caller
 * frees the list. Returns NULL if there is no memory. */
struct hwi_program_mark *hwi_marks_of(const struct hwi_profile *profile, uint32_t *count);

#endif
