/* pack_event.h - one event of a chunk as its bytes say it: nothing is resolved, nothing is lost
 *
 * Only the shortest form of every number is accepted, so that what is parsed can be written again byte for byte.
 */
#ifndef HWI_TRACE_PACK_EVENT_H
#define HWI_TRACE_PACK_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/varint.h"
#include "trace/format.h"

struct hwi_raw_event {
  uint8_t op;              /* enum hw_op */
  uint8_t byte;            /* alignment, entry, slot or record type, where the op has one */
  uint64_t dt;             /* ticks since the event before */
  uint64_t node;           /* NODE: the zigzag of its distance from the one before */
  uint64_t size;           /* the varint as it is: with usable sizes (size << 1 | odd). RECORD: bytes of the payload */
  uint64_t usable;         /* the varint behind an odd size */
  uint64_t ticks;          /* REALLOC: from the old block's end to the new one's birth */
  uint64_t address;        /* the varint as it is. NODE: its address varint */
  uint64_t old_address;    /* REALLOC */
  uint64_t parent, module; /* NODE: as they are */
  const uint8_t *payload;  /* RECORD */
};

/* NULL: no varint that hwi_put_varint would have written. */
static inline const uint8_t *hwi_raw_varint(const uint8_t *at, const uint8_t *end, uint64_t *value)
{
  if (at == end)
    return NULL;
  uint64_t byte = *at++;
  uint64_t got = byte & 0x7f;
  for (unsigned shift = 7; byte >= 0x80; shift += 7) {
    if (at == end || shift > 63)
      return NULL;
    byte = *at++;
    if (byte == 0 || (shift == 63 && byte > 1))
      return NULL;
    got |= (byte & 0x7f) << shift;
  }
  *value = got;
  return at;
}

/* The event at `at`, of a chunk with or without usable sizes. What follows it, or NULL where there is none that the recorder
 * would have written like this. */
const uint8_t *hwi_raw_event_parse(const uint8_t *at, const uint8_t *end, bool has_usable, struct hwi_raw_event *event);

#endif
