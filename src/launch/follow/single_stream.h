/* single_stream.h - the only stream of a trace: one reading gives both its counts and its sections
 *
 * In most programs one thread allocates. Its events need no merging. Where the packer has found which events of a
 * section are about one block, the counter need not search for it again.
 */
#ifndef HWI_LAUNCH_FOLLOW_SINGLE_STREAM_H
#define HWI_LAUNCH_FOLLOW_SINGLE_STREAM_H

#include "profile/counters/totals.h"
#include "trace/pack/pack.h"
#include "trace/pack/recode.h"

/* All zero: no section is begun. */
struct hwi_single_stream {
  struct hwi_recoder *recoder; /* NULL until needed */
  struct hwi_columns_out columns;
  struct hw_section_header section; /* the section in progress; magic 0: none */
  uint16_t fields;                  /* of its chunks */
  struct hwi_recoded_batch batch;   /* the batch read last */
  int counted;                      /* events of the batch that are counted */
};

void hwi_single_stream_release(struct hwi_single_stream *single);

/* Begins a chunk, and a section if there is none. Here and below, false means that the stream cannot be handled in this
 * way. */
bool hwi_single_stream_begin_chunk(struct hwi_single_stream *single, const struct hw_chunk_header *chunk);

/* Reads the cursor's next events. All events read before must be counted. */
bool hwi_single_stream_read(struct hwi_single_stream *single, struct hwi_cursor *cursor);

/* Returns the number of events that are read and not counted. */
static inline int hwi_single_stream_waiting(const struct hwi_single_stream *single)
{
  return single->batch.count - single->counted;
}

/* Counts the waiting events that are older than `until`. */
bool hwi_single_stream_count(struct hwi_single_stream *single, struct hwi_counter *counter, uint64_t until);

/* Ends the chunk. All its events must be read and counted. */
void hwi_single_stream_end_chunk(struct hwi_single_stream *single, uint32_t sequence, uint32_t valid_bytes);

/* Returns the bytes of the complete chunks in the section. */
static inline uint64_t hwi_single_stream_bytes(const struct hwi_single_stream *single)
{
  return single->section.magic ? single->section.plain_bytes : 0;
}

/* Ends the section after a chunk, and packs it. Returns 0 or HW_ERR_MEMORY. */
int hwi_single_stream_end_section(struct hwi_single_stream *single, struct hwi_counter *counter,
                                  struct hwi_packer *packer, struct hw_section_header *section, const uint8_t **packed);

/* Another stream has begun: moves the state of the counted events into the counter. */
bool hwi_single_stream_leave(struct hwi_single_stream *single, struct hwi_counter *counter);

#endif
