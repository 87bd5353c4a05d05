/* unpack.h - packed sections back to chunks or events */
#ifndef HWI_TRACE_UNPACK_H
#define HWI_TRACE_UNPACK_H

#include <stddef.h>
#include <stdint.h>

#include "trace/recode.h"

/* hw_section_header.codec. Of tool records only the first. */
enum hwi_codec {
  HWI_CODEC_PLAIN = 0,   /* chunk headers and events as they are, one zstd frame */
  HWI_CODEC_COLUMNS = 1, /* see recode.h */
  HWI_CODEC_TIMED = 2,   /* the same, with the column of durations */
};

enum { HWI_UNPACK_MAX_BYTES = 1 << 26 }; /* no section unpacks to more: a packer begins a new one before */

/* What a section unpacks to: of codec 0 `bytes` (malloc'd, `count` of them and then HWI_DECODE_PADDING zeros), of an EVENTS
 * section its chunks one directly after the other, each a struct hw_chunk_header (any alignment) and its valid_bytes of
 * events, of a TOOL section the tool records; of the others `events`, and no bytes. All zero: nothing. */
struct hwi_unpacked {
  uint8_t *bytes;
  size_t count;
  struct hwi_restorer *events;
};

/* Unpacks the section->packed_bytes at `packed`. Every byte is hostile: HW_ERR_DAMAGED where it does not unpack to what the
 * header says or to more than HWI_UNPACK_MAX_BYTES, HW_ERR_VERSION for an unknown codec, HW_ERR_MEMORY; then *unpacked is
 * all zero. Thread-safe. */
int hwi_unpack_section(const struct hw_section_header *section, const void *packed, struct hwi_unpacked *unpacked);
void hwi_unpacked_release(struct hwi_unpacked *unpacked);

#endif
