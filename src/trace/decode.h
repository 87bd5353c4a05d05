/* decode.h - the events of one chunk */
#ifndef HWI_TRACE_DECODE_H
#define HWI_TRACE_DECODE_H

#include <stdbool.h>
#include <stddef.h>

#include "trace/reader.h"

/* Where definitions go as they are met. */
struct hwi_definition_sink {
  void *context;
  /* False: it makes no sense. */
  bool (*add_node)(void *context, uint32_t number, const struct hwi_node *node);
  /* The same; a THREAD record sets *thread. */
  bool (*add_record)(void *context, uint8_t type, const uint8_t *payload, size_t bytes, uint32_t *thread);
};

/* The latest allocation of a slot; node 0: the slot is empty. */
struct hwi_recent {
  uint64_t size, usable, address;
  uint32_t node;
};

/* Where a stream stands inside a chunk. `end` is followed by at least HWI_DECODE_PADDING readable bytes. */
struct hwi_cursor {
  const uint8_t *at, *end;
  uint64_t tick;
  uint64_t address;      /* the last one of an event */
  uint64_t node_address; /* the last one of a NODE */
  uint32_t node;         /* the last number of a NODE */
  uint32_t thread;
  bool usable; /* events carry the usable size */
  bool timed;  /* ... and how long the call took */
  struct hwi_recent recent[HW_RECENT_SLOTS];
  bool damaged; /* `at` is where the events stop making sense; nothing behind it is decoded */
};

enum { HWI_DECODE_PADDING = 2 * HW_EVENT_MAX_BYTES, HWI_DECODE_MIN_ROOM = 2 };

#define HWI_LATEST_TICK ((uint64_t)INT64_MAX) /* later is nonsense, and sums must not overflow */

/* Begins with the chunk's header; false where the header asks for fields that this version does not know. `floor` is the
 * stream's last tick: times within a stream never fall. */
bool hwi_cursor_init(struct hwi_cursor *cursor, const struct hw_chunk_header *header, const uint8_t *events,
                     uint64_t floor);

/* Decodes until the chunk ends or fewer than HWI_DECODE_MIN_ROOM of `max` places are free. Definitions go to `sink`,
 * events into `events`; how many is returned. The chunk is at its end when cursor->at == cursor->end or damaged. */
int hwi_decode(struct hwi_cursor *cursor, const struct hwi_definition_sink *sink, struct hwi_event *events, int max);

#endif
