/* moment.h - the blocks of a heap as a trace, in which each is allocated once: what a recording would have left at that moment
 *
 * Which stack allocated a block is not known. A block whose type is known has the table of its class as its only frame.
 */
#ifndef HWI_EXPORT_MOMENT_H
#define HWI_EXPORT_MOMENT_H

#include "memory/types/vtables.h"

/* Makes a packed trace in `fd`, an empty file, from the live blocks. Returns 0 or a negative status (HW_ERR_IO: errno is
 * set). */
int hwi_moment_write(struct hwi_vtables *vtables, const struct hwi_core_heap *heap, int fd);

#endif
