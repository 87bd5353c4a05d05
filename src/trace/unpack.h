/* unpack.h - packed sections back to what the target wrote */
#ifndef HWI_TRACE_UNPACK_H
#define HWI_TRACE_UNPACK_H

#include <stddef.h>
#include <stdint.h>

#include "trace/format.h"

/* hw_section_header.codec. Of tool records only the first. */
enum hwi_codec {
  HWI_CODEC_PLAIN = 0,   /* chunk headers and events as they are, one zstd frame */
  HWI_CODEC_COLUMNS = 1, /* see recode.h */
};

enum { HWI_UNPACK_MAX_BYTES = 1 << 26 }; /* no section unpacks to more: a packer begins a new one before */

/* Unpacks the section->packed_bytes at `packed`. Of an EVENTS section the result is its chunks one directly after the other,
 * each a struct hw_chunk_header (any alignment) and its valid_bytes of events; of a TOOL section it is the tool records.
 * *plain is malloc'd, has *bytes bytes and then `padding` zeros. Every byte is hostile: HW_ERR_DAMAGED where it does not
 * unpack to what the header says or to more than HWI_UNPACK_MAX_BYTES, HW_ERR_VERSION for an unknown codec, HW_ERR_MEMORY;
 * then *plain is NULL. Thread-safe. */
int hwi_unpack_section(const struct hw_section_header *section, const void *packed, size_t padding, uint8_t **plain,
                       size_t *bytes);

#endif
