/* unpack.h - unpacks sections to chunks or events */
#ifndef HWI_TRACE_PACK_UNPACK_H
#define HWI_TRACE_PACK_UNPACK_H

#include <stddef.h>
#include <stdint.h>

#include "trace/pack/recode.h"

/* hw_section_header.codec. Tool records only use the first. */
enum hwi_codec {
  HWI_CODEC_PLAIN = 0,   /* unchanged chunk headers and events, one zstd frame */
  HWI_CODEC_COLUMNS = 1, /* see recode.h */
  HWI_CODEC_TIMED = 2,   /* the same, with the column of durations */
};

enum { HWI_UNPACK_MAX_BYTES = 1 << 26 }; /* no section unpacks to more: a packer begins a new one earlier */

/* An unpacked section. With codec 0 it has `bytes`: malloc'd, `count` bytes and then HWI_DECODE_PADDING zeros. Those of
 * an EVENTS section are its chunks without gaps, each a struct hw_chunk_header (any alignment) and its valid_bytes of
 * events; those of a TOOL section are the tool records. With the other codecs it has `events` and no bytes. All zero:
 * nothing. */
struct hwi_unpacked {
  uint8_t *bytes;
  size_t count;
  struct hwi_restorer *events;
};

/* Unpacks the section->packed_bytes at `packed`. Every byte may be hostile. Returns 0; HW_ERR_DAMAGED if the section
 * does not unpack as its header states, or has more than HWI_UNPACK_MAX_BYTES; HW_ERR_VERSION for an unknown codec; or
 * HW_ERR_MEMORY. On failure *unpacked is all zero. Thread-safe. */
int hwi_unpack_section(const struct hw_section_header *section, const void *packed, struct hwi_unpacked *unpacked);
void hwi_unpacked_release(struct hwi_unpacked *unpacked);

#endif
