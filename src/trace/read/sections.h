/* sections.h - loads the pieces of a trace, raw or packed */
#ifndef HWI_TRACE_READ_SECTIONS_H
#define HWI_TRACE_READ_SECTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/format.h"
#include "trace/pack/unpack.h"
#include "trace/read/index.h"

bool hwi_section_is_plausible(const struct hw_section_header *section);

/* Loads a piece. A raw chunk has the form of a section of codec 0. Returns 0, HW_ERR_DAMAGED, HW_ERR_VERSION,
 * HW_ERR_MEMORY, HW_ERR_IO (errno is set), or HW_ERR_BUSY if the raw chunk was packed and given back since the index
 * was built. */
int hwi_piece_load(struct hwi_unpacked *loaded, int fd, const struct hw_trace_header *trace,
                   const struct hwi_piece *piece);

#endif
