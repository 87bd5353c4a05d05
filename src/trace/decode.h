/* decode.h - the events of one chunk */
#ifndef HWI_TRACE_DECODE_H
#define HWI_TRACE_DECODE_H

#include <stdbool.h>

#include "trace/definitions.h"
#include "trace/reader.h"

/* Where a stream stands inside a chunk. `end` is followed by at least HWI_DECODE_PADDING readable bytes. */
struct hwi_cursor {
  const uint8_t *at, *end;
  uint64_t tick;
  uint64_t address;      /* the last one of an event */
  uint64_t node_address; /* the last one of a NODE */
  uint32_t node;         /* the last number of a NODE */
  uint32_t thread;
  bool usable; /* events carry the usable size */
  struct {
    uint64_t size, usable, address;
    uint32_t node; /* 0: the slot is empty */
  } recent[HW_RECENT_SLOTS];
  bool damaged; /* `at` is where the events stop making sense; nothing behind it is decoded */
};

enum { HWI_DECODE_PADDING = 2 * HW_EVENT_MAX_BYTES, HWI_DECODE_MIN_ROOM = 2 };

/* Begins with the chunk's header; false where the header asks for fields that this version does not know. `floor` is the
 * stream's last tick: times within a stream never fall. */
bool hwi_cursor_init(struct hwi_cursor *cursor, const struct hw_chunk_header *header, const uint8_t *events,
                     uint64_t floor);

/* Decodes until the chunk ends or fewer than HWI_DECODE_MIN_ROOM of `max` places are free. Definitions go where they
 * belong, events into `events`; how many is returned. The chunk is at its end when cursor->at == cursor->end or damaged. */
int hwi_decode(struct hwi_cursor *cursor, struct hwi_definitions *definitions, struct hwi_event *events, int max);

#endif
