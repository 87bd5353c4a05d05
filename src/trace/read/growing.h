/* growing.h - the streams of a raw trace that is read while its program writes it, and while it is packed
 *
 * In contrast to launch/follow/, nothing depends on this reader: chunks may be packed and given back at any time, also
 * those that it has not read, or has read in part. It then goes on in their sections.
 */
#ifndef HWI_TRACE_READ_GROWING_H
#define HWI_TRACE_READ_GROWING_H

#include "trace/numbering.h"
#include "trace/read/merge.h"
#include "trace/read/new_chunks.h"

struct hwi_growing_stream;

/* All zero: the trace has not been looked at. */
struct hwi_growing_streams {
  struct hwi_new_chunks chunks;
  struct hwi_numbering numbers; /* of streams */
  struct hwi_growing_stream **streams;
  size_t stream_count, stream_capacity;
  uint64_t from_tick; /* of the index: see hwi_index_from_tick */
  uint64_t new_nodes; /* the most that the pieces define that were added; the caller sets it to 0 */
};

void hwi_growing_release(struct hwi_growing_streams *growing);

/* Moves the sections of events from the index to the streams, and drops its raw chunks, which a look finds again. To be
 * called before the first look, with the index that was built when the trace was opened. Returns false if there is no memory. */
bool hwi_growing_take_sections(struct hwi_growing_streams *growing, struct hwi_index *index);

/* Finds what was written since the last look, and puts streams with new events back into the merge. Sections of tools
 * are added to the index. Returns 0 or a negative status. */
int hwi_growing_look(struct hwi_growing_streams *growing, struct hwi_source *source, struct hwi_merge *merge);

#endif
