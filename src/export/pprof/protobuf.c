/* protobuf.c - messages in protobuf's wire format */
#include "export/pprof/protobuf.h"

#include <stdlib.h>
#include <string.h>

#include "base/varint.h"
#include "trace/grow.h"

enum { WIRE_VARINT = 0, WIRE_BYTES = 2, WIRE_BITS = 3, VARINT_MAX_BYTES = 10 };

void hwi_protobuf_release(struct hwi_protobuf_message *message)
{
  free(message->bytes);
  *message = (struct hwi_protobuf_message){0};
}

static void clear(struct hwi_protobuf_message *message)
{
  message->count = 0;
}

static bool make_room(struct hwi_protobuf_message *message, size_t more)
{
  if (!hwi_grow((void **)&message->bytes, &message->capacity, message->count + more, 1))
    message->failed = true;
  return !message->failed;
}

void hwi_protobuf_packed(struct hwi_protobuf_message *message, uint64_t value)
{
  if (make_room(message, VARINT_MAX_BYTES))
    message->count = (size_t)(hwi_put_varint(message->bytes + message->count, value) - message->bytes);
}

static void put_key(struct hwi_protobuf_message *message, uint32_t field, uint32_t wire)
{
  hwi_protobuf_packed(message, field << WIRE_BITS | wire);
}

void hwi_protobuf_number(struct hwi_protobuf_message *message, uint32_t field, uint64_t value)
{
  if (value == 0)
    return;
  put_key(message, field, WIRE_VARINT);
  hwi_protobuf_packed(message, value);
}

static void put_bytes(struct hwi_protobuf_message *message, uint32_t field, const void *bytes, size_t count)
{
  put_key(message, field, WIRE_BYTES);
  hwi_protobuf_packed(message, count);
  if (count == 0 || !make_room(message, count))
    return;
  memcpy(message->bytes + message->count, bytes, count);
  message->count += count;
}

void hwi_protobuf_item(struct hwi_protobuf_message *message, uint32_t field, const char *text)
{
  put_bytes(message, field, text, strlen(text));
}

void hwi_protobuf_nested(struct hwi_protobuf_message *message, uint32_t field, struct hwi_protobuf_message *part)
{
  put_bytes(message, field, part->bytes, part->count);
  message->failed |= part->failed;
  clear(part);
}

void hwi_protobuf_flush(struct hwi_protobuf_message *message, FILE *out)
{
  fwrite(message->bytes, 1, message->count, out);
  clear(message);
}

void hwi_protobuf_append(struct hwi_protobuf_message *message, const void *fields, size_t bytes)
{
  if (bytes == 0 || !make_room(message, bytes))
    return;
  memcpy(message->bytes + message->count, fields, bytes);
  message->count += bytes;
}

/* --- reading --- */

bool hwi_protobuf_next_packed(const uint8_t **at, const uint8_t *end, uint64_t *value)
{
  enum { BITS = 7, MORE = 0x80 };
  if (!*at || *at == end)
    return false;
  *value = 0;
  for (unsigned i = 0; i < VARINT_MAX_BYTES && *at < end; i++) {
    const uint8_t byte = *(*at)++;
    *value |= (uint64_t)(byte & (MORE - 1)) << (i * BITS);
    if (!(byte & MORE))
      return true;
  }
  *at = NULL;
  return false;
}

bool hwi_protobuf_next(const uint8_t **at, const uint8_t *end, struct hwi_protobuf_field *field)
{
  uint64_t key, value;
  if (!hwi_protobuf_next_packed(at, end, &key))
    return false;
  const uint64_t wire = key & ((1U << WIRE_BITS) - 1);
  const bool is_known = (wire == WIRE_VARINT || wire == WIRE_BYTES) && hwi_protobuf_next_packed(at, end, &value);
  *field = (struct hwi_protobuf_field){.number = (uint32_t)(key >> WIRE_BITS), .value = is_known ? value : 0};
  if (!is_known || (wire == WIRE_BYTES && value > (uint64_t)(end - *at))) {
    *at = NULL;
    return false;
  }
  if (wire == WIRE_BYTES) {
    field->bytes = *at;
    field->count = (size_t)value;
    *at += value;
  }
  return true;
}
