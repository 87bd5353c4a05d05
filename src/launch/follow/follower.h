/* follower.h - counts a trace while its program writes it, so that the summary needs no second reading
 *
 * Chunks are read while they fill, also open ones, and their events are merged. An event is counted once it is certain
 * that no event that is not visible yet comes before it; later events wait in the file. A stream's next event is never
 * older than its last one. A stream that is silent for a while is assumed to have no further event older than a certain
 * time. A thread that was stopped for longer in the middle of an event breaks this assumption; that is noticed, and the
 * trace must then be counted from its file at the end.
 */
#ifndef HWI_LAUNCH_FOLLOW_FOLLOWER_H
#define HWI_LAUNCH_FOLLOW_FOLLOWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/counters/totals.h"
#include "trace/format.h"
#include "trace/pack/pack.h"

/* A chunk that the caller found. */
struct hwi_seen_chunk {
  uint64_t off;
  uint32_t stream, sequence;
};

struct hwi_follower;

/* Returns NULL if there is no memory. While the trace has only one stream, `section_bytes` of chunks make a section. */
struct hwi_follower *hwi_follower_create(int fd, const struct hw_trace_header *header, uint32_t section_bytes);
void hwi_follower_destroy(struct hwi_follower *follower); /* may be NULL */

/* To be called before the caller looks for chunks. Events newer than `busy_tick` are not counted yet, since events of
 * other threads may not be visible yet. A stream that was read to its end is assumed to have no further event older
 * than `silent_tick`. Both assumptions hold unless a thread did not run for very long. UINT64_MAX: no process writes
 * the trace any more. */
void hwi_follower_begin(struct hwi_follower *follower, uint64_t busy_tick, uint64_t silent_tick);

/* Adds a chunk that was found. Chunks of one stream come in their order. All chunks in the backlog must be passed
 * before each hwi_follower_work. */
void hwi_follower_chunk(struct hwi_follower *follower, const struct hwi_seen_chunk *chunk);

/* Reads new events and counts those that are certain. Returns true if another call, with the remaining chunks, may do
 * more. */
bool hwi_follower_work(struct hwi_follower *follower);

/* Returns true while there is only one stream: its sections are made while counting, and its chunks must not be packed
 * elsewhere. */
bool hwi_follower_is_single(const struct hwi_follower *follower);

/* Returns true if a section of the only stream is full. Later chunks are not read before it is packed. */
bool hwi_follower_has_section(const struct hwi_follower *follower);

/* To be called when no process writes the trace any more and everything readable was read. Returns true if the rest
 * makes a section. */
bool hwi_follower_end(struct hwi_follower *follower);

/* Packs that section: see hwi_pack_columns. On failure the follower has failed, and the chunks may be packed
 * elsewhere. */
int hwi_follower_pack(struct hwi_follower *follower, struct hwi_packer *packer, struct hw_section_header *section,
                      const uint8_t **packed);

/* Returns true if all events of the chunk were read. Chunks must stay in place until then, unless the follower
 * failed. */
bool hwi_follower_has_read(const struct hwi_follower *follower, uint32_t stream, uint32_t sequence);

/* Returns true if the trace cannot be counted in this way: memory was missing, events were out of order, or data is
 * damaged. */
bool hwi_follower_failed(const struct hwi_follower *follower);
void hwi_follower_give_up(struct hwi_follower *follower);

/* Returns the number of events in chunks (a realloc is one event), for comparison with the number that was packed. */
uint64_t hwi_follower_event_count(const struct hwi_follower *follower);
const struct hwi_counts *hwi_follower_counts(const struct hwi_follower *follower);

#endif
