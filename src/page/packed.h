/* packed.h - long columns of numbers in a JSON document: varints in base64 (docs/page-data.md)
 *
 * A packed column takes a third of the bytes of its decimal digits, and a browser reads it faster.
 */
#ifndef HWI_PAGE_PACKED_H
#define HWI_PAGE_PACKED_H

#include <stddef.h>

#include "report/json/json.h"

/* All zero means no numbers. `failed`: there was no memory for a number. */
struct hwi_packed {
  uint8_t *bytes;
  size_t count, room;
  bool failed;
};

void hwi_packed_add(struct hwi_packed *packed, uint64_t value);
void hwi_packed_add_signed(struct hwi_packed *packed, int64_t value); /* zigzag coded */

/* Writes the numbers as a member and releases them. */
void hwi_json_packed(struct hwi_json *json, const char *key, struct hwi_packed *packed);

/* A column of a table that is stored as an array of structs: the uint64_t at `offset` of each. */
struct hwi_column {
  const char *key;
  size_t offset;
};

/* The column has the name of the struct's member. */
/* clang-format off */
#define HWI_COLUMN(type, member) {#member, offsetof(type, member)}
/* clang-format on */

struct hwi_table_rows {
  const void *items;
  size_t count, item_bytes;
};

/* Writes the columns, up to one without a key, as members: packed columns, plain arrays, or plain arrays of references.
 * References are stored from 1 and written from 0; 0, which means none, is written as -1. */
void hwi_json_packed_columns(struct hwi_json *json, const struct hwi_table_rows *rows,
                             const struct hwi_column *columns);
void hwi_json_plain_columns(struct hwi_json *json, const struct hwi_table_rows *rows, const struct hwi_column *columns);
void hwi_json_reference_columns(struct hwi_json *json, const struct hwi_table_rows *rows,
                                const struct hwi_column *columns);

/* Writes "lifetimes": the uint64_t[HWI_LIFETIMES] at `offset` of each row, as packed columns. */
void hwi_json_packed_lifetimes(struct hwi_json *json, const struct hwi_table_rows *rows, size_t offset);

#endif
