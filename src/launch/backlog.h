/* backlog.h - the chunks of a raw trace that are not packed yet, found while its program writes it
 *
 * backlog    chunks that are known and not yet packed: open ones, and retired ones that wait until a section of theirs is full.
 * gap        a range of the window that was given out but has no valid chunk header yet: a thread is making its chunk ready.
 */
#ifndef HWI_LAUNCH_BACKLOG_H
#define HWI_LAUNCH_BACKLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/format.h"

struct hwi_backlog_chunk {
  uint64_t off;
  uint32_t stream, sequence;
  uint32_t bytes, valid_bytes;
  bool retired;
};

struct hwi_gap {
  uint64_t start, end;
};

struct hwi_backlog {
  struct hwi_backlog_chunk *chunks; /* by stream and sequence */
  size_t count, capacity;
  struct hwi_gap *gaps;
  size_t gap_count, gap_capacity;
  uint64_t walked_off; /* chunks below are known or in a gap */
  uint32_t streams;    /* one more than the largest number seen */
};

/* Empty; of a trace of which nothing is known yet. */
void hwi_backlog_init(struct hwi_backlog *backlog);
void hwi_backlog_release(struct hwi_backlog *backlog);

/* Finds the chunks that the program began or retired since, in the trace that `fd` is, whose header is `header` now. False: no
 * memory. */
bool hwi_backlog_look(struct hwi_backlog *backlog, int fd, const struct hw_trace_header *header);

/* Drops the first `count` chunks. */
void hwi_backlog_drop_first(struct hwi_backlog *backlog, size_t count);

/* Bytes of events that could be packed now. */
uint64_t hwi_backlog_waiting_bytes(const struct hwi_backlog *backlog);

#endif
