/* index.h - where the chunks and sections of a trace file lie
 *
 * piece   consecutive chunks of one stream that lie together: one raw chunk, or one packed section.
 * The order of the list is that of use: by stream, then by first sequence number, raw chunks first. Pieces may overlap (a
 * chunk that was packed and not yet given back); whoever reads them drops what comes twice.
 */
#ifndef HWI_TRACE_INDEX_H
#define HWI_TRACE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/format.h"

struct hwi_piece {
  uint64_t off;        /* of the chunk's or section's header */
  uint64_t bytes;      /* raw: valid bytes of events. section: packed bytes behind its header */
  uint64_t first_tick; /* no event is older, if the file tells the truth */
  uint32_t stream;
  uint32_t first_sequence, last_sequence;
  bool section;
};

struct hwi_index {
  struct hwi_piece *pieces;
  size_t count, capacity;
  struct hwi_piece *tool_sections; /* HW_SECTION_TOOL, in file order */
  size_t tool_count, tool_capacity;
  uint64_t sections_end; /* where the next section will begin */
  uint64_t event_bytes;  /* of all pieces as they lie in the file */
  uint64_t event_count;  /* of all pieces, as far as the file tells; of raw ones a guess */
  uint64_t damaged;      /* places that should be chunks or sections and are not */
  uint64_t first_damage; /* offset; valid where damaged > 0 */
  bool ended;            /* an END section was seen */
};

/* Walks the file once. 0, HW_ERR_IO (errno is set) or HW_ERR_MEMORY. Damage is counted and stepped over. */
int hwi_index_build(struct hwi_index *index, int fd, const struct hw_trace_header *header, uint64_t file_bytes);
void hwi_index_release(struct hwi_index *index);

/* Looks at sections that were appended since for the one with this chunk, which was packed and given back meanwhile. */
bool hwi_index_find_late(struct hwi_index *index, int fd, uint32_t stream, uint32_t sequence, struct hwi_piece *piece);

/* The header of the chunk at `off` is read and holds what a chunk of this trace must hold. */
bool hwi_index_read_chunk(int fd, const struct hw_trace_header *trace, uint64_t off, struct hw_chunk_header *chunk);

void hwi_index_damage(struct hwi_index *index, uint64_t off);

#endif
