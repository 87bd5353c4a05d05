/* decode.h - decodes the events and definitions of one chunk */
#ifndef HWI_TRACE_DECODE_H
#define HWI_TRACE_DECODE_H

#include <stdbool.h>
#include <stddef.h>

#include "trace/reader.h"

/* Receives the definitions that a decoder finds. */
struct hwi_definition_sink {
  void *context;
  /* Returns false if the definition is invalid. */
  bool (*add_node)(void *context, uint32_t number, const struct hwi_node *node);
  /* Also returns false if the record is invalid; a THREAD record sets *thread. */
  bool (*add_record)(void *context, uint8_t type, const uint8_t *payload, size_t bytes, uint32_t *thread);
};

/* The latest allocation of a slot; node 0: the slot is empty. */
struct hwi_recent {
  uint64_t size, usable, address;
  uint32_t node;
};

/* A position inside a chunk, with the state of decoding. At least HWI_DECODE_PADDING readable bytes follow `end`. */
struct hwi_cursor {
  const uint8_t *at, *end;
  uint64_t tick;
  uint64_t address;      /* the last one of an event */
  uint64_t node_address; /* the last one of a NODE */
  uint32_t node;         /* the last number of a NODE */
  uint32_t thread;
  bool usable;    /* events carry the usable size */
  bool timed;     /* events carry the duration of the call */
  bool temporary; /* a TEMPORARY record came before the next event */
  struct hwi_recent recent[HW_RECENT_SLOTS];
  bool damaged; /* the events from `at` on are invalid; nothing after it is decoded */
};

enum { HWI_DECODE_PADDING = 2 * HW_EVENT_MAX_BYTES, HWI_DECODE_MIN_ROOM = 2 };

#define HWI_LATEST_TICK ((uint64_t)INT64_MAX) /* later ticks are invalid; sums must not overflow */

/* Sets the cursor to the first event of the chunk. Returns false if the chunk's header names fields that this version
 * does not know. `floor` is the stream's last tick: times within a stream never decrease. */
bool hwi_cursor_init(struct hwi_cursor *cursor, const struct hw_chunk_header *header, const uint8_t *events,
                     uint64_t floor);

/* Decodes until the chunk ends or fewer than HWI_DECODE_MIN_ROOM of `max` places are free. Definitions go to `sink`,
 * events into `events`. Returns the number of events. The chunk has ended when cursor->at == cursor->end or damaged. */
int hwi_decode(struct hwi_cursor *cursor, const struct hwi_definition_sink *sink, struct hwi_event *events, int max);

/* --- the payload of a definition record --- */

struct hwi_payload {
  const uint8_t *at, *end; /* the rest of it */
  bool bad;                /* it ended too early, or a number in it is too large */
};

/* Take the next number or byte. Return 0 and set `bad` if there is none. */
uint64_t hwi_payload_varint(struct hwi_payload *p);
uint8_t hwi_payload_byte(struct hwi_payload *p);

/* Parses the payload of a THREAD record. Returns false if it is invalid. */
bool hwi_payload_thread(const uint8_t *payload, size_t bytes, uint32_t *number, struct hwi_thread *thread);

#endif
