/* pack.h - packs chunks and tool records into sections
 *
 * A packer keeps the buffers and the compressor between calls; it is used by one thread at a time.
 */
#ifndef HWI_TRACE_PACK_PACK_H
#define HWI_TRACE_PACK_PACK_H

#include <stddef.h>
#include <stdint.h>

#include "trace/format.h"

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

struct hwi_columns_out;

/* The same for the columns of a recoder that has ended. *section already holds the stream and sequence numbers of the
 * chunks, their ticks, plain bytes and count of events. */
int hwi_pack_columns(struct hwi_packer *packer, const struct hwi_columns_out *columns,
                     struct hw_section_header *section, const uint8_t **packed);

/* Sets the effort of the following calls; it is HWI_EFFORT_SMALL at first. */
void hwi_packer_set_effort(struct hwi_packer *packer, enum hwi_effort effort);

/* Returns the effort for a backlog of `waiting_bytes` of chunks: the more is waiting, the faster. */
enum hwi_effort hwi_effort_for(uint64_t waiting_bytes);

/* The same for the records of a tool area. */
int hwi_pack_tool_records(struct hwi_packer *packer, const uint8_t *records, size_t bytes,
                          struct hw_section_header *section, const uint8_t **packed);

#endif
