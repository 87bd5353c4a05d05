/* follow.h - counts a trace while its program writes it, so that nothing need be read again for the summary
 *
 * Chunks are read as they fill, also open ones, and their events merged. What is certain to come before all that cannot be
 * seen yet is counted; the rest waits in the file. A stream's next event is not older than its last one. A stream that
 * says nothing for a while is taken to say nothing older than some time ago: a thread that was stopped for longer in the
 * middle of an event proves that wrong, which is noticed, and then the trace must be counted from its file at the end.
 */
#ifndef HWI_LAUNCH_FOLLOW_H
#define HWI_LAUNCH_FOLLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/count.h"
#include "trace/format.h"
#include "trace/pack.h"

/* What whoever looks for chunks knows of one. */
struct hwi_seen_chunk {
  uint64_t off;
  uint32_t stream, sequence;
};

struct hwi_follow;

/* NULL: no memory. `section_bytes` of chunks make a section of the only stream. */
struct hwi_follow *hwi_follow_create(int fd, const struct hw_trace_header *header, uint32_t section_bytes);
void hwi_follow_destroy(struct hwi_follow *follow); /* NULL is fine */

/* Somebody looks for chunks now. What is not found then, in a stream that has been read to its end, is no older than
 * `silent_tick`, and in no stream than `busy_tick`, unless a thread was kept from running for very long. UINT64_MAX: nobody
 * writes any more. */
void hwi_follow_begin(struct hwi_follow *follow, uint64_t busy_tick, uint64_t silent_tick);

/* A chunk that was found; those of a stream come in their order. All that wait come before each hwi_follow_work. */
void hwi_follow_chunk(struct hwi_follow *follow, const struct hwi_seen_chunk *chunk);

/* Reads what is new and counts what is certain. True: there may be more to do, with the chunks that are left. */
bool hwi_follow_work(struct hwi_follow *follow);

/* There is one stream only so far: its sections are made on the way, and nobody else should pack its chunks. */
bool hwi_follow_is_sole(const struct hwi_follow *follow);

/* A section of it is full. Nothing behind it is read before it is packed. */
bool hwi_follow_has_section(const struct hwi_follow *follow);

/* Nobody writes any more, and all that can be was read. True: what is left makes a section. */
bool hwi_follow_end(struct hwi_follow *follow);

/* Packs that section: see hwi_pack_columns. On failure the follow has failed, and the chunks are anybody's. */
int hwi_follow_pack(struct hwi_follow *follow, struct hwi_packer *packer, struct hw_section_header *section,
                    const uint8_t **packed);

/* All events of the chunk were read. Chunks must stay where they are until then, unless the follow failed. */
bool hwi_follow_has_read(const struct hwi_follow *follow, uint32_t stream, uint32_t sequence);

/* It cannot be counted in this way: for want of memory or order, or by damage. */
bool hwi_follow_failed(const struct hwi_follow *follow);
void hwi_follow_give_up(struct hwi_follow *follow);

/* Events in chunks (a realloc is one), for comparison with what was packed. */
uint64_t hwi_follow_event_count(const struct hwi_follow *follow);
const struct hwi_counts *hwi_follow_counts(const struct hwi_follow *follow);

#endif
