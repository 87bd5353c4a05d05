/* recode.h - the events of consecutive chunks as columns and back (codec 1 of a section)
 *
 * What comes back are the same events and definitions, not the same bytes: varints of the chunks are resolved on the way in,
 * and readers get events on the way out, so that the chunks' own coding is never made again.
 *
 * The packer takes events and sorts what tells them into columns, one for each kind of fact. Two things are not left to zstd,
 * which then finds the repetition: blocks are named by their births and not by addresses (recode_places.h guesses where a
 * block lies; a free says how many births ago its block was), and nodes by their numbers in the section, which also know what
 * the node asked for last. Definitions come apart from events, so that they can be read alone.
 *
 * See docs/trace-format.md for the bytes.
 */
#ifndef HWI_TRACE_RECODE_H
#define HWI_TRACE_RECODE_H

#include <stddef.h>
#include <stdint.h>

#include "trace/decode.h"
#include "trace/recode_columns.h"

enum {
  HWI_RECODE_MAX_BYTES = 4 << 20, /* of plain chunks: bounds what unpacking needs */
  HWI_RECODE_MIN_BYTES = 8 << 10, /* below, the columns' own sizes are more than what they save */
};

struct hwi_recoder;

/* NULL: no memory. Keeps its tables between sections. */
struct hwi_recoder *hwi_recoder_create(void);
void hwi_recoder_destroy(struct hwi_recoder *recoder);

/* A section step by step: it begins with its first chunk's header; the events of each chunk are taken from a cursor, a batch at a
 * time, as they come; then the chunk ends. *out must outlive it. False: no memory. */
bool hwi_recoder_begin(struct hwi_recoder *recoder, struct hwi_columns_out *out, const struct hw_chunk_header *first);

struct hwi_recoded_batch {
  const struct hwi_event *events;
  /* Of each event, which birth of the section (from 1) its address had last before it, 0: none. Events are valid until the next
   * batch. */
  const uint32_t *births;
  int count; /* 0: the cursor is at its end */
};

/* 0, or why the section cannot be re-coded, as hwi_recode; then it is not to be ended. */
int hwi_recoder_take(struct hwi_recoder *recoder, struct hwi_cursor *cursor, struct hwi_recoded_batch *batch);
void hwi_recoder_end_chunk(struct hwi_recoder *recoder, uint32_t valid_bytes);

/* The addresses of the births so far, from [1]. */
const uint64_t *hwi_recoder_births(const struct hwi_recoder *recoder);

/* The columns are whole; fills *section's last tick and count of events. 0 or HW_ERR_MEMORY. */
int hwi_recoder_end(struct hwi_recoder *recoder, struct hw_section_header *section);

/* All of that: fills *out with the columns of `plain` (chunk headers and events, as in hwi_pack_chunks, and
 * HWI_DECODE_PADDING readable bytes behind), and *section's ticks and count of events. HW_ERR_DAMAGED: there is damage, which
 * the columns cannot tell; HW_ERR_LIMIT: too large, or of mixed fields; HW_ERR_MEMORY. */
int hwi_recode(struct hwi_recoder *recoder, const uint8_t *plain, size_t bytes, struct hwi_columns_out *out,
               struct hw_section_header *section);

/* Columns under way back to events. Every byte of them is hostile. */
struct hwi_restorer;

struct hwi_restored_chunk {
  uint64_t op_count; /* in the columns; a realloc is one */
  uint64_t bytes;    /* of events as the target wrote them */
};

/* Takes over what *in holds, also where it fails. NULL: *status says why (HW_ERR_DAMAGED, HW_ERR_MEMORY). */
struct hwi_restorer *hwi_restorer_create(struct hwi_columns_in *in, uint64_t first_tick, int *status);
void hwi_restorer_destroy(struct hwi_restorer *restorer); /* NULL is fine */

/* Gives all definitions to `sink`, once. 0, HW_ERR_DAMAGED (some made no sense) or HW_ERR_MEMORY. */
int hwi_restore_definitions(struct hwi_restorer *restorer, const struct hwi_definition_sink *sink);

/* Begins the next chunk, when nothing is left of the one before. False: there is none. */
bool hwi_restore_chunk(struct hwi_restorer *restorer, struct hwi_restored_chunk *chunk);

/* No event that is still to come is older. */
void hwi_restore_not_before(struct hwi_restorer *restorer, uint64_t tick);

/* As hwi_decode, of the present chunk: 0 where that is at its end, or damaged from here on. */
int hwi_restore(struct hwi_restorer *restorer, struct hwi_event *events, int max);

bool hwi_restore_is_damaged(const struct hwi_restorer *restorer);
bool hwi_restore_is_done(const struct hwi_restorer *restorer);  /* no event is left in any chunk */
uint64_t hwi_restore_tick(const struct hwi_restorer *restorer); /* of the last event */

#endif
