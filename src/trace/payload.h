/* payload.h - reads the payload of a definition record */
#ifndef HWI_TRACE_PAYLOAD_H
#define HWI_TRACE_PAYLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "trace/reader.h"

struct hwi_payload {
  const uint8_t *at, *end;
  bool bad;
};

static inline uint64_t hwi_take_varint(struct hwi_payload *p)
{
  uint64_t value = 0;
  for (unsigned shift = 0; p->at < p->end && shift < 64; shift += 7) {
    uint8_t byte = *p->at++;
    value |= (uint64_t)(byte & 0x7f) << shift;
    if (!(byte & 0x80))
      return value;
  }
  p->bad = true;
  return 0;
}

static inline uint8_t hwi_take_byte(struct hwi_payload *p)
{
  if (p->at < p->end)
    return *p->at++;
  p->bad = true;
  return 0;
}

/* Parses the payload of a THREAD record. Returns false if it is invalid. */
static inline bool hwi_read_thread(const uint8_t *payload, size_t bytes, uint32_t *number, struct hwi_thread *thread)
{
  struct hwi_payload p = {payload, payload + bytes, false};
  uint64_t wide = hwi_take_varint(&p);
  *thread = (struct hwi_thread){.known = true};
  thread->tid = (uint32_t)hwi_take_varint(&p);
  thread->policy = hwi_take_byte(&p);
  thread->priority = hwi_take_byte(&p);
  if (p.bad || wide > UINT32_MAX)
    return false;
  size_t name_bytes = (size_t)(p.end - p.at);
  memcpy(thread->name, p.at, name_bytes < sizeof thread->name - 1 ? name_bytes : sizeof thread->name - 1);
  *number = (uint32_t)wide;
  return true;
}

#endif
