/* recode.h - converts the events of consecutive chunks to columns and back (codec 1 of a section)
 *
 * The result of unpacking is the same events and definitions, not the same bytes: the packer decodes the chunks, and
 * readers get events, so that the chunks' own encoding is never made again.
 *
 * The packer splits events into columns, one for each kind of field; zstd then finds the repetition in each column. Two
 * kinds of fields are converted first. A block is identified by its birth and not by its address: recode_common.h
 * predicts where a block is placed, and a free states how many births ago its block was born. A node is identified by
 * its number in the section, under which the node's last size is also remembered. Definitions are stored separately
 * from events, so that they can be read alone.
 *
 * See docs/trace-format.md for the bytes.
 */
#ifndef HWI_TRACE_PACK_RECODE_H
#define HWI_TRACE_PACK_RECODE_H

#include <stddef.h>
#include <stdint.h>

#include "trace/decode.h"
#include "trace/pack/recode_columns.h"

enum {
  HWI_RECODE_MAX_BYTES = 4 << 20, /* of plain chunks: limits the memory for unpacking */
  HWI_RECODE_MIN_BYTES = 8 << 10, /* below this, the table of column sizes takes more than the columns save */
};

struct hwi_recoder;

/* Returns NULL if there is no memory. A recoder keeps its tables between sections. */
struct hwi_recoder *hwi_recoder_create(void);
void hwi_recoder_destroy(struct hwi_recoder *recoder);

/* Begins a section that is recoded step by step. `first` is the header of its first chunk. The events of each chunk are
 * taken from a cursor, one batch at a time (hwi_recoder_take); then the chunk is ended. *out must outlive the recoding.
 * Returns false if there is no memory. */
bool hwi_recoder_begin(struct hwi_recoder *recoder, struct hwi_columns_out *out, const struct hw_chunk_header *first);

struct hwi_recoded_batch {
  const struct hwi_event *events;
  /* For each event, the number (from 1) of the last birth in the section at the event's address before it; 0: none.
   * Events are valid until the next batch. */
  const uint32_t *births;
  int count; /* 0: the cursor is at its end */
};

/* Returns 0, or an error as hwi_recode if the section cannot be recoded; then it must not be ended. */
int hwi_recoder_take(struct hwi_recoder *recoder, struct hwi_cursor *cursor, struct hwi_recoded_batch *batch);

/* The same in two steps, for events that do not come from a cursor, or not all of them: `count` events are written to the
 * room, which has HWI_RECODER_ROOM, both halves of a realloc in the same batch; definitions go to the sink. */
enum { HWI_RECODER_ROOM = 256 };
struct hwi_event *hwi_recoder_room(struct hwi_recoder *recoder);
struct hwi_definition_sink hwi_recoder_sink(struct hwi_recoder *recoder);
int hwi_recoder_put(struct hwi_recoder *recoder, int count);

void hwi_recoder_end_chunk(struct hwi_recoder *recoder, uint32_t valid_bytes);

/* Returns the addresses of the births so far; the first is at [1]. */
const uint64_t *hwi_recoder_births(const struct hwi_recoder *recoder);

/* Completes the columns, and fills *section's last tick and count of events. Returns 0 or HW_ERR_MEMORY. */
int hwi_recoder_end(struct hwi_recoder *recoder, struct hw_section_header *section);

/* Does all steps from begin to end: fills *out with the columns of `plain` (chunk headers and events, as in
 * hwi_pack_chunks, followed by HWI_DECODE_PADDING readable bytes), and *section's ticks and count of events. Returns 0,
 * HW_ERR_DAMAGED if there is damage, which columns cannot represent, HW_ERR_LIMIT if the section is too large or its
 * chunks have different fields, or HW_ERR_MEMORY. */
int hwi_recode(struct hwi_recoder *recoder, const uint8_t *plain, size_t bytes, struct hwi_columns_out *out,
               struct hw_section_header *section);

/* Converts columns back to events. Every byte of the columns may be hostile. */
struct hwi_restorer;

struct hwi_restored_chunk {
  uint64_t op_count; /* in the columns; a realloc is one */
  uint64_t bytes;    /* of events as the target wrote them */
};

/* Takes ownership of the contents of *in, also on failure. Returns NULL on failure; *status is then HW_ERR_DAMAGED or
 * HW_ERR_MEMORY. */
struct hwi_restorer *hwi_restorer_create(struct hwi_columns_in *in, uint64_t first_tick, int *status);
void hwi_restorer_destroy(struct hwi_restorer *restorer); /* NULL is fine */

/* Passes all definitions to `sink`, once. Returns 0, HW_ERR_DAMAGED (some were invalid) or HW_ERR_MEMORY. */
int hwi_restore_definitions(struct hwi_restorer *restorer, const struct hwi_definition_sink *sink);

/* Begins the next chunk, after all events of the previous one were read. Returns false if there is none. */
bool hwi_restore_chunk(struct hwi_restorer *restorer, struct hwi_restored_chunk *chunk);

/* Sets a lower bound for the ticks of all further events. */
void hwi_restore_not_before(struct hwi_restorer *restorer, uint64_t tick);

/* As hwi_decode, for the current chunk. Returns 0 if the chunk has ended, or is damaged from here on. */
int hwi_restore(struct hwi_restorer *restorer, struct hwi_event *events, int max);

uint16_t hwi_restore_fields(const struct hwi_restorer *restorer); /* HW_FIELD_*: of all chunks */
bool hwi_restore_is_damaged(const struct hwi_restorer *restorer);
bool hwi_restore_is_done(const struct hwi_restorer *restorer);  /* no event is left in any chunk */
uint64_t hwi_restore_tick(const struct hwi_restorer *restorer); /* of the last event */

#endif
