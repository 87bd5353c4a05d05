/* payload.c - parses the payload of a definition record */
#include "trace/payload.h"

#include <string.h>

uint64_t hwi_payload_varint(struct hwi_payload *p)
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

uint8_t hwi_payload_byte(struct hwi_payload *p)
{
  if (p->at < p->end)
    return *p->at++;
  p->bad = true;
  return 0;
}

bool hwi_payload_thread(const uint8_t *payload, size_t bytes, uint32_t *number, struct hwi_thread *thread)
{
  struct hwi_payload p = {payload, payload + bytes, false};
  uint64_t wide = hwi_payload_varint(&p);
  *thread = (struct hwi_thread){.known = true};
  thread->tid = (uint32_t)hwi_payload_varint(&p);
  thread->policy = hwi_payload_byte(&p);
  thread->priority = hwi_payload_byte(&p);
  if (p.bad || wide > UINT32_MAX)
    return false;
  size_t name_bytes = (size_t)(p.end - p.at);
  memcpy(thread->name, p.at, name_bytes < sizeof thread->name - 1 ? name_bytes : sizeof thread->name - 1);
  *number = (uint32_t)wide;
  return true;
}
