/* static_allocators.h - allocators that programs of the run have linked in, whose calls the recorder cannot see */
#ifndef HWI_REPORT_CONTENT_STATIC_ALLOCATORS_H
#define HWI_REPORT_CONTENT_STATIC_ALLOCATORS_H

#include "report/report.h"

/* By image: the name of its allocator, as hwi_static_allocator returns it; NULL: none is known, or the image is not
 * counted. */
struct hwi_static_allocators {
  const char **texts;
};

/* Looks into the executables, if they still are the files that ran. Returns 0 or a negative
 * status. The caller releases it, also after a failure. */
int hwi_static_allocators_init(struct hwi_static_allocators *allocators, const struct hwi_report *report,
                               struct hwi_error *error);
void hwi_static_allocators_release(struct hwi_static_allocators *allocators);

#endif
