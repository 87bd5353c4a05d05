/* protobuf.h - messages in protobuf's wire format, built field by field */
#ifndef HWI_EXPORT_PPROF_PROTOBUF_H
#define HWI_EXPORT_PPROF_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A message that is being built. All zero is an empty message. If memory runs out, it is marked as failed and stays
 * incomplete. */
struct hwi_protobuf_message {
  uint8_t *bytes;
  size_t count, capacity;
  bool failed;
};

void hwi_protobuf_release(struct hwi_protobuf_message *message);

/* A field with the value 0 is left out, as in proto3. */
void hwi_protobuf_number(struct hwi_protobuf_message *message, uint32_t field, uint64_t value);

/* A number without its field, for packed lists. */
void hwi_protobuf_packed(struct hwi_protobuf_message *message, uint64_t value);

/* An item of a list of strings, which may be empty. */
void hwi_protobuf_item(struct hwi_protobuf_message *message, uint32_t field, const char *text);

/* Adds `part` as a field, even if it is empty, and clears it. */
void hwi_protobuf_nested(struct hwi_protobuf_message *message, uint32_t field, struct hwi_protobuf_message *part);

/* Adds fields that are in the wire format already. */
void hwi_protobuf_append(struct hwi_protobuf_message *message, const void *fields, size_t bytes);

/* A field as it is read: a number, or bytes. */
struct hwi_protobuf_field {
  uint32_t number;
  uint64_t value;
  const uint8_t *bytes;
  size_t count;
};

/* Takes the next field, or the next number of a packed list, of the bytes from *at to `end`. Returns false at the end, and
 * where they are no such thing: then *at is NULL. */
bool hwi_protobuf_next(const uint8_t **at, const uint8_t *end, struct hwi_protobuf_field *field);
bool hwi_protobuf_next_packed(const uint8_t **at, const uint8_t *end, uint64_t *value);

/* Writes the message and clears it. */
void hwi_protobuf_flush(struct hwi_protobuf_message *message, FILE *out);

#endif
