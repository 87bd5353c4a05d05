/* linked_in.h - allocators that programs of the run have linked in, whose calls the recorder cannot see */
#ifndef HWI_REPORT_CONTENT_LINKED_IN_H
#define HWI_REPORT_CONTENT_LINKED_IN_H

#include "report/report.h"

/* By image: the name of its allocator, as hwi_static_allocator returns it; NULL: none is known, or the image is not
 * counted. */
struct hwi_linked_in {
  const char **texts;
};

/* Looks into the executables, if they still are the files that ran. Returns 0 or a negative status. Release `linked_in`
 * even after a failure. */
int hwi_linked_in_init(struct hwi_linked_in *linked_in, const struct hwi_report *report, struct hwi_error *error);
void hwi_linked_in_release(struct hwi_linked_in *linked_in);

#endif
