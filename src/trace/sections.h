/* sections.h - the pieces of a trace, raw or packed: loading them */
#ifndef HWI_TRACE_SECTIONS_H
#define HWI_TRACE_SECTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/format.h"
#include "trace/index.h"
#include "trace/unpack.h"

bool hwi_section_is_plausible(const struct hw_section_header *section);

/* A raw chunk comes as codec 0 has it. 0, HW_ERR_DAMAGED, HW_ERR_VERSION, HW_ERR_MEMORY, HW_ERR_IO (errno is set), or
 * HW_ERR_BUSY: a raw chunk that was packed and given back since the index was built. */
int hwi_piece_load(struct hwi_unpacked *loaded, int fd, const struct hw_trace_header *trace,
                   const struct hwi_piece *piece);

#endif
