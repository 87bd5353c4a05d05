/* payload.h - parses the payload of a definition record */
#ifndef HWI_TRACE_PAYLOAD_H
#define HWI_TRACE_PAYLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/reader.h"

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
