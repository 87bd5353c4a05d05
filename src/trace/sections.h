/* sections.h - the packed pieces of a trace: loading them back into consecutive chunks */
#ifndef HWI_TRACE_SECTIONS_H
#define HWI_TRACE_SECTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/format.h"
#include "trace/index.h"

/* A piece's contents in memory: chunk headers, each followed directly by its valid_bytes of events. HWI_DECODE_PADDING
 * zeros lie behind the last byte. */
struct hwi_loaded {
  uint8_t *bytes; /* malloc */
  size_t count;
};

bool hwi_section_is_plausible(const struct hw_section_header *section);

/* 0, HW_ERR_DAMAGED, HW_ERR_VERSION, HW_ERR_MEMORY, HW_ERR_IO (errno is set), or HW_ERR_BUSY: a raw chunk that was packed
 * and given back since the index was built. */
int hwi_piece_load(struct hwi_loaded *loaded, int fd, const struct hw_trace_header *trace,
                   const struct hwi_piece *piece);

#endif
