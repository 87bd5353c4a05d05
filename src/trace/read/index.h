/* index.h - the chunks and sections of a trace file: where they are, and their contents
 *
 * piece   consecutive chunks of one stream that are stored together: one raw chunk, or one packed section.
 * base    what is left of dropped events (format.h). Its pieces are those of HW_BASE_STREAM.
 * The list is sorted by stream, then by first sequence number, raw chunks first. Pieces may overlap (a chunk that was
 * packed and whose blocks were not yet given back); the reader drops chunks that come twice.
 */
#ifndef HWI_TRACE_READ_INDEX_H
#define HWI_TRACE_READ_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/format.h"
#include "trace/pack/pack.h"

struct hwi_piece {
  uint64_t off;        /* of the chunk's or section's header */
  uint64_t bytes;      /* raw: valid bytes of events. section: packed bytes after its header */
  uint64_t first_tick; /* no event is older, unless the file is forged */
  uint64_t last_tick;  /* section: no event is newer, likewise */
  uint32_t stream;
  uint32_t first_sequence, last_sequence;
  uint32_t from; /* raw: events before this byte were loaded already */
  bool section;
};

struct hwi_index {
  struct hwi_piece *pieces;
  size_t count, capacity;
  struct hwi_piece *tool_sections; /* HW_SECTION_TOOL, in file order */
  size_t tool_count, tool_capacity;
  struct hwi_piece *left; /* HW_SECTION_LEFT since the last section of another type */
  size_t left_count, left_capacity;
  struct hwi_index_base {
    struct hwi_piece piece; /* HW_SECTION_BASE */
    struct hwi_piece *left; /* those that it completes; they are among the pieces when the index is built */
    size_t left_count;
  } base;
  uint64_t from_tick;    /* of the base: older events of other streams were dropped. 0: there is no base */
  uint64_t sections_end; /* where the next section will begin */
  uint64_t event_bytes;  /* of all pieces as stored in the file */
  uint64_t event_count;  /* of all pieces, as stated in the file; estimated for raw ones */
  uint64_t damaged;      /* places where a valid chunk or section should be and is not */
  uint64_t first_damage; /* offset; valid where damaged > 0 */
  bool ended;            /* an END section was seen */
};

/* Reads all headers of the file once. Returns 0, HW_ERR_IO (errno is set) or HW_ERR_MEMORY. Damage is counted and
 * skipped. */
int hwi_index_build(struct hwi_index *index, int fd, const struct hw_trace_header *header, uint64_t file_bytes);
void hwi_index_release(struct hwi_index *index);

/* Adds the sections that were appended since the index was built or this was called last; their pieces are at the end of
 * the list. Returns 0 or HW_ERR_MEMORY. */
int hwi_index_add_sections(struct hwi_index *index, int fd);

/* Returns the most nodes that the piece can define: a raw NODE takes at least 5 bytes, so no real trace comes near this. */
uint64_t hwi_piece_most_nodes(const struct hwi_piece *piece);

/* Sorts the pieces by this order. */
int hwi_piece_compare(const void *left, const void *right);

/* Returns the tick before which the stream's events are dropped, or in the base. */
static inline uint64_t hwi_index_from_tick(const struct hwi_index *index, uint32_t stream)
{
  return stream == HW_BASE_STREAM ? 0 : index->from_tick;
}

/* Looks among sections that were appended since the index was built for the one with this chunk, which was packed
 * meanwhile. Returns whether it was found. */
bool hwi_index_find_late(struct hwi_index *index, int fd, uint32_t stream, uint32_t sequence, struct hwi_piece *piece);

/* Reads the header of the chunk at `off`. Returns whether it is the valid header of a chunk of this trace. */
bool hwi_index_read_chunk(int fd, const struct hw_trace_header *trace, uint64_t off, struct hw_chunk_header *chunk);

/* Returns the first page at or after `off` that has data; on file systems without holes, that is `off`. */
uint64_t hwi_index_next_data(int fd, uint64_t off, uint64_t end);

/* Reads the trace's header again, without what is written once: that was checked, and the program may have changed it. */
void hwi_index_update_header(int fd, struct hw_trace_header *header);

/* Notes damage at `off`. */
void hwi_index_damage(struct hwi_index *index, uint64_t off);

/* Returns where the sections of a trace begin. */
uint64_t hwi_index_sections_off(const struct hw_trace_header *header);

/* Returns whether a section of these sizes can be read. */
bool hwi_section_is_plausible(const struct hw_section_header *section);

/* Loads a piece. A raw chunk has the form of a section of codec 0; its header states all events, but those before
 * piece->from are missing. Returns 0, HW_ERR_DAMAGED, HW_ERR_VERSION,
 * HW_ERR_MEMORY, HW_ERR_IO (errno is set), or HW_ERR_BUSY if the raw chunk was packed and given back since the index
 * was built. */
int hwi_piece_load(struct hwi_unpacked *loaded, int fd, const struct hw_trace_header *trace,
                   const struct hwi_piece *piece);

#endif
