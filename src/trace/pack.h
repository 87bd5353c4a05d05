/* pack.h - chunks and tool records to sections
 *
 * A packer keeps the buffers and the compressor between calls; it is used by one thread at a time.
 */
#ifndef HWI_TRACE_PACK_H
#define HWI_TRACE_PACK_H

#include <stddef.h>
#include <stdint.h>

#include "trace/format.h"

struct hwi_packer;

/* How much time a packer takes for its sections. The same trace comes out of all. */
enum hwi_effort {
  HWI_EFFORT_SMALL, /* nobody waits */
  HWI_EFFORT_QUICK, /* a little larger, and quicker */
  HWI_EFFORT_FAST,  /* larger and quicker still: somebody waits, or events come quicker than they can be packed */
};

/* NULL: no memory. */
struct hwi_packer *hwi_packer_create(void);
void hwi_packer_destroy(struct hwi_packer *packer);

/* Packs chunks of one stream, without a gap in their sequence: each a struct hw_chunk_header directly followed by its
 * valid_bytes of events, and HWI_DECODE_PADDING readable bytes behind the last. *section is filled whole; *packed has
 * section->packed_bytes and lasts until the next call. The events that the section unpacks to are the same. HW_ERR_DAMAGED
 * where `plain` is no such list, HW_ERR_MEMORY. */
int hwi_pack_chunks(struct hwi_packer *packer, const uint8_t *plain, size_t bytes, struct hw_section_header *section,
                    const uint8_t **packed);

struct hwi_columns_out;

/* The same for the columns of a recoder that has ended: *section says already whose chunks they are, their ticks, plain bytes and
 * count of events. */
int hwi_pack_columns(struct hwi_packer *packer, const struct hwi_columns_out *columns,
                     struct hw_section_header *section, const uint8_t **packed);

/* What the following calls take; at first HWI_EFFORT_SMALL. */
void hwi_packer_set_effort(struct hwi_packer *packer, enum hwi_effort effort);

/* The effort with which `waiting_bytes` of chunks are packed before they become too many. */
enum hwi_effort hwi_effort_for(uint64_t waiting_bytes);

/* The same for the records of a tool area. */
int hwi_pack_tool_records(struct hwi_packer *packer, const uint8_t *records, size_t bytes,
                          struct hw_section_header *section, const uint8_t **packed);

#endif
