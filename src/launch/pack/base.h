/* base.h - writes what is left of the events of a trace before a moment (format.h: HW_SECTION_BASE) */
#ifndef HWI_LAUNCH_PACK_BASE_H
#define HWI_LAUNCH_PACK_BASE_H

#include "base/error.h"
#include "launch/pack/section_file.h"

/* Reads the trace that is open at `from`, and writes its base at file->off, which may be in the same trace. Events from `from_tick` on
 * are not read: none before it may still come. Memory: what lives at the moment, and the stacks. Returns 0; HW_ERR_IO, with
 * errno set; HW_ERR_MEMORY; or HW_ERR_LIMIT: the sums are too large. On failure file->off is where it was. */
int hwi_base_write(struct hwi_section_file *file, int from, const struct hw_trace_header *header, uint64_t from_tick);

#endif
