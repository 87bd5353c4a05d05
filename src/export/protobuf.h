/* protobuf.h - messages in protobuf's wire format, built field by field */
#ifndef HWI_EXPORT_PROTOBUF_H
#define HWI_EXPORT_PROTOBUF_H

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

/* Writes the message and clears it. */
void hwi_protobuf_flush(struct hwi_protobuf_message *message, FILE *out);

#endif
