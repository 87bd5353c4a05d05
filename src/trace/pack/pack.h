/* pack.h - packs chunks and tool records into sections, and unpacks sections
 *
 * A packer keeps the buffers and the compressor between calls; it is used by one thread at a time.
 */
#ifndef HWI_TRACE_PACK_PACK_H
#define HWI_TRACE_PACK_PACK_H

#include <stdbool.h>
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

/* --- packing --- */

struct hwi_packer;

/* How much time a packer takes for its sections. All efforts pack the same events. */
enum hwi_effort {
  HWI_EFFORT_SMALL, /* the smallest sections, for when no user waits */
  HWI_EFFORT_QUICK, /* slightly larger, and faster */
  HWI_EFFORT_FAST,  /* larger and the fastest: a user waits, or events come faster than they can be packed */
};

/* Returns NULL if there is no memory. */
struct hwi_packer *hwi_packer_create(void);
void hwi_packer_destroy(struct hwi_packer *packer);

/* Packs chunks of one stream, without a gap in their sequence. Each is a struct hw_chunk_header directly followed by
 * its valid_bytes of events; HWI_DECODE_PADDING readable bytes follow the last one. All of *section is filled; *packed
 * has section->packed_bytes and is valid until the next call. The section unpacks to the same events. Returns 0,
 * HW_ERR_DAMAGED if `plain` is no such list, or HW_ERR_MEMORY. */
int hwi_pack_chunks(struct hwi_packer *packer, const uint8_t *plain, size_t bytes, struct hw_section_header *section,
                    const uint8_t **packed);

/* The same for the columns of a recoder that has ended. *section already holds the stream and sequence numbers of the
 * chunks, their ticks, plain bytes and count of events. */
int hwi_pack_columns(struct hwi_packer *packer, const struct hwi_columns_out *columns,
                     struct hw_section_header *section, const uint8_t **packed);

/* The same for bytes that are not events: the records of a tool area, or a base. */
int hwi_pack_bytes(struct hwi_packer *packer, enum hw_section_type type, const uint8_t *plain, size_t bytes,
                   struct hw_section_header *section, const uint8_t **packed);

/* Sets the effort of the following calls; it is HWI_EFFORT_SMALL at first. */
void hwi_packer_set_effort(struct hwi_packer *packer, enum hwi_effort effort);

/* Returns the effort for a backlog of `waiting_bytes` of chunks: the more is waiting, the faster. */
enum hwi_effort hwi_effort_for(uint64_t waiting_bytes);

/* --- unpacking --- */

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

/* A part of a piece. */
struct hwi_part {
  uint32_t from_sequence; /* earlier chunks are left out */
  uint64_t until;         /* events from this tick on are left out */
  bool goes_on;           /* the program goes on at that tick: a record of its exit is left out */
};

/* Packs a part of an unpacked piece again, with all definitions that its events may name. It can be unpacked only once.
 * *section is the header of the piece, if that is a section; it then describes the part. Returns 0; HW_ERR_DAMAGED or HW_ERR_LIMIT if the piece cannot be divided; or
 * HW_ERR_MEMORY. Otherwise as hwi_pack_chunks. */
int hwi_pack_part(struct hwi_packer *packer, const struct hwi_unpacked *unpacked, const struct hwi_part *part,
                  struct hw_section_header *section, const uint8_t **packed);

/* Decompresses a zstd frame of exactly `plain_bytes` into `to`. Every byte may be hostile. Returns 0, HW_ERR_DAMAGED or
 * HW_ERR_MEMORY. */
int hwi_unzstd(void *to, size_t plain_bytes, const void *packed, size_t packed_bytes);

#endif
