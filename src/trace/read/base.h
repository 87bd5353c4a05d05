/* base.h - what a trace states about events that were dropped */
#ifndef HWI_TRACE_READ_BASE_H
#define HWI_TRACE_READ_BASE_H

#include "trace/read/index.h"
#include "trace/reader.h"

/* Loads the base of an index that has one. Returns 0, HW_ERR_DAMAGED, or an error of hwi_piece_load; then there is nothing
 * to release. */
int hwi_base_load(struct hwi_base *base, int fd, const struct hw_trace_header *header, const struct hwi_index *index);
void hwi_base_release(struct hwi_base *base);

#endif
