/* backlog.h - the chunks of a raw trace that are not packed yet, found while its program writes it
 *
 * backlog    known chunks that are not packed yet: open ones, and retired ones that wait until they fill a section.
 */
#ifndef HWI_LAUNCH_FOLLOW_BACKLOG_H
#define HWI_LAUNCH_FOLLOW_BACKLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/read/new_chunks.h"

struct hwi_backlog_chunk {
  uint64_t off;
  uint32_t stream, sequence;
  uint32_t bytes, valid_bytes;
  bool retired;
};

/* All zero: the trace has not been looked at. */
struct hwi_backlog {
  struct hwi_backlog_chunk *chunks; /* sorted by stream and sequence */
  size_t count, capacity;
  struct hwi_new_chunks begun;
  uint32_t streams; /* the largest stream number seen, plus one */
};

void hwi_backlog_release(struct hwi_backlog *backlog);

/* Finds the chunks that the program began or retired since the last call. `fd` is the trace, and `header` its current
 * header. Returns false if there is no memory. */
bool hwi_backlog_look(struct hwi_backlog *backlog, int fd, const struct hw_trace_header *header);

/* Drops the first `count` chunks. */
void hwi_backlog_drop_first(struct hwi_backlog *backlog, size_t count);

/* Returns the bytes of events that could be packed now. */
uint64_t hwi_backlog_waiting_bytes(const struct hwi_backlog *backlog);

#endif
